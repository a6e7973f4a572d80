/** Whether something could not be written because the disk is full: what the system says of that, and SQLite, is not for people. */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { isSqliteError } from './sqlite.ts';
import { systemCode } from './system-error.ts';

/** Result codes, https://sqlite.org/rescode.html: SQLITE_FULL; SQLITE_IOERR and SQLITE_CANTOPEN, of which a full disk is one reason. */
const FULL = 13;
const VAGUE = [10, 14];
const SYSTEM = ['ENOSPC', 'EDQUOT'];
/** SQLite makes a file of 32 KiB beside a database that is opened. */
const LEAST_ROOM = 65_536;

/** @param file - that was to be written or made: where the error does not say it, its disk is asked */
export function isDiskFull(error: unknown, file?: string | null): boolean {
  if (!isSqliteError(error)) return SYSTEM.includes(systemCode(error) ?? '');
  const result = Number(error.errcode) & 0xff;
  return result === FULL || (VAGUE.includes(result) && typeof file === 'string' && hasNoRoom(dirname(file)));
}

function hasNoRoom(directory: string): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(directory);
    return bavail * bsize < LEAST_ROOM || (files > 0 && ffree === 0);
  } catch {
    return false; // unknown
  }
}
