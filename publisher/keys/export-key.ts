/** `wispr keys export timestamp`: the one key that another machine needs to confirm publications. */
import { readKeyStore, workspaceOf } from '../workspace.ts';
import { openKeyStore } from './key-store.ts';
import { create } from './signer-file.ts';
import { createSigningKeys } from './signing-keys.ts';

/**
 * Puts the timestamp key into a file of its own, together with the root id, so that it confirms this publisher's publications only.
 *
 * @throws PublishError; nothing was written then
 */
export async function exportTimestampKey(
  configurationFile: string,
  passphrase: string,
  file: string,
  newPassphrase: string,
): Promise<{ keyid: string }> {
  const { contents, signers, rootId } = await openKeyStore(
    await readKeyStore(workspaceOf(configurationFile)),
    passphrase,
  );
  await create(file, await createSigningKeys(newPassphrase, [contents.seeds.timestamp], { rootId }), 0o600);
  return { keyid: signers.timestamp.keyid };
}
