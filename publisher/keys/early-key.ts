/**
 * The key of a key store, derived while the rest of the program is still being loaded: Argon2id takes a fifth of a second, on another thread. In a
 * file of its own, which next to nothing has to be loaded for.
 */
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, parseCanonicalJson } from '../../core/encoding/canonical-json.ts';
import { type Argon2idParameters, areArgon2idParameters, keyFromPassphrase } from '../../node-support/argon2id.ts';
import { readKeyStore, type Workspace } from '../workspace.ts';
import { MAXIMUM_SEALED_FILE_LENGTH } from './limits.ts';

/** How a passphrase becomes a key. */
export type DeriveKey = typeof keyFromPassphrase;

/**
 * Begins to derive the key for the parameters that the key store names now. It may be missing or damaged: whoever opens it says so.
 *
 * @returns derives keys, and gives out the one that was begun where it is the one that is wanted: the key store is read anew under the lock, and
 *   may be another by then
 */
export async function beginKey(workspace: Workspace, passphrase: string): Promise<DeriveKey> {
  const parameters = parametersIn(await readKeyStore(workspace).catch(() => new Uint8Array(0)));
  if (parameters === undefined) return keyFromPassphrase;
  const begun = keyFromPassphrase(passphrase, parameters);
  begun.catch(() => undefined); // it is said where the key is asked for
  return (typed, wanted) =>
    typed === passphrase && isDeepStrictEqual(wanted, parameters) ? begun : keyFromPassphrase(typed, wanted);
}

/** Nothing of the file is proved, here or where it is opened: so what it asks for is bounded. */
function parametersIn(bytes: Uint8Array): Argon2idParameters | undefined {
  const file = bytes.length <= MAXIMUM_SEALED_FILE_LENGTH ? parseCanonicalJson(bytes) : undefined;
  const parameters = isJsonObject(file) ? file.argon2id : undefined;
  return areArgon2idParameters(parameters) ? parameters : undefined;
}
