/** Key files that somebody brings along to sign with, besides `publisher.keys`. */
import type { RoleSigner } from '../../core/publication/keys.ts';
import { readSigningKeys } from './signer-file.ts';
import { openSigningKeys } from './signing-keys.ts';

/**
 * Opens key files, as "wispr keys new-signer" makes them.
 *
 * @param passphraseFor - asked once for each file
 * @throws PublishError `root-keys-missing`, `passphrase-wrong`, `key-store-damaged`
 */
export async function openSigners(
  files: readonly string[],
  passphraseFor: (file: string, index: number) => Promise<string>,
): Promise<RoleSigner[]> {
  const signers: RoleSigner[] = [];
  for (const [index, file] of files.entries()) {
    const bytes = await readSigningKeys(file);
    signers.push(...(await openSigningKeys(bytes, await passphraseFor(file, index), file)).signers);
  }
  return signers;
}
