/** Imports the publisher's sealed key bundle: all of it or nothing, and never an older one. */

import { sha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../core/encoding/base64url.ts';
import { type BundledSet, type OpenedBundle, openBundle } from '../core/keys/bundle.ts';
import { type VerifiedDescriptor, verifyDescriptor } from '../core/keys/descriptor.ts';
import type { KeyId } from '../core/keys/key-id.ts';
import { inTransaction } from '../node-support/sqlite.ts';
import { setPlace } from './entitlement.ts';
import { KeyServerError } from './errors.ts';
import { type ProviderRow, readProviderRow } from './provider.ts';
import type { KeyServerState } from './state.ts';
import { type Database, first, run } from './storage/database.ts';

/** The origins under which this key server is reached; a bundle whose descriptor names others would lead readers astray. */
export interface Origins {
  readonly keyServer: string;
  readonly reading: string;
}

export interface ImportResult {
  /** `pinned`: the first bundle. `unchanged`: the same bundle again. */
  readonly outcome: 'pinned' | 'updated' | 'unchanged';
  /** Key id of the publisher: its fingerprint. */
  readonly publisher: KeyId;
  readonly name: string;
  readonly sites: readonly string[];
  readonly serial: number;
  /** Sets in the bundle, and those of them that are new. */
  readonly sets: number;
  readonly newSets: number;
}

interface SealedSet extends BundledSet {
  readonly sealed: Uint8Array;
}

/**
 * Imports a bundle. The first one pins the publisher and its workspace; later ones must be theirs and have a higher serial. Sets that a
 * later bundle no longer names keep their keys, because documents that readers may hold are encrypted under them.
 *
 * @param origins - where this key server is reached
 * @throws KeyError as `openBundle` and `verifyDescriptor`; KeyServerError `bundle-foreign`, `bundle-older`,
 * `bundle-conflict`, `bundle-elsewhere`. Nothing was changed then.
 */
export async function importBundle(state: KeyServerState, bytes: Uint8Array, origins: Origins): Promise<ImportResult> {
  const bundle = await openBundle(bytes, state.recipient);
  const descriptorBytes = fromBase64url(bundle.descriptor) ?? new Uint8Array(0);
  const descriptor = await verifyDescriptor(descriptorBytes, state.now());
  if (descriptor.publisher !== bundle.publisher)
    throw foreign("the descriptor in the bundle is not by the bundle's publisher");
  checkOrigins(descriptor, origins);
  const sealed = await Promise.all(bundle.sets.map((set) => sealSet(state, set)));
  const digest = toBase64url(await sha256(bytes));
  return inTransaction(state.database, () => {
    const known = readProviderRow(state.database);
    const outcome = known ? compare(known, bundle, digest) : 'pinned';
    const newSets = outcome === 'unchanged' ? 0 : store(state, bundle, digest, descriptorBytes, sealed);
    const sites = descriptor.sites.map(({ site }) => site);
    const { publisher, serial } = bundle;
    return { outcome, publisher, name: descriptor.name, sites, serial, sets: sealed.length, newSets };
  });
}

/** Step B5 of docs/spec/keys.md: publisher, workspace, serial; of two bundles with one serial, only the very same is accepted. */
function compare(known: ProviderRow, bundle: OpenedBundle, digest: string): 'updated' | 'unchanged' {
  if (bundle.publisher !== known.publisher) {
    throw foreign(`the bundle is by the publisher ${bundle.publisher}; this key server serves ${known.publisher}`);
  }
  if (bundle.workspace !== known.workspace) {
    throw foreign(
      "the bundle comes from another workspace of this publisher, whose serial numbers say nothing about this one's",
    );
  }
  if (bundle.serial < known.serial) {
    throw new KeyServerError(
      'bundle-older',
      `the bundle has serial ${bundle.serial}; serial ${known.serial} is already here`,
      {
        hint: 'import the newest bundle; nothing was changed',
      },
    );
  }
  if (bundle.serial > known.serial) return 'updated';
  if (digest === known.bundle_digest) return 'unchanged';
  throw new KeyServerError('bundle-conflict', `another bundle with serial ${bundle.serial} is already here`, {
    hint: 'was the workspace copied? let the publisher make a new bundle; nothing was changed',
  });
}

function checkOrigins({ keyServer, sites }: VerifiedDescriptor, origins: Origins): void {
  const here = sites.filter(({ reading }) => reading === origins.reading);
  if (keyServer !== origins.keyServer)
    throw elsewhere(`names the key server ${keyServer}, and this one is ${origins.keyServer}`);
  if (here.length === 0) {
    throw elsewhere(
      `names the reading site ${sites.map(({ reading }) => reading).join(', ')}, and this one is ${origins.reading}`,
    );
  }
  if (here.length > 1) throw elsewhere(`gives the reading site ${origins.reading} to more than one site`);
}

/** `openBundle` has checked that each key is the key of its id. */
async function sealSet({ vault }: KeyServerState, set: BundledSet): Promise<SealedSet> {
  const key = fromBase64url(set.key) ?? new Uint8Array(0);
  return { ...set, sealed: await vault.seal(setPlace(set.id), key) };
}

/** Returns how many sets are new. */
function store(
  { database, now }: KeyServerState,
  { publisher, workspace, serial }: OpenedBundle,
  digest: string,
  descriptor: Uint8Array,
  sets: readonly SealedSet[],
): number {
  const columns = 'id, publisher, workspace, serial, bundle_digest, descriptor, imported';
  const sql = `INSERT OR REPLACE INTO provider (${columns}) VALUES (1, ?, ?, ?, ?, ?, ?)`;
  run(database, sql, publisher, workspace, serial, digest, descriptor, now());
  const before = countSets(database);
  const upsert = `INSERT INTO sets (id, name, site, sealed, imported) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, site = excluded.site`;
  for (const { id, name, site, sealed } of sets) run(database, upsert, id, name, site, sealed, now());
  return countSets(database) - before;
}

function countSets(database: Database): number {
  return first<{ count: number }>(database, 'SELECT count(*) AS count FROM sets')?.count ?? 0;
}

function foreign(message: string): KeyServerError {
  return new KeyServerError('bundle-foreign', message, { hint: 'nothing was changed' });
}

function elsewhere(what: string): KeyServerError {
  return new KeyServerError('bundle-elsewhere', `the descriptor in the bundle ${what}`, {
    hint: "bring the publisher's configuration and the key server's together; nothing was changed",
  });
}
