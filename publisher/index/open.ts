/** Opens `publisher.index`. Losing it costs time and nothing else: so a damaged one is put aside, and everything is written again. */
import { existsSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createFile } from '../../node-support/files/write-file.ts';
import { headerNumber, inTransaction, isSqliteError, saysDamaged } from '../../node-support/sqlite.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { PublisherIndex } from './publisher-index.ts';
import { APPLICATION_ID, LATER_COLUMNS, PLAN_SCHEMA, SCHEMA, SCHEMA_VERSION } from './schema.ts';

/**
 * NORMAL and a rollback journal: what is killed is whole; what a power cut damages is made anew. OFF could leave damage that SQLite does not
 * see, and a write-ahead log would leave files beside the index for those who only read it.
 */
const SETTINGS =
  'PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA temp_store = FILE; PRAGMA cache_size = -16000';

/** Why an index knows nothing of earlier runs. Before the first run it is missing as well. */
export type LostIndex = 'missing' | 'damaged';

/** An opened index, and whether it is a new one. */
export interface OpenedIndex {
  readonly index: PublisherIndex;
  readonly lost: LostIndex | undefined;
}

/**
 * Opens the index of a workspace, or makes one.
 *
 * @param readOnly - nothing is made or changed; where there is none, or a damaged one, an empty one is in memory
 * @throws PublishError `index-newer`, `index-foreign`, `output-failed`
 */
export function openIndex(file: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): OpenedIndex {
  try {
    const existing = existsSync(file) && statSync(file).size > 0;
    const lost = existing ? undefined : 'missing';
    return { index: readOnly && lost ? inMemory() : openFile(file, readOnly), lost };
  } catch (error) {
    if (!saysDamaged(error)) throw asPublishError(error, file);
  }
  if (readOnly) return { index: inMemory(), lost: 'damaged' };
  removeIndex(file);
  return { index: openFile(file, false), lost: 'damaged' };
}

function removeIndex(file: string): void {
  for (const each of [file, `${file}-journal`]) rmSync(each, { force: true });
}

function inMemory(): PublisherIndex {
  const database = new DatabaseSync(':memory:');
  database.exec(SCHEMA);
  database.exec(PLAN_SCHEMA);
  return new PublisherIndex(database);
}

function openFile(file: string, readOnly: boolean): PublisherIndex {
  if (!readOnly) createFile(file, '', 0o600); // SQLite itself would let everybody read it
  const database = new DatabaseSync(file, { timeout: 1000, readOnly });
  try {
    database.exec(readOnly ? 'PRAGMA temp_store = FILE' : SETTINGS);
    if (isBlank(database)) inTransaction(database, () => database.exec(SCHEMA));
    else check(database, file);
    if (!readOnly) addColumns(database);
    database.exec(PLAN_SCHEMA);
    return new PublisherIndex(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

function addColumns(database: DatabaseSync): void {
  const columns = database.prepare("SELECT name FROM pragma_table_info('document')").all();
  for (const [name, statement] of Object.entries(LATER_COLUMNS))
    if (!columns.some((column) => column.name === name)) database.exec(statement);
}

function isBlank(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined;
}

/** Whether it is ours, and whole: what cannot be trusted is not worth the time it saves. */
function check(database: DatabaseSync, file: string): void {
  if (headerNumber(database, 'application_id') !== APPLICATION_ID) {
    throw new PublishError('index-foreign', `${file} is a database of another program, and was not touched`, {
      hint: 'move it away',
    });
  }
  const version = headerNumber(database, 'user_version');
  if (version !== SCHEMA_VERSION) {
    throw new PublishError(
      'index-newer',
      `${file} has version ${version}; this program knows version ${SCHEMA_VERSION}`,
      { hint: 'use the newer wispr again, or remove the file: every document is written anew then' },
    );
  }
}

/** SQLite's errors in our words; others pass. */
export function asPublishError(error: unknown, file: string): unknown {
  if (error instanceof PublishError) return error;
  const unwritable = isSqliteError(error) || (error instanceof Error && 'syscall' in error);
  if (!unwritable) return error;
  return new PublishError('output-failed', `cannot write ${file}: ${systemReason(error)}`, { cause: error });
}
