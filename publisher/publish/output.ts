/** `out` has the timestamp that the authority signed last: it may be served, copied by hand, or looked at with `wispr verify`. */
import { join } from 'node:path';
import { replaceOutputFile } from '../protect/writers/files.ts';
import { fileOfRole } from '../publication/roles.ts';
import { readSnapshot, type SignedSnapshot } from '../publication/snapshot.ts';
import { TIMESTAMP_PATH } from './places.ts';
import type { Site } from './site.ts';

/** Puts a snapshot, durably, and the roots under which it is good, into `out`. @throws PublishError `output-failed` */
export async function keepSnapshot({ out, rootFiles }: Site, { bytes, file }: SignedSnapshot): Promise<void> {
  await replaceOutputFile(join(out, fileOfRole('snapshot', file.version)), bytes, { sync: true });
  for (const [index, root] of rootFiles.entries())
    await replaceOutputFile(join(out, fileOfRole('root', index + 1)), root);
}

/** R4 holds for `out` too. @throws PublishError `output-failed` */
export async function keepTimestamp(
  { out, output, roots }: Site,
  timestamp: Uint8Array,
  { file }: SignedSnapshot,
): Promise<void> {
  const there = await readSnapshot(file.version, output, roots);
  if (there?.file.sha256 === file.sha256) await replaceOutputFile(join(out, TIMESTAMP_PATH), timestamp, { sync: true });
}
