/** A lock between processes. Node.js has none for files; SQLite's exclusive lock is released by the kernel when the process dies. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { saysBusy } from '../sqlite.ts';
import { createFile } from './write-file.ts';

/**
 * Opens a database for this connection alone, until it is closed. The file of a plain lock is an empty database; it must not be removed, or two
 * processes can hold locks on two files of one name. While it is held, nothing in this process but SQLite may open and close the file: POSIX
 * (`fcntl`) drops the lock then.
 *
 * @param file - made if there is none, for its owner only
 * @param timeout - milliseconds to wait for another process. Default: none
 * @returns `undefined` if another process holds it
 * @throws the error of SQLite if the file cannot be opened or written, or is no database
 */
export function openLocked(
  file: string,
  { timeout = 0 }: { readonly timeout?: number } = {},
): DatabaseSync | undefined {
  if (!existsSync(file)) createFile(file, '', 0o600);
  using opening = new DisposableStack();
  try {
    const database = opening.use(new DatabaseSync(file, { timeout }));
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
    opening.move();
    return database;
  } catch (error) {
    if (saysBusy(error)) return undefined;
    throw error;
  }
}
