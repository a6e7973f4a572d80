/** Signs the timestamp of the publication in `out` once more, where the key server has confirmed the one before in the meantime. */
import { join } from 'node:path';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { parseTimestamp } from '../../core/publication/metadata.ts';
import { signMetadata, timestampMetadata, timestampVersion } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import { openKeyStore } from '../keys/key-store.ts';
import { replaceOutputFile } from '../protect/replace-output-file.ts';
import { rolesOf } from '../protect/roles.ts';
import { readKeyStore, type Workspace } from '../workspace.ts';
import { type RenewTimestamp, TIMESTAMP_PATH } from './timestamp-step.ts';

export function renewerOf(workspace: Workspace, out: string, passphrase: string, now: number): RenewTimestamp {
  return async (newerThan) => {
    const file = join(out, TIMESTAMP_PATH);
    const bytes = await readIfThere(file);
    if (bytes === undefined) throw new PublishError('output-incomplete', `${file} is missing`);
    const { snapshot, version, withdrawn, expires } = parseTimestamp(openEnvelope(bytes, 'timestamp').signed());
    const { length = 0, sha256 = '' } = snapshot;
    const all = [...new Set([...withdrawn, ...newerThan.withdrawn])].sort((a, b) => a - b);
    const about = {
      version: timestampVersion(now, Math.max(version, newerThan.version)),
      expires: now + Math.max(0, expires - version), // as long as it was signed for
    };
    const signed = timestampMetadata(about, { version: snapshot.version, length, sha256 }, all);
    const { timestamp } = rolesOf(await openKeyStore(await readKeyStore(workspace), passphrase));
    await replaceOutputFile(file, signMetadata(signed, [timestamp]), { sync: true });
  };
}
