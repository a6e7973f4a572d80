/** Devices of subscribers: Readers, and browsers that hold keys themselves. */
import type { KeyId } from '../../core/keys/key-id.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { all, type Database, run } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';

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
export function devicesOf(database: Database, subscriber: number): ListedDevice[] {
  const sql = `SELECT id, kind, created, last_seen AS lastSeen FROM devices
    WHERE subscriber = ? AND revoked IS NULL ORDER BY created DESC, id DESC`;
  return all<ListedDevice>(database, sql, subscriber);
}

/**
 * Refuses a device from now on, and ends the sessions that it was used with. Keys that it holds already stay good until their validity ends.
 *
 * @returns whether the subscriber had such a device
 */
export function removeDevice({ database, now }: KeyServerState, subscriber: number, device: number): boolean {
  return inTransaction(database, () => {
    const sql = 'UPDATE devices SET revoked = ? WHERE id = ? AND subscriber = ? AND revoked IS NULL';
    if (run(database, sql, now(), device, subscriber).changes === 0) return false;
    run(database, 'DELETE FROM sessions WHERE device = ?', device);
    return true;
  });
}
