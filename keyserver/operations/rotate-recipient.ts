/**
 * Changes the X-Wing key pair that publishers seal their bundles to: docs/spec/keys.md section 9. The former one is taken until the publisher
 * has sealed a bundle to the new one.
 */
import { randomBytes, xwingKeyPair } from '#primitives';
import { recipientIdOf } from '../../core/keys/bundle.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { audit } from '../storage/audit.ts';
import { type KeyServerState, recipientRow, writePublicKey } from '../storage/state.ts';

/**
 * Makes a new key pair and writes its public key, for the publisher.
 *
 * @returns its key id
 */
export async function rotateRecipient(state: KeyServerState, config: KeyServerConfig): Promise<string> {
  const { database, vault, now } = state;
  const seed = randomBytes(32);
  const { publicKey } = xwingKeyPair(seed);
  const [id, sealed] = [await recipientIdOf(publicKey), await vault.seal(await recipientRow(publicKey), seed)];
  const sql = 'SELECT public_key, sealed FROM recipient';
  await database.transaction(async () => {
    const present = await database.first<{ public_key: Uint8Array; sealed: Uint8Array }>(sql);
    if (present) {
      const columns = 'key_id, public_key, sealed, replaced';
      const insert = `INSERT INTO former_recipients (${columns}) VALUES (?, ?, ?, ?)`;
      const former = await recipientIdOf(present.public_key);
      await database.run(insert, former, present.public_key, present.sealed, now());
    }
    await database.run('UPDATE recipient SET public_key = ?, sealed = ?', publicKey, sealed);
    await audit(state, 'rotate', 'recipient', { key: id });
  });
  writePublicKey(config.publicKey, publicKey);
  return id;
}
