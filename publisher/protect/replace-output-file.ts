/** Replaces a small file of the output. */
import { dirname } from 'node:path';
import { writeFileAtomic } from '../../node-support/files/write-file.ts';
import { makeDirectory } from '../../node-support/make-directory.ts';
import { toOutput } from './to-output.ts';
import { OUTPUT_MODE } from './writers/files.ts';

/**
 * @param options - `sync`: durable, for the file that makes all others visible
 * @throws PublishError `output-failed`; what was there before is unchanged
 */
export async function replaceOutputFile(
  file: string,
  bytes: Uint8Array,
  { sync = false }: { readonly sync?: boolean } = {},
): Promise<void> {
  await toOutput(
    file,
    makeDirectory(dirname(file)).then(() => writeFileAtomic(file, bytes, { mode: OUTPUT_MODE, durable: sync })),
  );
}
