/** Imports the publisher's sealed key bundle: all of it or nothing, and never an older one. */
import { sha256 } from '#primitives';
import { type KeyId, keyIdOf } from '../../core/crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { type BundledSet, type OpenedBundle, openBundle, recipientIdOf } from '../../core/keys/bundle.ts';
import { isServerless, type VerifiedDescriptor, verifyDescriptor } from '../../core/keys/descriptor.ts';
import { parseSettings } from '../../core/publication/settings.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { KeyServerError } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import { countRows, type Database } from '../storage/database.ts';
import { type KeyServerState, readFormerRecipients, readRecipient } from '../storage/state.ts';
import { type SealedTimestampKey, sealTimestampKey } from './key.ts';
import { type SealedPeriod, sealPeriods, storePeriods } from './period-keys.ts';
import { type ProviderRow, readProviderRow } from './provider.ts';
import { makeSignedPlans } from './signed-plans.ts';

/** The origins under which this key server is reached; a bundle whose descriptor names others would lead readers astray. */
export interface Origins {
  readonly keyServer: string;
  readonly reading: string;
}

export interface ImportResult {
  /** `pinned`: the first bundle. `unchanged`: the same bundle again. */
  readonly outcome: 'pinned' | 'updated' | 'unchanged';
  /** The publisher's identity, the root id: its fingerprint. */
  readonly publisher: KeyId;
  /** Key id of the publisher key, which signed the bundle. */
  readonly publisherKey: KeyId;
  readonly name: string;
  readonly sites: readonly string[];
  readonly serial: number;
  readonly sets: number;
  readonly newSets: number;
}

export interface ImportOptions {
  /** A publisher key that the operator has compared, and takes in place of the one that is pinned. */
  readonly newPublisherKey?: KeyId | undefined;
}

interface Checked {
  readonly bundle: OpenedBundle;
  readonly descriptor: VerifiedDescriptor;
  readonly digest: string;
}

/**
 * Imports a bundle. The first one pins the publisher's root, its workspace and its key; later ones must be theirs and have a higher serial.
 * Root and workspace are pinned for good; another publisher key is taken only if the operator names it. Sets that a later bundle no longer
 * names keep their keys, because documents that readers may hold are encrypted under them.
 *
 * @param origins - where this key server is reached
 * @throws KeyError as `openBundle` and `verifyDescriptor`; PublicationError `settings-malformed`; KeyServerError `bundle-foreign`, `bundle-older`,
 * `publisher-key-changed`. Nothing was changed then.
 */
export async function importBundle(
  state: KeyServerState,
  bytes: Uint8Array,
  origins: Origins,
  options: ImportOptions = {},
): Promise<ImportResult> {
  // Read anew: a command may have changed them.
  const recipient = await readRecipient(state.database, state.vault);
  const recipientId = await recipientIdOf(recipient.publicKey);
  const bundle = await openBundle(bytes, recipient, ...(await readFormerRecipients(state.database, state.vault)));
  const descriptorBytes = fromBase64url(bundle.descriptor) ?? new Uint8Array(0);
  const descriptor = await verifyDescriptor(descriptorBytes, state.now());
  await checkParts(bundle, descriptor);
  checkNamed(bundle.publisher, options);
  checkOrigins(descriptor, origins);
  const digest = toBase64url(await sha256(bytes));
  const sealed = await sealBundleKeys(state, bundle);
  return state.database.transaction(async () => {
    const known = await readProviderRow(state.database);
    const outcome = known ? compare(known, { bundle, descriptor, digest }, options) : 'pinned';
    if (bundle.recipient === recipientId) await state.database.run('DELETE FROM former_recipients'); // the publisher has the new one
    const newSets = outcome === 'unchanged' ? 0 : await storeBundle(state, sealed, descriptor.root, digest);
    if (outcome !== 'unchanged') {
      const { publisher: key, serial } = bundle;
      await audit(state, 'bundle', descriptor.root, { outcome, key, serial, sets: sealed.sets.length, newSets });
      await makeSignedPlans(state, bundle);
    }
    if (descriptor.sites.every(isServerless)) await state.database.run('DELETE FROM sets'); // sets from when this server gave keys out
    return {
      outcome,
      publisher: descriptor.publisher,
      publisherKey: bundle.publisher,
      name: descriptor.name,
      sites: descriptor.sites.map(({ site }) => site),
      serial: bundle.serial,
      sets: sealed.sets.length,
      newSets,
    };
  });
}

/** Step B5 of docs/spec/keys.md: the parts of the bundle belong together. */
async function checkParts(bundle: OpenedBundle, { publisherKeyBytes, root }: VerifiedDescriptor): Promise<void> {
  if ((await keyIdOf('publisher', publisherKeyBytes)) !== bundle.publisher)
    throw foreign("the descriptor in the bundle is not by the bundle's publisher");
  if ((await rootIdOf(fromBase64url(bundle.root) ?? new Uint8Array(0))) !== root)
    throw foreign('the root in the bundle is not the one that the descriptor names');
  const settings = fromBase64url(bundle.settings);
  if (settings) parseSettings(settings);
}

