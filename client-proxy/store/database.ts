/** Opens the reader's database for this process alone, or says in one line why not. A database that is refused is not changed. */
import { chmodSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { openLocked } from '../../node-support/files/lock.ts';
import { makeDirectoryNow } from '../../node-support/make-directory.ts';
import { headerNumber, inTransaction } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { damaged, inUse, unusable } from './errors.ts';
import { DATABASE_FILES } from './locations.ts';

const SCHEMA_VERSION = 2;
/** "wspr": tells a reader's database from those of other programs, a key server's among them. */
const APPLICATION_ID = 0x77737072;

const KEYS = `(
  binding INTEGER NOT NULL REFERENCES bindings (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  not_before INTEGER NOT NULL,
  not_after INTEGER NOT NULL,
  key BLOB NOT NULL,
  PRIMARY KEY (binding, id)
) STRICT, WITHOUT ROWID`;

/**
 * `storage`: how the secrets are encrypted, and what shows that the right key is at hand (protection.ts). `secrets`, `bindings.device_key`,
 * `set_keys.key`, `period_keys.key` and `roaming.key` are sealed under the storage key (sealing.ts), with table and row in the additional data.
 *
 * `publications`: signed metadata by site and role, as they came; every one is verified again when it is read. `stays`: 0 for what may be
 * dropped, the first written first. `roaming`: of each line of roaming files that this device has met, the highest number that it has seen, and
 * the SHA-256 of that file; `salt` and `key` where this device writes them itself: what the seven words come to. `settings` and `declined`: what
 * the reader chose (preferences.ts).
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
  confirmed INTEGER NOT NULL,
  proof TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE set_keys ${KEYS};
CREATE TABLE period_keys ${KEYS};
CREATE TABLE publications (
  site TEXT NOT NULL REFERENCES sites (site) ON DELETE CASCADE,
  name TEXT NOT NULL,
  bytes BLOB NOT NULL,
  stays INTEGER NOT NULL,
  PRIMARY KEY (site, name)
) STRICT;
CREATE TABLE roaming (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  digest BLOB NOT NULL,
  written INTEGER NOT NULL,
  salt BLOB,
  key BLOB
) STRICT, WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE declined (
  binding INTEGER NOT NULL REFERENCES bindings (id) ON DELETE CASCADE,
  site TEXT NOT NULL,
  PRIMARY KEY (binding, site)
) STRICT, WITHOUT ROWID;
`;

export interface OpenDatabase {
  readonly database: DatabaseSync;
  /** Sentences for the reader about what was put right. */
  readonly notices: readonly string[];
}

/**
 * Opens the database in `directory`, and makes both where they are missing (0700 and 0600). Until it is closed, or this process ends, no other
 * process can open it.
 *
 * @throws ReaderError `store-busy` where another process has it; `store-damaged`, `store-unusable`, `disk-full`
 */
export function openDatabase(directory: string): OpenDatabase {
  const files = DATABASE_FILES.map((name) => join(directory, name));
  const [file = ''] = files;
  let database: DatabaseSync | undefined;
  try {
    makeDirectoryNow(directory, 0o700);
    const notices = closeToOthers(directory, files);
    database = openLocked(file);
    if (database === undefined) throw inUse(file);
    checkSound(database, file);
    prepare(database);
    return { database, notices };
  } catch (error) {
    database?.close();
    throw unusable(error, file);
  }
}

/**
 * The files are their owner's alone: where they are not, that is put right and said. A folder in which others may put files of theirs in the
 * place of ours is not used; it may serve other purposes, so it is not ours to change.
 */
function closeToOthers(directory: string, files: readonly string[]): string[] {
  if (process.platform === 'win32') return [];
  if ((statSync(directory).mode & 0o022) !== 0)
    throw exposed(`other users of this machine may change files in ${directory}`, directory);
  const open = files.filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0);
  for (const file of open) {
    try {
      chmodSync(file, 0o600);
    } catch (cause) {
      throw exposed(`other users of this machine may read ${file}, and it is not yours`, directory, cause);
    }
  }
  return open.map((file) => `other users of this machine could get at ${file}; now only you can`);
}

function exposed(message: string, directory: string, cause?: unknown): ReaderError {
  return new ReaderError('store-unusable', message, { fields: { directory }, cause });
}

function checkSound(database: DatabaseSync, file: string): void {
  const version = headerNumber(database, 'user_version');
  if (version !== 0 && version !== SCHEMA_VERSION)
    throw new ReaderError('store-unusable', `${file} was written by another version of wispr`);
  const check = database.prepare('PRAGMA quick_check(1)').get();
  if (check?.quick_check !== 'ok') throw damaged(file, String(check?.quick_check));
  const isNew = version === 0 && database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.tables === 0;
  if (!isNew && headerNumber(database, 'application_id') !== APPLICATION_ID)
    throw damaged(file, 'it is not a reader database');
}

function prepare(database: DatabaseSync): void {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;');
  if (headerNumber(database, 'user_version') === SCHEMA_VERSION) return;
  inTransaction(database, () => {
    database.exec(`${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION};`);
  });
}
