/** Devices of subscribers: Readers, and browsers that hold keys themselves. */
import type { KeyId } from '../../core/keys/key-id.ts';
import { audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { nameOfSubscriber } from '../subscriptions/subscribers.ts';

/** A device that is connected, without its secrets. */
export interface ListedDevice {
  /** By which it is removed. */
  readonly id: number;
  readonly kind: 'browser' | 'reader';
  /** Seconds since 1970. */
  readonly created: number;
  readonly lastSeen: number | null;
}

/** Where a device key stands in the database. */
export function devicePlace(keysDigest: string, keyId: KeyId) {
  return { table: 'devices', row: keysDigest, keyId };
}

/** The devices of a subscriber that get keys, newest first. */
export async function devicesOf(database: Database, subscriber: number): Promise<ListedDevice[]> {
  const sql = `SELECT id, kind, created, last_seen AS "lastSeen" FROM devices
    WHERE subscriber = ? AND revoked IS NULL ORDER BY created DESC, id DESC`;
  return database.all<ListedDevice>(sql, subscriber);
}

/**
 * Refuses a device from now on, and ends the sessions that it was used with. Keys that it holds already stay good until their validity ends.
 *
 * @returns whether the subscriber had such a device
 */
export async function removeDevice(state: KeyServerState, subscriber: number, device: number): Promise<boolean> {
  const { database, now } = state;
  return database.transaction(async () => {
    const sql = 'UPDATE devices SET revoked = ? WHERE id = ? AND subscriber = ? AND revoked IS NULL';
    if ((await database.run(sql, now(), device, subscriber)) === 0) return false;
    await database.run('DELETE FROM sessions WHERE device = ?', device);
    await audit(state, 'device-removed', await nameOfSubscriber(database, subscriber), { device });
    return true;
  });
}
