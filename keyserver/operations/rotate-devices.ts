/** Has every device get a new device key. */
import { audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import { renewSecret } from '../storage/secrets.ts';
import type { KeyServerState } from '../storage/state.ts';

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

/** No key request can name the id that stands there then. */
export function forgetDeviceKeys(database: Database): Promise<number> {
  const sql = `UPDATE devices SET key_id = 'none ' || keys_digest, sealed = ? WHERE length(sealed) > 0`;
  return database.run(sql, new Uint8Array(0));
}
