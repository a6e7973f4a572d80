/**
 * Opens `publisher.db`: the index of what was written, the state of this workspace, and its lock. Without the index every document is written
 * again, so a damaged database is replaced by an empty one.
 */
import { rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { openLocked } from '../../../node-support/files/lock.ts';
import {
  databaseReason,
  headerNumber,
  inTransaction,
  isSqliteError,
  saysBusy,
  saysDamaged,
} from '../../../node-support/sqlite.ts';
import { PublishError } from '../../errors.ts';
import { type LostIndex, PublisherIndex } from './publisher-index.ts';
import { APPLICATION_ID, PLAN_SCHEMA, SCHEMA, SCHEMA_VERSION } from './schema.ts';

/** A rollback journal: a write-ahead log leaves further files. NORMAL is durable under an exclusive lock, which syncs the journal's end. */
const SETTINGS =
  'PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA temp_store = FILE; PRAGMA cache_size = -16000';

/**
 * Opens the database of a workspace for this process alone, or makes one.
 *
 * @throws PublishError `store-busy`, `output-foreign`, `output-failed`
 */
export function openIndex(file: string): PublisherIndex {
  try {
    return openWritable(file);
  } catch (error) {
    if (!saysDamaged(error)) throw asPublishError(error, file);
  }
  for (const each of [file, `${file}-journal`]) rmSync(each, { force: true });
  return openWritable(file, 'damaged');
}

/**
 * Opens it for reading; an empty one in memory if there is none, or a damaged one.
 *
 * @throws PublishError `store-busy`, `output-foreign`, `output-failed`
 */
export function openIndexReadOnly(file: string): PublisherIndex {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0) return inMemory('missing');
  try {
    const database = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
    return opened(database, file, () => database.exec('PRAGMA temp_store = FILE'));
  } catch (error) {
    if (!saysDamaged(error)) throw asPublishError(error, file);
  }
  return inMemory('damaged');
}

function inMemory(lost: LostIndex): PublisherIndex {
  const database = new DatabaseSync(':memory:');
  database.exec(SCHEMA);
  database.exec(PLAN_SCHEMA);
  return new PublisherIndex(database, lost);
}

function openWritable(file: string, lost?: LostIndex): PublisherIndex {
  const database = openLocked(file);
  if (database === undefined) throw busy();
  const prepare = () => {
    database.exec(SETTINGS);
    if (isBlank(database)) inTransaction(database, () => database.exec(SCHEMA));
  };
  return opened(database, file, prepare, lost);
}

function opened(database: DatabaseSync, file: string, prepare: () => void, lost?: LostIndex): PublisherIndex {
  try {
    prepare();
    check(database, file);
    database.exec(PLAN_SCHEMA);
    return new PublisherIndex(database, lost);
  } catch (error) {
    database.close();
    throw error;
  }
}

function isBlank(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
}

function check(database: DatabaseSync, file: string): void {
  const isOurs = headerNumber(database, 'application_id') === APPLICATION_ID;
  if (isOurs && headerNumber(database, 'user_version') === SCHEMA_VERSION) return;
  const maker = isOurs ? 'another version of wispr' : 'another program';
  throw new PublishError('output-foreign', `${file} was made by ${maker}, and was not touched`, { fields: { file } });
}

function busy(): PublishError {
  return new PublishError('store-busy', 'another wispr is at work on this site');
}

/** SQLite's errors in our words; others pass. */
export function asPublishError(error: unknown, file: string): unknown {
  if (error instanceof PublishError) return error;
  if (saysBusy(error)) return busy();
  const isUnwritable = isSqliteError(error) || (error instanceof Error && 'syscall' in error);
  if (!isUnwritable) return error;
  return new PublishError('output-failed', `cannot write ${file}: ${databaseReason(error, file)}`, {
    cause: error,
    fields: { file },
  });
}
