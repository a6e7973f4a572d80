/** What every part of the key server works on: the database, the vault over it, and the key pair that bundles are sealed to. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type KeyPair, randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import { recipientIdOf } from '../../core/keys/bundle.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { createFile } from '../../node-support/files/write-file.ts';
import type { KeyServerConfig } from '../config.ts';
import { KeyServerError } from '../errors.ts';
import {
  asDatabaseError,
  type Database,
  databaseExists,
  first,
  inspectDatabase,
  isBlank,
  openDatabase,
  run,
} from './database.ts';
import { createMasterKey, readMasterKeys } from './master-key.ts';
import { Vault } from './vault.ts';

const CANARY = utf8('wispr/1 canary');
const CANARY_PLACE = { table: 'canary', row: '1', keyId: 'canary' };

export interface KeyServerState {
  readonly database: Database;
  readonly vault: Vault;
  /** The X-Wing key pair that publishers seal their bundles to. */
  readonly recipient: KeyPair;
  /** Seconds since 1970. */
  readonly now: () => number;
}

/**
 * Opens the state of a key server. Where there is none yet, makes it: master key, database, recipient key pair, public key file.
 *
 * @throws KeyServerError `master-key-…`, `database-…`; nothing was changed then
 */
export async function openState(config: KeyServerConfig, now: () => number = nowInSeconds): Promise<KeyServerState> {
  if (databaseExists(config.data)) return openExisting(config, now);
  // The key is looked for first: another process that makes both at this moment makes the database first.
  if (existsSync(config.masterKey) && !existsSync(config.data)) throw databaseMissing(config);
  createFile(config.data, '', 0o600); // SQLite gives its other files the same rights
  if (!existsSync(config.masterKey)) createMasterKey(config.masterKey);
  return prepare(config, await Vault.create(readMasterKeys(config.masterKey)), now);
}

/** Makes the state of a new key server, and leaves it closed. */
export async function createState(config: KeyServerConfig): Promise<void> {
  (await openState(config)).database.close();
}

/**
 * Opens the state for a command beside the server, does `work`, and closes it.
 *
 * @throws KeyServerError as {@link openState}; `store-unusable` where the key server was never started
 */
export async function withState<Result>(
  config: KeyServerConfig,
  work: (state: KeyServerState) => Promise<Result>,
): Promise<Result> {
  if (!databaseExists(config.data)) {
    throw new KeyServerError('store-unusable', `there is no database at ${config.data} yet`);
  }
  const state = await openState(config);
  try {
    return await work(state);
  } catch (error) {
    throw asDatabaseError(error, config.data);
  } finally {
    state.database.close();
  }
}

/** An empty database in its place would hide a loss. */
function databaseMissing({ data, masterKey }: KeyServerConfig): KeyServerError {
  return new KeyServerError('store-unusable', `there is no database at ${data}, but its master key is at ${masterKey}`);
}

async function openExisting(config: KeyServerConfig, now: () => number): Promise<KeyServerState> {
  const vault = await Vault.create(readMasterKeys(config.masterKey));
  await inspectDatabase(config.data, (database) => checkCanary(database, vault, config.masterKey));
  return prepare(config, vault, now);
}

/** Fills in whatever is missing. Of two processes that do this at once, the second one finds the work done. */
async function prepare(config: KeyServerConfig, vault: Vault, now: () => number): Promise<KeyServerState> {
  const seed = randomBytes(32);
  const fresh = xwingKeyPair(seed);
  const sealedSeed = await vault.seal(await recipientPlace(fresh.publicKey), seed);
  const sealedCanary = await vault.seal(CANARY_PLACE, CANARY);
  const database = openDatabase(config.data, (opened) => {
    run(opened, 'INSERT INTO canary (id, sealed) VALUES (1, ?)', sealedCanary);
    run(opened, 'INSERT INTO recipient (id, public_key, sealed) VALUES (1, ?, ?)', fresh.publicKey, sealedSeed);
  });
  try {
    const recipient = await readRecipient(database, vault);
    writePublicKey(config.publicKey, recipient.publicKey);
    return { database, vault, recipient, now };
  } catch (error) {
    database.close();
    throw error;
  }
}

async function checkCanary(database: Database, vault: Vault, masterKeyPath: string): Promise<void> {
  if (isBlank(database)) return;
  const row = first<{ sealed: Uint8Array }>(database, 'SELECT sealed FROM canary');
  if (row && (await vault.tryOpen(CANARY_PLACE, row.sealed))) return;
  throw new KeyServerError('storage-key-refused', `${masterKeyPath} is not the master key of this database`);
}

async function readRecipient(database: Database, vault: Vault): Promise<KeyPair> {
  const row = first<{ public_key: Uint8Array; sealed: Uint8Array }>(
    database,
    'SELECT public_key, sealed FROM recipient',
  );
  if (!row) throw new KeyServerError('store-unusable', 'the database has lost its recipient key pair');
  return xwingKeyPair(await vault.open(await recipientPlace(row.public_key), row.sealed));
}

async function recipientPlace(publicKey: Uint8Array) {
  return { table: 'recipient', row: '1', keyId: await recipientIdOf(publicKey) };
}

function writePublicKey(path: string, publicKey: Uint8Array): void {
  const text = `${toBase64url(publicKey)}\n`;
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  const beside = `${path}.${process.pid}.new`;
  writeFileSync(beside, text);
  renameSync(beside, path);
}
