/** State that every part of the key server works on: the database, the vault over it, and the key pair that bundles are sealed to. */
import { existsSync, readFileSync } from 'node:fs';
import { type KeyPair, randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { recipientIdOf } from '../../core/keys/bundle.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { writeFileAtomicSync } from '../../node-support/files/write-file.ts';
import { loadOptional } from '../../node-support/optional-package.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError, writeNamed } from '../errors.ts';
import { type Hashing, localHashing } from '../hashing/hashing.ts';
import { HourlyCounts } from './counts.ts';
import type { Database, Store } from './database.ts';
import { LastSeen } from './last-seen.ts';
import { createMasterKey, hasMasterKey, type MasterKeySource, nameOfSource, readMasterKeys } from './master-key.ts';
import { Memory } from './memory.ts';
import { fillSecrets } from './secrets.ts';
import { sqliteStore } from './sqlite-database.ts';
import { Vault, versionOf } from './vault.ts';

export const CANARY = utf8('wispr/1 canary');
export const CANARY_PLACE = { table: 'canary', row: '1', keyId: 'canary' };

export interface KeyServerState {
  readonly database: Database;
  readonly vault: Vault;
  /** The X-Wing key pair that publishers seal their bundles to. */
  readonly recipient: KeyPair;
  readonly now: () => number;
  /**
   * Brings up to date what another system says of a subscriber's rights, before they are read for a decision, in no more than seconds.
   * Outside transactions. `undefined`: all rights are from here.
   */
  readonly renewRights?: ((subscriber: number) => Promise<void>) | undefined;
  /** Name of the actor, for the audit trail: audit.ts. */
  readonly actor: string;
  readonly counts: HourlyCounts;
  readonly lastSeen: LastSeen;
  readonly memory: Memory;
  readonly hashing: Hashing;
}

/**
 * Opens the state of a key server. Where there is none yet, makes it: master key, database, recipient key pair, public key file.
 *
 * @throws KeyServerError `master-key-…`, `database-…`; nothing was changed then
 */
export async function openState(config: KeyServerConfig, now: () => number = nowInSeconds): Promise<KeyServerState> {
  const store = await storeOf(config);
  if ((await store.occupancy()) === 'filled') return openExisting(config, store, now);
  const { masterKey } = config;
  // The key is looked for first: another process that makes both at this moment claims the database first. One that is not in a file was made
  // before the database.
  const isFile = typeof masterKey === 'string';
  if (isFile && hasMasterKey(masterKey) && (await store.occupancy()) === 'absent')
    // An empty database in its place would hide a loss.
    throw new KeyServerError(
      'store-unusable',
      `there is no database at ${store.name}, but its master key is at ${masterKey}`,
    );
  if (!isFile) await readMasterKeys(masterKey);
  await store.claim();
  if (isFile && !hasMasterKey(masterKey)) createMasterKey(masterKey);
  return prepare(config, store, await openVault(config), now);
}

function openVault({ masterKey }: KeyServerConfig): Promise<Vault> {
  return Vault.create(() => readMasterKeys(masterKey));
}

/** @throws KeyServerError `package-missing` */
export async function storeOf({ data, database, processes = 1 }: KeyServerConfig): Promise<Store> {
  if (database === undefined) return sqliteStore(data ?? '');
  const message = 'PostgreSQL needs a package that is not installed';
  const { postgresStore } = await loadOptional(
    () => import('./postgres-database.ts'),
    (cause) => new KeyServerError('package-missing', message, { cause, fields: { packages: 'pg@8' } }),
  );
  return postgresStore(database, processes);
}

/** Makes the state of a new key server, and leaves it closed. */
export async function createState(config: KeyServerConfig): Promise<void> {
  await (await openState(config)).database.close();
}

/** Opens the state whose store was found filled. */
export async function openExisting(config: KeyServerConfig, store: Store, now = nowInSeconds): Promise<KeyServerState> {
  const vault = await openVault(config);
  await store.inspect((database) => checkCanary(database, vault, config.masterKey));
  return prepare(config, store, vault, now);
}

/** Fills in whatever is missing. If two processes do this at once, the second one finds the work done. */
async function prepare(
  config: KeyServerConfig,
  store: Store,
  vault: Vault,
  now: () => number,
): Promise<KeyServerState> {
  const seed = randomBytes(32);
  const fresh = xwingKeyPair(seed);
  const sealedSeed = await vault.seal(await recipientRow(fresh.publicKey), seed);
  const sealedCanary = await vault.seal(CANARY_PLACE, CANARY);
  const database = await store.open(async (opened) => {
    await opened.run('INSERT INTO canary (id, sealed) VALUES (1, ?)', sealedCanary);
    await opened.run('INSERT INTO recipient (id, public_key, sealed) VALUES (1, ?, ?)', fresh.publicKey, sealedSeed);
  });
  try {
    vault.follow(() => currentVersion(database));
    await fillSecrets(database, vault);
    const recipient = await readRecipient(database, vault);
    writePublicKey(config.publicKey, recipient.publicKey);
    const [counts, lastSeen] = [new HourlyCounts(database, now), new LastSeen(database, now)];
    const memory = new Memory(database);
    return { database, vault, recipient, now, actor: 'server', counts, lastSeen, memory, hashing: localHashing() };
  } catch (error) {
    await database.close();
    throw store.explain(error);
  }
}

/** @throws KeyServerError `storage-key-refused` where the vault has not the master key that the database is under */
export async function checkCanary(database: Database, vault: Vault, masterKey: MasterKeySource): Promise<void> {
  const row = await database.first<{ sealed: Uint8Array }>('SELECT sealed FROM canary');
  if (row && (await vault.tryOpen(CANARY_PLACE, row.sealed))) return;
  const verb = typeof masterKey === 'string' ? 'is not' : 'does not hold';
  throw new KeyServerError('storage-key-refused', `${nameOfSource(masterKey)} ${verb} the master key of this database`);
}

/** The canary as it is under a version of the master key. Its version is the one that all rows are sealed under from then on. */
export async function setCanary(database: Database, vault: Vault, version: number): Promise<void> {
  await database.run('UPDATE canary SET sealed = ?', await vault.seal(CANARY_PLACE, CANARY, version));
}

/** The version of the master key that rows are sealed under. */
export async function currentVersion(database: Database): Promise<number> {
  const row = await database.first<{ sealed: Uint8Array }>('SELECT sealed FROM canary');
  if (row) return versionOf(row.sealed);
  throw new KeyServerError('store-unusable', 'the database has lost its canary');
}

interface RecipientRow {
  readonly public_key: Uint8Array;
  readonly sealed: Uint8Array;
}

/** The key pair that publishers seal their bundles to from now on. @throws KeyServerError `store-unusable` */
export async function readRecipient(database: Database, vault: Vault): Promise<KeyPair> {
  const row = await database.first<RecipientRow>('SELECT public_key, sealed FROM recipient');
  if (!row) throw new KeyServerError('store-unusable', 'the database has lost its recipient key pair');
  return openRecipient(vault, row);
}

/** Reads key pairs that a publisher may still seal to. */
export async function readFormerRecipients(database: Database, vault: Vault): Promise<KeyPair[]> {
  const rows = await database.all<RecipientRow>('SELECT public_key, sealed FROM former_recipients');
  return Promise.all(rows.map((row) => openRecipient(vault, row)));
}

async function openRecipient(vault: Vault, { public_key, sealed }: RecipientRow): Promise<KeyPair> {
  return xwingKeyPair(await vault.open(await recipientRow(public_key), sealed));
}

export async function recipientRow(publicKey: Uint8Array) {
  return { table: 'recipient', row: '1', keyId: await recipientIdOf(publicKey) };
}

export function writePublicKey(path: string, publicKey: Uint8Array): void {
  const text = `${toBase64url(publicKey)}\n`;
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  writeNamed(path, () => writeFileAtomicSync(path, text, { mode: 0o644 }));
}
