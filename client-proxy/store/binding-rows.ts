/** Bindings as rows of the database. */
import type { DatabaseSync } from 'node:sqlite';
import { type KeyId, keyIdOf } from '../../core/crypto/key-id.ts';
import { reasonOf } from '../../core/errors.ts';
import { type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { damaged, siteTaken } from './errors.ts';
import { saveFirstRoot } from './publication-store.ts';
import { devicePlace, type Sealing, unseal } from './sealing.ts';
import type { HostProof, NewBinding, Row, StoredBinding, StoredSite } from './types.ts';

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
    `INSERT INTO sites (site, label, binding, confirmed, proof) VALUES (?, ?, ?, ?, ?) ON CONFLICT (site)
     DO UPDATE SET confirmed = excluded.confirmed, proof = excluded.proof WHERE binding = excluded.binding`,
  );
  for (const { site, label, proof } of sites) insert.run(site, label, id, now, proof);
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

/** Two bindings never share a host. */
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
    sites: sites.map(readSite),
  };
}

/** Columns `site`, `label` and `proof`. */
export function readSite({ site, label, proof }: Row): StoredSite {
  return { site: String(site), label: String(label), proof: proof as HostProof };
}

/** The device key of a binding that has a new one. */
export async function sealDeviceKey(
  sealing: Sealing,
  { descriptor, deviceKey }: NewBinding,
): Promise<Uint8Array | undefined> {
  const { keyServer, publisher } = descriptor;
  return deviceKey && sealing.seal(deviceKey.key, devicePlace(keyServer, publisher, deviceKey.id));
}

/** Its expiry is looked at when it is used, not when it is read. */
export async function readDescriptor(bytes: unknown): Promise<VerifiedDescriptor> {
  try {
    return await verifyDescriptor(bytes as Uint8Array, 0);
  } catch (error) {
    throw damaged('table bindings', reasonOf(error), error);
  }
}
