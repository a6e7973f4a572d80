/** Changes keys while key servers run; rotate-master-key.ts has the master key. */
import { randomBytes, xwingKeyPair } from '#primitives';
import { recipientIdOf } from '../../core/keys/bundle.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import { renewSecret } from '../storage/secrets.ts';
import { type KeyServerState, recipientRow, writePublicKey } from '../storage/state.ts';

/**
 * Forgets all device keys, and the marks of known browsers. A Reader whose key is refused proves by its Ed25519 key which device it is, and
 * gets another one (docs/spec/keys.md, "Renewal"); a browser is known by its session.
 *
 * @returns how many devices
 */
export async function rotateDevices(state: KeyServerState): Promise<number> {
  return state.database.transaction(async () => {
    await renewSecret(state, 'known-browsers');
    const devices = await forgetDeviceKeys(state.database);
    await audit(state, 'rotate', 'devices', { devices });
    return devices;
  });
}

/** Replaces key ids by texts that no key request can name. */
export function forgetDeviceKeys(database: Database): Promise<number> {
  const sql = `UPDATE devices SET key_id = 'none ' || keys_digest, sealed = ? WHERE length(sealed) > 0`;
  return database.run(sql, new Uint8Array(0));
}

/** Changes the key of the HTTPCrypt endpoint: its process reads the new one when it starts. */
export async function rotateHttpcrypt(state: KeyServerState): Promise<void> {
  await state.database.transaction(async () => {
    await renewSecret(state, 'httpcrypt');
    await audit(state, 'rotate', 'httpcrypt');
  });
}

/**
 * Changes the X-Wing key pair that publishers seal their bundles to (docs/spec/keys.md section 9), and writes its public key. The former one is
 * taken until the publisher has sealed a bundle to the new one.
 *
 * @returns its key id
 */
export async function rotateRecipient(state: KeyServerState, config: KeyServerConfig): Promise<string> {
  const { database, vault, now } = state;
  const seed = randomBytes(32);
  const { publicKey } = xwingKeyPair(seed);
  const [id, sealed] = [await recipientIdOf(publicKey), await vault.seal(await recipientRow(publicKey), seed)];
  await database.transaction(async () => {
    const present = 'SELECT public_key, sealed FROM recipient';
    const row = await database.first<{ public_key: Uint8Array; sealed: Uint8Array }>(present);
    if (row) {
      const former = await recipientIdOf(row.public_key);
      const insert = 'INSERT INTO former_recipients (key_id, public_key, sealed, replaced) VALUES (?, ?, ?, ?)';
      await database.run(insert, former, row.public_key, row.sealed, now());
    }
    await database.run('UPDATE recipient SET public_key = ?, sealed = ?', publicKey, sealed);
    await audit(state, 'rotate', 'recipient', { key: id });
  });
  writePublicKey(config.publicKey, publicKey);
  return id;
}
