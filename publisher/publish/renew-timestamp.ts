/** Signs the timestamp of the publication in `out` once more, where the key server has confirmed the one before in the meantime. */
import { join } from 'node:path';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { openKeyStore } from '../keys/key-store.ts';
import { metadataIn } from '../publication/places.ts';
import { signNewerThan } from '../timestamp/sign-timestamp.ts';
import { readKeyStore, type Workspace } from '../workspace.ts';
import type { RenewTimestamp } from './timestamp-step.ts';

export function renewerOf(workspace: Workspace, out: string, passphrase: string, now: number): RenewTimestamp {
  return async (newerThan) => {
    const { signers, rootId } = await openKeyStore(await readKeyStore(workspace), passphrase);
    const own = metadataIn(join(out, METADATA_PATH));
    await signNewerThan(newerThan, { own, signer: signers.timestamp, rootId, now });
  };
}
