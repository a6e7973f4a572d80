/** A disk without room for what SQLite writes below a folder, as it is on one that is really full: reading goes on, and every transaction that writes fails. */
import { DatabaseSync } from 'node:sqlite';
import { vi } from 'vitest';

export interface FullDisk {
  /** Counts the transactions that were refused. */
  readonly refusals: () => number;
  /** Makes room for so many transactions, and no more. */
  letThrough(transactions: number): void;
  makeRoom(): void;
}

/** @param refuse - makes what SQLite throws; left out, it says that the disk is full */
export function fillDisk(directory: string, refuse = fullError): FullDisk {
  let refusals = 0;
  let room = 0;
  const lies = (database: DatabaseSync) => database.location()?.startsWith(directory) === true;
  const exec = DatabaseSync.prototype.exec;
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql: string) {
    if (sql === 'COMMIT' && lies(this) && room-- <= 0) {
      refusals++;
      exec.call(this, 'ROLLBACK'); // SQLite does so itself
      throw refuse();
    }
    exec.call(this, sql);
  });
  const letThrough = (transactions: number) => {
    room = transactions;
  };
  return { refusals: () => refusals, letThrough, makeRoom: () => spy.mockRestore() };
}

/** Makes the error that `node:sqlite` throws where a file system has no room. */
function fullError(): Error {
  return Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
}
