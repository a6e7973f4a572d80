/** Helpers for every SQLite database. */
import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { systemReason } from './system-error.ts';

/** Result codes, https://sqlite.org/rescode.html: SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED = [11, 26];
/** SQLITE_PERM, SQLITE_READONLY and SQLITE_CANTOPEN. */
const DENIED = [3, 8, 14];
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

/** Tells whether an error is SQLite's. */
export function isSqliteError(error: unknown): error is Error & { errcode: number } {
  return error instanceof Error && 'errcode' in error;
}

/** Tells whether SQLite says that another program has a database to itself, and went on for longer than was waited. */
export function saysBusy(error: unknown): boolean {
  return isSqliteError(error) && (Number(error.errcode) & 0xff) === BUSY;
}

/** Tells whether SQLite says that a file is damaged, or no database at all. */
export function saysDamaged(error: unknown): boolean {
  return isSqliteError(error) && DAMAGED.includes(Number(error.errcode) & 0xff); // leaves out the extended part of the code
}

/** Words for why a database cannot be used: SQLite does not say itself that permissions are the reason. */
export function databaseReason(error: unknown, file: string): string {
  if (isSqliteError(error) && DENIED.includes(Number(error.errcode) & 0xff))
    for (const path of [file, dirname(file)])
      try {
        accessSync(path, constants.R_OK | constants.W_OK);
      } catch (refused) {
        return `${systemReason(refused)} (${path})`;
      }
  return systemReason(error);
}

/** Reads one of the two numbers that SQLite keeps for a program in a database's header. */
export function headerNumber(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
