/** A lock on an empty file, as the system keeps it: until the process ends, however that comes. Node.js has none; SQLite takes one. */
import { closeSync, existsSync, lstatSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { isSqliteError } from '../../node-support/sqlite.ts';
import { LIMITS } from '../limits.ts';
import { unwritable } from '../store/database.ts';

/** Others can look at the file, and have no such lock. Nothing is written: the file stays as it is, and SQLite makes none of its own. */
const LOCK = 'PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE';
/** Result code, https://sqlite.org/rescode.html: SQLITE_BUSY. */
const BUSY = 5;

/** What such a file is, in words. */
export const MARK = 'the file that says that a Reader runs';

export class FileLock {
  readonly #database: DatabaseSync;

  private constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Makes a file, and locks it.
   *
   * @returns `undefined` where somebody removed it before it was locked; afterwards those only do who have the lock
   * @throws ReaderError `store-unusable`, `disk-full`
   */
  static take(path: string): FileLock | undefined {
    try {
      closeSync(openSync(path, 'wx', 0o600));
      const database = lockMade(path);
      return database && new FileLock(database);
    } catch (error) {
      rmSync(path, { force: true });
      throw unwritable(error, path, MARK);
    }
  }

  close(): void {
    this.#database.close();
  }
}

/** Of the process that locked a file. `unknown`: nobody can say, so it may run. */
export type LockState = 'running' | 'ended' | 'unknown';

/** @param onEnded - called with the lock, where nobody had it */
export function lockState(path: string, onEnded: () => void): LockState {
  let database: DatabaseSync | undefined;
  try {
    database = lockExisting(path);
    onEnded();
    return 'ended';
  } catch (error) {
    if (isMissing(path)) return 'ended';
    return isSqliteError(error) && (error.errcode & 0xff) === BUSY ? 'running' : 'unknown';
  } finally {
    database?.close();
  }
}

function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** @returns `undefined` where the file is gone, whether that showed before the lock was there or after */
function lockMade(path: string): DatabaseSync | undefined {
  let database: DatabaseSync;
  try {
    database = lockExisting(path);
  } catch (error) {
    if (isMissing(path)) return undefined;
    throw error;
  }
  if (existsSync(path)) return database;
  database.close();
  return undefined;
}

/** One that went meanwhile is not made anew. */
function lockExisting(path: string): DatabaseSync {
  const existing = new URL(`${pathToFileURL(path)}?mode=rw`);
  const database = new DatabaseSync(existing, { timeout: LIMITS.announcementWait });
  try {
    database.exec(LOCK);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
