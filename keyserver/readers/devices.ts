/** Devices of subscribers: Readers, and browsers that hold keys themselves. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { KeyServerError } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import { countRows, type Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { nameOfSubscriber } from '../subscriptions/subscribers.ts';

/** A device that is connected, without its secrets. */
export interface ListedDevice {
  readonly id: number;
  /** The first characters of its key id, by which commands name it. */
  readonly short: string;
  readonly kind: 'browser' | 'reader';
  /** Browser and system, as `Chrome/Android`; a Reader has none. */
  readonly label: string | null;
  readonly created: number;
  readonly lastSeen: number | null;
}

/** Names the row of a device key in the database. */
export const deviceRow = (keysDigest: string, keyId: KeyId) => ({ table: 'devices', row: keysDigest, keyId });

/** The devices of a subscriber that get keys, newest first. */
export async function devicesOf(database: Database, subscriber: number): Promise<ListedDevice[]> {
  const sql = `SELECT id, substr(key_id, 1, 8) AS short, kind, label, created, last_seen AS "lastSeen" FROM devices
    WHERE subscriber = ? AND revoked IS NULL ORDER BY created DESC, id DESC`;
  return database.all<ListedDevice>(sql, subscriber);
}

/**
 * @param keysDigest - of the Reader that connects: it may be one of them
 * @param most - Readers that a subscriber can have
 * @throws KeyServerError `too-many-devices`
 */
export async function demandRoomForReader(
  database: Database,
  subscriber: number,
  keysDigest: string,
  most: number,
): Promise<void> {
  const others = `devices WHERE subscriber = ? AND kind = 'reader' AND revoked IS NULL AND keys_digest <> ?`;
  if ((await countRows(database, others, subscriber, keysDigest)) < most) return;
  const message = `this subscriber reads on ${most} devices already: one has to be removed`;
  throw new KeyServerError('too-many-devices', message);
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
    // The device that used a code can use it again (bindings.ts): that would bring it back.
    const used = 'DELETE FROM invitations WHERE used_by = (SELECT keys_digest FROM devices WHERE id = ?)';
    await database.run(used, device);
    await audit(state, 'device-removed', await nameOfSubscriber(database, subscriber), { device });
    return true;
  });
}
