/** Opens the reader's database, or says in one line why not. A database that is refused is not changed. */
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../../core/errors.ts';
import { isDiskFull } from '../../node-support/disk-full.ts';
import { makeDirectoryNow } from '../../node-support/make-directory.ts';
import { headerNumber, inTransaction, saysBusy, saysDamaged } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { DATABASE_FILES } from './locations.ts';
import { OpenedFile } from './opened-file.ts';

const SCHEMA_VERSION = 4;
/** "wspr": tells a reader's database from those of other programs, a key server's among them. */
const APPLICATION_ID = 0x77737072;

/**
 * `storage`: how the secrets are encrypted, and what shows that the right key is at hand (protection.ts). `secrets`, `bindings.device_key`,
 * `set_keys.key` and `roaming.key` are sealed under the storage key (sealing.ts), with table and row in the additional data.
 */
const SCHEMA = `
CREATE TABLE storage (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE bindings (
  id INTEGER PRIMARY KEY,
  key_server TEXT NOT NULL,
  publisher TEXT NOT NULL,
  descriptor BLOB NOT NULL,
  descriptor_fetched INTEGER NOT NULL,
  device_key_id TEXT NOT NULL,
  device_key BLOB NOT NULL,
  bound INTEGER NOT NULL,
  UNIQUE (key_server, publisher)
) STRICT;
CREATE TABLE sites (
  site TEXT PRIMARY KEY,
  label TEXT NOT NULL UNIQUE,
  binding INTEGER NOT NULL REFERENCES bindings (id) ON DELETE CASCADE,
  confirmed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE set_keys (
  binding INTEGER NOT NULL REFERENCES bindings (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  key BLOB NOT NULL,
  PRIMARY KEY (binding, id)
) STRICT, WITHOUT ROWID;
`;

/**
 * `publications`: signed metadata by site and role, as they came; every one is verified again when it is read. `stays`: 0 for what may
 * be dropped, the least recently `used` first.
 */
const PUBLICATIONS = `
CREATE TABLE publications (
  site TEXT NOT NULL REFERENCES sites (site) ON DELETE CASCADE,
  name TEXT NOT NULL,
  bytes BLOB NOT NULL,
  stays INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (site, name)
) STRICT;
`;

/**
 * `roaming`: of each line of roaming files that this device has met, the highest number that it has seen, and the SHA-256 of that file. `salt`
 * and `key` (sealed) where this device writes them itself: what the seven words come to.
 */
const ROAMING = `
CREATE TABLE roaming (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  digest BLOB NOT NULL,
  written INTEGER NOT NULL,
  salt BLOB,
  key BLOB
) STRICT, WITHOUT ROWID;
`;

/** What the reader chose (preferences.ts). */
const PREFERENCES = `
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE declined (
  binding INTEGER NOT NULL REFERENCES bindings (id) ON DELETE CASCADE,
  site TEXT NOT NULL,
  PRIMARY KEY (binding, site)
) STRICT, WITHOUT ROWID;
`;

/**
 * From each version to the next. Bindings of version 1 name publishers by a key, from before there were publications: nothing could be read
 * with them any more, and their sites have to be free for a new invitation. The device's seed stays.
 */
const MIGRATIONS = [SCHEMA, `DELETE FROM bindings; ${PUBLICATIONS}`, ROAMING, PREFERENCES] as const;

export interface OpenDatabase {
  readonly database: DatabaseSync;
  readonly file: OpenedFile;
  /** What was put right: sentences for the reader. */
  readonly notices: readonly string[];
}

/**
 * Opens the database in `directory`, and makes both where they are missing (0700 and 0600).
 *
 * @throws ReaderError `store-damaged`, `store-newer`, `store-exposed`, `store-unusable`, `store-busy`, `disk-full`
 */
export function openDatabase(directory: string): OpenDatabase {
  const files = DATABASE_FILES.map((name) => join(directory, name));
  const [file = '', ...beside] = files;
  let database: DatabaseSync | undefined;
  try {
    makeFile(directory, file);
    const notices = closeToOthers(directory, files);
    database = new DatabaseSync(file, { timeout: LIMITS.databaseWait });
    checkSound(database, file);
    prepare(database, file);
    return { database, file: new OpenedFile(file, beside), notices };
  } catch (error) {
    database?.close();
    throw describe(error, file);
  }
}

/**
 * Makes the folder of a database, as {@link openDatabase} does, for what has to be there before it.
 *
 * @throws ReaderError `store-unusable`, `disk-full`
 */
export function makeDataDirectory(directory: string): void {
  try {
    makeDirectoryNow(directory, 0o700);
  } catch (error) {
    throw describe(error, directory);
  }
}

