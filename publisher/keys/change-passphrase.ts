/** `wispr keys passphrase`: the same secrets under another passphrase. */
import { PublishError } from '../errors.ts';
import { readKeyStore, withLock, workspaceOf } from '../workspace.ts';
import type { KeysOptions } from './change-roots.ts';
import { replaceFile } from './file-update.ts';
import { encodeContents, KEY_STORE_KIND, openKeyStore } from './key-store.ts';
import { createSealedFile } from './sealed-file.ts';
import { readSigningKeysIfThere } from './signer-file.ts';
import { createSigningKeys, openSigningKeys } from './signing-keys.ts';

/**
 * Seals the key store anew, and the root keys where they are here and open under the passphrase of before.
 *
 * @returns the files that were sealed anew
 * @throws PublishError `passphrase-wrong`, `passphrase-too-short`; nothing was changed then
 */
export function changePassphrase(
  { configurationFile, passphrase, rootKeys: named }: KeysOptions,
  newPassphrase: string,
): Promise<string[]> {
  const workspace = workspaceOf(configurationFile);
  const rootKeysFile = named ?? workspace.rootKeys;
  return withLock(workspace, async () => {
    const { contents } = await openKeyStore(await readKeyStore(workspace), passphrase);
    const keyStore = await createSealedFile(KEY_STORE_KIND, newPassphrase, encodeContents(contents));
    const rootKeys = await resealRootKeys(rootKeysFile, passphrase, newPassphrase);
    // Killed between the two: each opens under one of the two passphrases, and the command can be run again.
    if (rootKeys) await replaceFile(rootKeysFile, rootKeys);
    await replaceFile(workspace.keyStore, keyStore);
    return [workspace.keyStore, ...(rootKeys ? [rootKeysFile] : [])];
  });
}

/** Root keys that have a passphrase of their own keep it. */
async function resealRootKeys(
  file: string,
  passphrase: string,
  newPassphrase: string,
): Promise<Uint8Array | undefined> {
  const bytes = await readSigningKeysIfThere(file);
  if (bytes === undefined) return undefined;
  const keys = await openSigningKeys(bytes, passphrase, file).catch((error: unknown) => {
    if (error instanceof PublishError && error.code === 'passphrase-wrong') return undefined;
    throw error;
  });
  return keys && createSigningKeys(newPassphrase, keys.seeds, { rootId: keys.rootId });
}
