/** Devices, with what may be read on them: one statement each, kept until something of it changes. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { type DerivedDeviceKeys, deriveFromDeviceKey } from '../../core/keys/device-key.ts';
import type { Remembered } from '../storage/memory.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Right } from '../subscriptions/periods.ts';
import { type RightRow, rightOf } from '../subscriptions/subscriptions.ts';
import { deviceRow } from './devices.ts';

/** A device as it stands in the database, with its keys and the rights of its subscriber. */
export interface KnownDevice {
  readonly id: number;
  readonly kind: 'browser' | 'reader';
  readonly subscriber: number;
  readonly isRevoked: boolean;
  /** `undefined`: the subscriber was revoked. */
  readonly rights: readonly Right[] | undefined;
  readonly keys: DerivedDeviceKeys;
  lastSeen: number | null;
}

/** The device alone, still sealed. */
export interface StoredDevice {
  readonly id: number;
  readonly kind: 'browser' | 'reader';
  readonly keys_digest: string;
  readonly sealed: Uint8Array;
  readonly last_seen: number | null;
  readonly revoked: number | null;
  readonly subscriber: number;
  readonly subscriber_revoked: number | null;
}

/** Rows: first the device, then rights: of the subscriber, and of their group. */
const SQL = `WITH own AS (
    SELECT devices.id, kind, keys_digest, sealed, last_seen, devices.revoked, subscriber, member_of, subscribers.revoked AS subscriber_revoked
    FROM devices JOIN subscribers ON subscribers.id = subscriber WHERE key_id = ?),
  who AS (SELECT subscriber FROM own UNION ALL SELECT member_of FROM own)
  SELECT id, kind, keys_digest, sealed, last_seen, revoked, subscriber, subscriber_revoked,
    NULL AS name, NULL AS title, NULL AS patterns, NULL AS zone, NULL AS begins, NULL AS ends FROM own
  UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, pattern, NULL, granted_from, granted_until
    FROM grants WHERE subscriber IN (SELECT subscriber FROM who)
  UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, name, title, patterns, zone, begins, ends
    FROM subscriptions JOIN plans ON name = plan WHERE subscriptions.subscriber IN (SELECT subscriber FROM who)`;

/** Kind of what is kept. */
const DEVICES: { readonly of?: KnownDevice } = {};

/** A device that is in memory. */
export function rememberedDevice(remembered: Remembered, id: KeyId): KnownDevice | undefined {
  return remembered.rows('readers', DEVICES).get(id);
}

/** A device that has proved what it is, from now on in memory. */
export function rememberDevice(remembered: Remembered, device: KnownDevice): void {
  remembered.rows('readers', DEVICES).set(device.keys.id, device);
}

/** Reads a device, and makes it a {@link KnownDevice} of what its key is. */
export async function readDevice(
  { database, vault }: KeyServerState,
  keyId: KeyId,
  isExpected: (device: Pick<StoredDevice, 'kind' | 'subscriber'>) => boolean,
): Promise<{ readonly device: KnownDevice | undefined; readonly keys: DerivedDeviceKeys }> {
  const rows = await database.all<RightRow & (StoredDevice | { readonly id: null })>(SQL, keyId);
  const row = rows.find((each): each is RightRow & StoredDevice => each.id !== null && isExpected(each));
  const { ref, sealed } = row ? { ref: deviceRow(row.keys_digest, keyId), sealed: row.sealed } : vault.decoy;
  const keys = await deriveFromDeviceKey(keyId, await vault.open(ref, sealed));
  if (!row) return { device: undefined, keys };
  const rights = rows.filter(({ id }) => id === null).map(rightOf);
  const { id, kind, subscriber, revoked, last_seen: lastSeen, subscriber_revoked } = row;
  const known = { id, kind, subscriber, isRevoked: revoked !== null, lastSeen, keys };
  return { device: { ...known, rights: subscriber_revoked === null ? rights : undefined }, keys };
}
