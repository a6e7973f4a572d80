/** Bindings as rows of the database. */
import type { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../../core/errors.ts';
import { type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { type KeyId, keyIdOf } from '../../core/keys/key-id.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { ReaderError } from '../errors.ts';
import { damaged } from './database.ts';
import { saveFirstRoot } from './publication-store.ts';
import { devicePlace, unseal } from './sealed-columns.ts';
import type { Sealing } from './sealing.ts';

/** A site that the reader confirmed. */
export interface StoredSite {
  readonly site: string;
  /** Its name below `localhost`. */
  readonly label: string;
}

/** What connects this device with a publisher. */
export interface StoredBinding {
  readonly id: number;
  readonly descriptor: VerifiedDescriptor;
  readonly descriptorBytes: Uint8Array;
  /** Seconds since 1970. */
  readonly descriptorFetched: number;
  /** When its device key was made: seconds since 1970. */
  readonly bound: number;
  readonly deviceKey: NamedKey;
  readonly sites: readonly StoredSite[];
}

export interface NewBinding {
  readonly descriptor: VerifiedDescriptor;
  readonly descriptorBytes: Uint8Array;
  /** Left out where the device stays bound with the key that it has. */
  readonly deviceKey: NamedKey | undefined;
  readonly sites: readonly StoredSite[];
  /** The publisher's first root, which its id was compared with. */
  readonly firstRoot: Uint8Array;
  /** When the device key was made, where that is not now. */
  readonly bound?: number;
}

type Row = Readonly<Record<string, unknown>>;

/** Adds a binding, or renews the one with this publisher and key server. To be called in a transaction. @throws ReaderError `site-taken` */
export function insertBinding(
  database: DatabaseSync,
  binding: NewBinding,
  sealed: Uint8Array | undefined,
  now: number,
): void {
  const { descriptor, descriptorBytes, deviceKey, sites, firstRoot, bound = now } = binding;
  const id =
    deviceKey && sealed
      ? upsertBinding(database, descriptor, descriptorBytes, deviceKey.id, sealed, bound, now)
      : updateDescriptor(database, descriptor, descriptorBytes, now);
  const insert = database.prepare(
    'INSERT INTO sites (site, label, binding, confirmed) VALUES (?, ?, ?, ?) ON CONFLICT (site) DO UPDATE SET confirmed = excluded.confirmed WHERE binding = excluded.binding',
  );
  for (const { site, label } of sites) insert.run(site, label, id, now);
  checkOwner(database, id, sites);
  const wanted = database.prepare('DELETE FROM declined WHERE site = ?');
  for (const { site } of sites) wanted.run(site);
  for (const { site } of sites) saveFirstRoot(database, site, firstRoot);
}

function upsertBinding(
  database: DatabaseSync,
  { keyServer, publisher }: VerifiedDescriptor,
  bytes: Uint8Array,
  deviceKeyId: KeyId,
  sealed: Uint8Array,
  bound: number,
  now: number,
): number {
  const row = database
    .prepare(
      `INSERT INTO bindings (key_server, publisher, descriptor, descriptor_fetched, device_key_id, device_key, bound)
       VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key_server, publisher) DO UPDATE SET descriptor = excluded.descriptor,
       descriptor_fetched = excluded.descriptor_fetched, device_key_id = excluded.device_key_id,
       device_key = excluded.device_key, bound = excluded.bound RETURNING id`,
    )
    .get(keyServer, publisher, bytes, now, deviceKeyId, sealed, bound);
  return Number(row?.id);
}

export function updateDescriptor(
  database: DatabaseSync,
  { keyServer, publisher }: VerifiedDescriptor,
  bytes: Uint8Array,
  now: number,
): number {
  const row = database
    .prepare(
      'UPDATE bindings SET descriptor = ?, descriptor_fetched = ? WHERE key_server = ? AND publisher = ? RETURNING id',
    )
    .get(bytes, now, keyServer, publisher);
  return Number(row?.id);
}

/** Whether the descriptor of a binding is newer than one that was fetched at a time: another process may have been there since. */
export function wasFetchedSince(
  database: DatabaseSync,
  { keyServer, publisher }: VerifiedDescriptor,
  time: number,
): boolean {
  const row = database
    .prepare('SELECT 1 FROM bindings WHERE key_server = ? AND publisher = ? AND descriptor_fetched > ?')
    .get(keyServer, publisher, time);
  return row !== undefined;
}

/** The last word on "two bindings never share a host": two processes may have looked at the same time. */
function checkOwner(database: DatabaseSync, binding: number, sites: readonly StoredSite[]): void {
  const owner = database.prepare('SELECT binding FROM sites WHERE site = ?');
  const taken = sites.find(({ site }) => owner.get(site)?.binding !== binding);
  if (taken) throw siteTaken(taken.site);
}

/** @throws ReaderError `store-damaged` */
export async function readBinding(sealing: Sealing, row: Row, sites: readonly Row[]): Promise<StoredBinding> {
  const { descriptor: bytes, device_key_id: deviceKeyId } = row;
  const descriptor = await readDescriptor(bytes);
  if (descriptor.keyServer !== row.key_server || descriptor.publisher !== row.publisher)
    throw damaged('table bindings', 'a descriptor belongs to another binding');
  const place = devicePlace(descriptor.keyServer, descriptor.publisher, String(deviceKeyId));
  const key = await unseal(sealing, row.device_key, place);
  if ((await keyIdOf('device', key)) !== deviceKeyId) throw damaged('table bindings', 'a device key is another');
  return {
    id: Number(row.id),
    descriptor,
    descriptorBytes: bytes as Uint8Array,
    descriptorFetched: Number(row.descriptor_fetched),
    bound: Number(row.bound),
    deviceKey: { id: deviceKeyId as KeyId, key },
    sites: sites.map(({ site, label }) => ({ site: String(site), label: String(label) })),
  };
}

/** The device key of a binding that has a new one. */
export async function sealDeviceKey(
  sealing: Sealing,
  { descriptor, deviceKey }: NewBinding,
): Promise<Uint8Array | undefined> {
  const { keyServer, publisher } = descriptor;
  return deviceKey && sealing.seal(deviceKey.key, devicePlace(keyServer, publisher, deviceKey.id));
}

/** As it stands in the database: sealed anew, it is another. `undefined` where there is no such binding. */
export function sealedDeviceKey(database: DatabaseSync, id: number): Uint8Array | undefined {
  const key = database.prepare('SELECT device_key FROM bindings WHERE id = ?').get(id)?.device_key;
  return key instanceof Uint8Array ? key : undefined;
}

/** A site that is bound already, to another publisher or through another key server. */
export function siteTaken(site: string): ReaderError {
  return new ReaderError('site-taken', `${site} is already connected to another publisher or key server`, {
    hint: 'two publishers never share a site; nothing was changed',
  });
}

/** Its expiry is looked at when it is used, not when it is read. */
export async function readDescriptor(bytes: unknown): Promise<VerifiedDescriptor> {
  try {
    return await verifyDescriptor(bytes as Uint8Array, 0);
  } catch (error) {
    throw damaged('table bindings', reasonOf(error), error);
  }
}