/** Does something that is not worth waiting for another process that writes. */
export function withoutWaiting(database: DatabaseSync, work: () => void): void {
  database.exec('PRAGMA busy_timeout = 0');
  try {
    work();
  } finally {
    database.exec(`PRAGMA busy_timeout = ${LIMITS.databaseWait}`);
  }
}

/** SQLite gives its other files the permissions of the first. */
function makeFile(directory: string, file: string): void {
  makeDirectoryNow(directory, 0o700);
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
}

/**
 * The files are their owner's alone: where they are not, that is put right and said. A folder in which others may put files of theirs in the
 * place of ours is not used; it may serve other purposes, so it is not ours to change.
 */
function closeToOthers(directory: string, files: readonly string[]): string[] {
  if (process.platform === 'win32') return [];
  if ((statSync(directory).mode & 0o022) !== 0)
    throw exposed(`other users of this machine may change files in ${directory}`, `chmod 700 ${directory}`);
  const open = files.filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0);
  for (const file of open) {
    try {
      chmodSync(file, 0o600);
    } catch (cause) {
      throw exposed(
        `other users of this machine may read ${file}`,
        'it is not yours: choose a folder of your own with --data',
        cause,
      );
    }
  }
  return open.map((file) => `other users of this machine could get at ${file}; now only you can`);
}

function exposed(message: string, hint: string, cause?: unknown): ReaderError {
  return new ReaderError('store-exposed', message, { hint, cause });
}

function checkSound(database: DatabaseSync, file: string): void {
  const version = headerNumber(database, 'user_version');
  if (version > SCHEMA_VERSION) throw newer(file);
  const check = database.prepare('PRAGMA quick_check(1)').get();
  if (check?.quick_check !== 'ok') throw damaged(file, String(check?.quick_check));
  const isNew = version === 0 && database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.tables === 0;
  if (!isNew && headerNumber(database, 'application_id') !== APPLICATION_ID)
    throw damaged(file, 'it is not a reader database');
}

function prepare(database: DatabaseSync, file: string): void {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;');
  if (headerNumber(database, 'user_version') === SCHEMA_VERSION) return;
  inTransaction(database, () => {
    const version = headerNumber(database, 'user_version'); // another process may have been quicker
    if (version > SCHEMA_VERSION) throw newer(file);
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION};`);
  });
}

function newer(file: string): ReaderError {
  return new ReaderError('store-newer', `${file} was written by a newer version of wispr`, {
    hint: 'update wispr, or choose another folder with --data',
  });
}

/** The way on for whoever has no backup, of the database or of its key: what is in it is lost. @param what - is in the way of a new database */
export function connectAnew(what = 'reader.db'): string {
  return `move ${what} away ("wispr proxy status" says where it is); then bring your identity back from a roaming file, with "wispr identity import FILE", or connect again with a new invitation`;
}

/** What the database says is not what this program wrote. */
export function damaged(what: string, why: string, cause?: unknown): ReaderError {
  return new ReaderError('store-damaged', `the reader's database is damaged: ${what}: ${why}`, {
    cause,
    hint: `restore it from a backup; if there is none, ${connectAnew()}; nothing was changed`,
  });
}

/** For a database that is open, and takes no change. Nothing was changed. @param file - of the database */
export function unwritable(error: unknown, file?: string | null): ReaderError {
  const what = "the reader's database cannot be written";
  if (isDiskFull(error, file)) return diskFull(what, error, file);
  if (saysDamaged(error)) return damaged(file ?? 'reader.db', reasonOf(error), error);
  if (saysBusy(error)) return busy(what, error);
  return new ReaderError('store-unwritable', `${what}: ${reasonOf(error)}`, {
    cause: error,
    hint: 'check the disk and the permissions of the folder, and try again; a Reader that runs need not be stopped',
  });
}

/** @param what - cannot be done. Nothing was changed */
function busy(what: string, cause: unknown): ReaderError {
  return new ReaderError('store-busy', `${what}: another program is writing to it`, {
    cause,
    hint: 'try again; if it stays so, end that program',
  });
}

/** @param what - cannot be done. Nothing was changed */
export function diskFull(what: string, cause: unknown, file?: string | null): ReaderError {
  const where = typeof file === 'string' ? ` on which ${file} lies` : '';
  return new ReaderError('disk-full', `the disk is full: ${what}`, { cause, hint: `make room on the disk${where}` });
}

function describe(error: unknown, file: string): Error {
  if (error instanceof ReaderError) return error;
  if (saysDamaged(error)) return damaged(file, reasonOf(error), error);
  const what = `the reader's database cannot be opened: ${file}`;
  if (isDiskFull(error, file)) return diskFull(what, error, file);
  if (saysBusy(error)) return busy(what, error);
  return new ReaderError('store-unusable', `${what}: ${reasonOf(error)}`, {
    cause: error,
    hint: 'check the permissions of the folder and the space on the disk, or choose another folder with --data',
  });
}
