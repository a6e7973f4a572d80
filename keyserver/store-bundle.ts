/** Puts an imported bundle into the database, its keys encrypted under the master key. */
import { fromBase64url } from '../core/encoding/base64url.ts';
import type { BundledSet, OpenedBundle } from '../core/keys/bundle.ts';
import type { KeyId } from '../core/keys/key-id.ts';
import { setPlace } from './entitlement.ts';
import { type SealedTimestampKey, sealTimestampKey } from './publication/key.ts';
import type { KeyServerState } from './state.ts';
import { type Database, first, run } from './storage/database.ts';

interface SealedSet extends BundledSet {
  readonly sealed: Uint8Array;
}

/** A bundle, and its keys as they stand in the database. */
export interface SealedBundle {
  readonly bundle: OpenedBundle;
  readonly sets: readonly SealedSet[];
  readonly timestampKey: SealedTimestampKey | undefined;
}

/** Encrypts the keys of a bundle, of which `openBundle` has checked that each set key is the key of its id. */
export async function sealBundleKeys(state: KeyServerState, bundle: OpenedBundle): Promise<SealedBundle> {
  const sets = await Promise.all(bundle.sets.map((set) => sealSet(state, set)));
  const seed = fromBase64url(bundle.timestampKey);
  return { bundle, sets, timestampKey: seed && (await sealTimestampKey(state, seed)) };
}

async function sealSet({ vault }: KeyServerState, set: BundledSet): Promise<SealedSet> {
  const key = fromBase64url(set.key) ?? new Uint8Array(0);
  return { ...set, sealed: await vault.seal(setPlace(set.id), key) };
}

/** Stores a bundle, within the caller's transaction. Returns how many sets are new. */
export function storeBundle(
  { database, now }: KeyServerState,
  { bundle, sets, timestampKey }: SealedBundle,
  root: KeyId,
  digest: string,
): number {
  const { publisher, workspace, serial } = bundle;
  const columns = 'id, publisher_key, root, first_root, workspace, serial, bundle_digest, descriptor, imported';
  const sql = `INSERT OR REPLACE INTO provider (${columns}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const bytes = (text: string) => fromBase64url(text) ?? new Uint8Array(0);
  const firstRoot = bytes(bundle.root);
  run(database, sql, publisher, root, firstRoot, workspace, serial, digest, bytes(bundle.descriptor), now());
  storeTimestampKey(database, timestampKey);
  return storeSets(database, sets, now());
}

/** A bundle without a timestamp key takes it away: the publisher signs timestamps itself from now on, and readers get none here. */
function storeTimestampKey(database: Database, key: SealedTimestampKey | undefined): void {
  run(database, 'DELETE FROM timestamp_key');
  if (key) run(database, 'INSERT INTO timestamp_key (id, key_id, sealed) VALUES (1, ?, ?)', key.id, key.sealed);
  else run(database, 'DELETE FROM publication');
}

function storeSets(database: Database, sets: readonly SealedSet[], now: number): number {
  const before = countSets(database);
  const upsert = `INSERT INTO sets (id, name, site, sealed, imported) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, site = excluded.site`;
  for (const { id, name, site, sealed } of sets) run(database, upsert, id, name, site, sealed, now);
  return countSets(database) - before;
}

function countSets(database: Database): number {
  return first<{ count: number }>(database, 'SELECT count(*) AS count FROM sets')?.count ?? 0;
}
