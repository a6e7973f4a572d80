/** Helpers for every SQLite database. */
import type { DatabaseSync } from 'node:sqlite';

/** Result codes, https://sqlite.org/rescode.html: SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED = [11, 26];
/** SQLITE_BUSY */
const BUSY = 5;

/** Runs `work` as one transaction, whole or not at all. `work` must not wait for anything. */
export function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite ends the transaction itself on some errors, a full disk for one.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Whether an error is SQLite's. */
export function isSqliteError(error: unknown): error is Error & { errcode: number } {
  return error instanceof Error && 'errcode' in error;
}

/** Whether SQLite says that another program has a database to itself, and went on for longer than was waited. */
export function saysBusy(error: unknown): boolean {
  return isSqliteError(error) && (Number(error.errcode) & 0xff) === BUSY;
}

/** Whether SQLite says that a file is damaged, or no database at all. */
export function saysDamaged(error: unknown): boolean {
  return isSqliteError(error) && DAMAGED.includes(Number(error.errcode) & 0xff); // without the extended part of the code
}

/** One of the two numbers that SQLite keeps for a program in a database's header. */
export function headerNumber(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