/** Step B6 of docs/spec/keys.md; of two bundles with one serial, only the very same is accepted. */
function compare(known: ProviderRow, checked: Checked, options: ImportOptions): ImportResult['outcome'] {
  const { bundle, descriptor, digest } = checked;
  if (descriptor.root !== known.root)
    throw foreign(`the bundle is by the publisher ${descriptor.root}; this key server serves ${known.root}`);
  if (bundle.workspace !== known.workspace)
    throw foreign('the bundle comes from another workspace of this publisher, with serial numbers of its own');
  // Root and workspace are public, so a forged bundle can have them. The key alone authenticates it.
  if (bundle.publisher !== known.publisher_key && bundle.publisher !== options.newPublisherKey)
    throw keyChanged(bundle.publisher, `not by ${known.publisher_key}, which is known here`);
  const older = `the bundle has serial ${bundle.serial}; serial ${known.serial} is already here`;
  if (bundle.serial < known.serial) throw new KeyServerError('bundle-older', older);
  if (bundle.serial > known.serial) return 'updated';
  if (digest === known.bundle_digest) return 'unchanged';
  throw new KeyServerError('bundle-older', `another bundle with serial ${bundle.serial} is already here`);
}

/** A named key has to be that of the bundle, also of the first one: the operator has compared it with the publisher's. */
function checkNamed(key: KeyId, { newPublisherKey }: ImportOptions): void {
  if (newPublisherKey === undefined || key === newPublisherKey) return;
  throw keyChanged(key, 'not by the one that was named');
}

function keyChanged(key: KeyId, known: string): KeyServerError {
  const message = `the bundle is signed by the publisher key ${key}, ${known}`;
  return new KeyServerError('publisher-key-changed', message, { fields: { key } });
}

function checkOrigins({ keyServer, sites }: VerifiedDescriptor, origins: Origins): void {
  const here = sites.filter(({ reading }) => reading === origins.reading);
  if (keyServer !== origins.keyServer)
    throw elsewhere(`names the key server ${keyServer}, and this one is ${origins.keyServer}`);
  // Sites whose keys are in files are read elsewhere: no key server has them.
  if (here.length === 0 && !sites.every(isServerless)) {
    throw elsewhere(
      `names the reading site ${sites.map(({ reading }) => reading).join(', ')}, and this one is ${origins.reading}`,
    );
  }
  if (here.length > 1) throw elsewhere(`gives the reading site ${origins.reading} to more than one site`);
}

function foreign(message: string): KeyServerError {
  return new KeyServerError('bundle-foreign', message);
}

function elsewhere(what: string): KeyServerError {
  return foreign(`the descriptor in the bundle ${what}`);
}

interface SealedSet extends BundledSet {
  readonly sealed: Uint8Array;
}

/** A bundle, and its keys as they stand in the database. */
interface SealedBundle {
  readonly bundle: OpenedBundle;
  readonly sets: readonly SealedSet[];
  readonly periods: readonly SealedPeriod[];
  readonly timestampKey: SealedTimestampKey | undefined;
}

/** Encrypts the keys of a bundle, of which `openBundle` has checked that each is the key of its id. */
async function sealBundleKeys(state: KeyServerState, bundle: OpenedBundle): Promise<SealedBundle> {
  const version = await state.vault.currentVersion();
  const seal = async (set: BundledSet) => {
    const key = fromBase64url(set.key) ?? new Uint8Array(0);
    return { ...set, sealed: await state.vault.seal(setRow(set.id), key, version) };
  };
  const sets = await Promise.all(bundle.sets.map(seal));
  const periods = await sealPeriods(state, bundle.periods, version);
  const seed = fromBase64url(bundle.timestampKey);
  return { bundle, sets, periods, timestampKey: seed && (await sealTimestampKey(state, seed)) };
}

/** Stores a bundle, within the caller's transaction. Returns how many sets are new. */
async function storeBundle(
  { database, now }: KeyServerState,
  { bundle, sets, periods, timestampKey }: SealedBundle,
  root: KeyId,
  digest: string,
): Promise<number> {
  const { publisher, workspace, serial } = bundle;
  const columns =
    'id, publisher_key, root, first_root, workspace, serial, bundle_digest, descriptor, settings, imported';
  const sql = `INSERT INTO provider (${columns}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET publisher_key = excluded.publisher_key, root = excluded.root, first_root = excluded.first_root,
      workspace = excluded.workspace, serial = excluded.serial, bundle_digest = excluded.bundle_digest,
      descriptor = excluded.descriptor, settings = excluded.settings, imported = excluded.imported`;
  const bytes = (text: string) => fromBase64url(text) ?? new Uint8Array(0);
  const firstRoot = bytes(bundle.root);
  const settings = fromBase64url(bundle.settings) ?? null;
  const about = [publisher, root, firstRoot, workspace, serial, digest, bytes(bundle.descriptor), settings, now()];
  await database.run(sql, ...about);
  // A bundle without a timestamp key takes it away: the publisher signs timestamps itself from now on, and readers get none here.
  await database.run('DELETE FROM timestamp_key');
  const insert = 'INSERT INTO timestamp_key (id, key_id, sealed) VALUES (1, ?, ?)';
  if (timestampKey) await database.run(insert, timestampKey.id, timestampKey.sealed);
  else await database.run('DELETE FROM publication');
  await storePeriods(database, periods);
  return storeSets(database, sets, now());
}

async function storeSets(database: Database, sets: readonly SealedSet[], now: number): Promise<number> {
  const before = await countRows(database, 'sets');
  const upsert = `INSERT INTO sets (id, name, site, sealed, imported) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, site = excluded.site`;
  for (const { id, name, site, sealed } of sets) await database.run(upsert, id, name, site, sealed, now);
  return (await countRows(database, 'sets')) - before;
}

/** Names the row of a set key in the database. */
export const setRow = (id: KeyId) => ({ table: 'sets', row: id, keyId: id });
