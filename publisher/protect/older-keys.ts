/**
 * A key store that is older than what was published, because it was restored from a backup. Set keys in it may have been replaced since, so every
 * set gets a new one. Roots cannot be made again: without the newest, nothing can be signed.
 */
import { join } from 'node:path';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { METADATA_PATH, metadataFile } from '../../core/publication/names.ts';
import { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import type { OpenKeyStore } from '../keys/key-store.ts';
import { verifyChain } from '../keys/roots.ts';
import { ifGood } from '../publication/roots.ts';

/**
 * Refuses to sign below a root that the key store does not know: no reader would accept it.
 *
 * @throws PublishError `key-store-older`
 */
export async function checkRootsKnown(out: string, { roots }: Pick<OpenKeyStore, 'roots'>): Promise<void> {
  for (let version = 2; version <= roots.length + 1; version++) {
    const found = await readIfThere(join(out, METADATA_PATH, metadataFile('root', version)));
    const own = roots[version - 1];
    if (found === undefined || (own && isSameRoot(found, own))) continue;
    if (ifGood(() => verifyChain([...roots.slice(0, version - 1), found])) === undefined) continue; // is replaced
    throw new PublishError('key-store-older', `${out} has a root ${version} that publisher.keys does not know`);
  }
}

/** Signatures may differ. */
function isSameRoot(one: Uint8Array, other: Uint8Array): boolean {
  return ifGood(() => equalBytes(openEnvelope(one, 'root').message, openEnvelope(other, 'root').message)) ?? false;
}
