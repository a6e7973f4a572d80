/** Keys that are here besides those of the key store: of a section's editors, of a second signer. */
import { existsSync } from 'node:fs';
import type { RoleSigner } from '../core/publication/keys.ts';
import { openSigners } from '../publisher/keys/open-signers.ts';
import { readPassphrase } from './passphrase.ts';
import { UsageError } from './voice.ts';

export interface SignerFlags {
  key?: readonly string[];
  keyPassphraseFile?: string;
}

/** Opens the keys of `--key`. */
export async function readSigners({ key = [], keyPassphraseFile }: SignerFlags): Promise<RoleSigner[]> {
  const missing = key.find((file) => !existsSync(file));
  if (missing !== undefined)
    throw new UsageError(`there is no ${missing}`, { hint: 'name the key file of a signer: --key FILE' });
  return openSigners(key, (file) => {
    return readPassphrase(keyPassphraseFile, `passphrase of ${file}`, '--key-passphrase-file');
  });
}
