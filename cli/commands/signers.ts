/** Keys that are here besides those of the key store: of a section's editors, of a second signer. */
import { existsSync } from 'node:fs';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { openSigners } from '../../publisher/keys/signing-keys.ts';
import { readPassphrase } from '../io/passphrase.ts';
import { UsageError } from '../io/voice.ts';

export interface SignerFlags {
  key?: readonly string[];
  /** A file for all keys, or one for each, in their order. */
  keyPassphraseFile?: readonly string[];
}

export async function readSigners({ key = [], keyPassphraseFile: files = [] }: SignerFlags): Promise<RoleSigner[]> {
  const missing = key.find((file) => !existsSync(file));
  if (missing !== undefined)
    throw new UsageError(`${missing}: no such file`, 'name the key file of a signer: --key FILE');
  if (files.length > 1 && files.length !== key.length)
    throw new UsageError(
      `there are ${key.length} of --key and ${files.length} of --key-passphrase-file`,
      'name one file for all keys, or one for each, in the same order',
    );
  const read = new Map<string, Promise<string>>(); // kept, since one for all keys may be a pipe
  return openSigners(key, (file, index) => {
    const from = files[index] ?? files[0];
    const ask = () => readPassphrase(from, `passphrase of ${file}`, '--key-passphrase-file');
    if (from === undefined) return ask();
    const asked = read.get(from) ?? ask();
    read.set(from, asked);
    return asked;
  });
}
