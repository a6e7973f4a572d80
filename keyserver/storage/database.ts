/** Opens the key server's SQLite database. Nothing is written before every check has passed. */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { headerNumber, inTransaction, isSqliteError, saysDamaged } from '../../node-support/sqlite.ts';
import { KeyServerError } from '../errors.ts';
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.ts';

/** Milliseconds to wait for another process (`wispr invite` beside the running server) to end its transaction. */
const BUSY_TIMEOUT = 10_000;

/** FULL: what was promised, a device bound or a code used up, survives a power cut. */
const SETTINGS =
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF';

export type Database = DatabaseSync;

/** Whether a database with anything in it stands at `path`. */
export function databaseExists(path: string): boolean {
  return existsSync(path) && statSync(path).size > 0;
}

/**
 * Checks an existing database through a connection that cannot write.
 *
 * @param check - further checks; whatever it throws ends the start
 * @throws KeyServerError `store-unusable`
 */
export async function inspectDatabase(path: string, check: (database: Database) => Promise<void>): Promise<void> {
  const database = connect(path, true);
  try {
    checkIntegrity(database, path);
    await check(database);
  } catch (error) {
    throw asDatabaseError(error, path);
  } finally {
    database.close();
  }
}

/**
 * Opens the database for work; a new one gets its schema.
 *
 * @param fill - puts in what a new database holds from the beginning, in the same transaction
 * @throws KeyServerError `store-unusable`
 */
export function openDatabase(path: string, fill: (database: Database) => void): Database {
  const database = connect(path, false);
  try {
    database.exec(SETTINGS);
    if (versionOf(database) === 0) inTransaction(database, () => create(database, fill));
    return database;
  } catch (error) {
    database.close();
    throw asDatabaseError(error, path);
  }
}

/** The first row of a query, or `undefined`. `Row` is what the SQL says; STRICT tables hold it to that. */
export function first<Row>(database: Database, sql: string, ...values: SQLInputValue[]): Row | undefined {
  return database.prepare(sql).get(...values) as Row | undefined;
}

/** All rows of a query. */
export function all<Row>(database: Database, sql: string, ...values: SQLInputValue[]): Row[] {
  return database.prepare(sql).all(...values) as Row[];
}

/** Changes rows; returns how many, and the id of the row that an INSERT made. */
export function run(database: Database, sql: string, ...values: SQLInputValue[]): { changes: number; id: number } {
  const { changes, lastInsertRowid } = database.prepare(sql).run(...values);
  return { changes: Number(changes), id: Number(lastInsertRowid) };
}

function connect(path: string, readOnly: boolean): Database {
  try {
    return new DatabaseSync(path, { timeout: BUSY_TIMEOUT, readOnly, enableForeignKeyConstraints: true });
  } catch (error) {
    throw asDatabaseError(error, path);
  }
}

function checkIntegrity(database: Database, path: string): void {
  const problems = all<{ quick_check: string }>(database, 'PRAGMA quick_check');
  if (problems[0]?.quick_check !== 'ok') throw damaged(path, problems[0]?.quick_check);
  if (isBlank(database)) return;
  if (headerNumber(database, 'application_id') !== APPLICATION_ID) {
    throw new KeyServerError('store-unusable', `${path} is a database of another program`);
  }
  const version = versionOf(database);
  if (version !== SCHEMA_VERSION) {
    throw new KeyServerError(
      'store-unusable',
      `the database ${path} has schema version ${version}; this program knows version ${SCHEMA_VERSION}`,
    );
  }
}

/** Whether nothing was ever stored: a first start was cut short. */
export function isBlank(database: Database): boolean {
  return first(database, 'SELECT 1 FROM sqlite_schema') === undefined;
}

function create(database: Database, fill: (database: Database) => void): void {
  if (versionOf(database) > 0) return; // another process may have been here first
  database.exec(SCHEMA);
  fill(database);
  database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; PRAGMA application_id = ${APPLICATION_ID}`);
}

function versionOf(database: Database): number {
  return headerNumber(database, 'user_version');
}

/** Turns SQLite's errors into ours; others pass. */
export function asDatabaseError(error: unknown, path: string): unknown {
  if (!isSqliteError(error)) return error;
  if (saysDamaged(error)) return damaged(path, error.message, error);
  return new KeyServerError('store-unusable', `the database ${path} cannot be used: ${error.message}`, {
    cause: error,
  });
}

function damaged(path: string, what = 'no reason given', cause?: Error): KeyServerError {
  return new KeyServerError('store-unusable', `the database ${path} is damaged: ${what}`, { cause });
}
