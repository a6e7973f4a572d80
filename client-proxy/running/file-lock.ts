/** A lock on an empty file, as the system keeps it: until the process ends, however that comes. Node.js has none; SQLite takes one. */
import { closeSync, existsSync, lstatSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { reasonOf } from '../../core/errors.ts';
import { isDiskFull } from '../../node-support/disk-full.ts';
import { saysBusy } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { diskFull } from '../store/database.ts';

/** Others can look at the file, and have no such lock. Nothing is written: the file stays as it is, and SQLite makes none of its own. */
const LOCK = 'PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE';

/** For such a file, or what stands beside it. @param path - of the file */
export function unmarked(error: unknown, path: string): ReaderError {
  const what = 'the file that says that a Reader runs cannot be written';
  if (isDiskFull(error, path)) return diskFull(what, error, path);
  return new ReaderError('store-unusable', `${what}: ${reasonOf(error)}`, {
    cause: error,
    hint: 'check the space on the disk and the permissions of the folder',
  });
}

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
      throw unmarked(error, path);
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
    return saysBusy(error) ? 'running' : 'unknown';
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
