/** A full disk has one code in every program: what the system and SQLite say of it is not for people. */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { CodedError, type CodedErrorOptions, type ErrorCatalogue, errorClass } from '../core/errors.ts';
import { isSqliteError } from './sqlite.ts';
import { systemCode, systemReason } from './system-error.ts';

/** Result codes, https://sqlite.org/rescode.html: SQLITE_FULL; SQLITE_IOERR and SQLITE_CANTOPEN, of which a full disk is one reason. */
const FULL = 13;
const VAGUE = [10, 14];
/** Codes of the system; of PostgreSQL, SQLSTATE; our own. */
const CODES = ['ENOSPC', 'EDQUOT', '53100', 'disk-full'];
/** SQLite makes a file of 32 KiB beside a database that is opened. */
const LEAST_ROOM = 65_536;

/** The one code that every program that writes files has besides its own. */
export const DISK_FULL = {
  'disk-full': {
    means: 'the disk of a database, a key file or the output is full; what was there before is whole',
    remedy: 'make room on the named disk, then run the same command again',
  },
} as const satisfies ErrorCatalogue;

export type DiskFullCode = keyof typeof DISK_FULL;

/** The class for a program that writes files: whatever it was about to do, an error that a full disk has caused has the code `disk-full`. */
export function fileErrorClass<Catalogue extends ErrorCatalogue>(catalogue: Catalogue) {
  return class extends errorClass({ ...catalogue, ...DISK_FULL }) {
    /** @param options - its field `file` is what was to be written, for causes that do not say why it could not be */
    constructor(code: (keyof Catalogue & string) | DiskFullCode, message: string, options: CodedErrorOptions = {}) {
      const { cause, fields = {} } = options;
      if (!isDiskFull(cause, fields.file)) super(code, message, options);
      else
        super('disk-full', cause instanceof CodedError ? message : `the disk is full: ${message}`, { cause, fields });
    }
  };
}

class DiskFull extends fileErrorClass({}) {}

/** Gives an error the code where a full disk has caused it, and no program has said so; any other is left as it is. */
export function orDiskFull(error: unknown): unknown {
  if (!(error instanceof Error) || systemCode(error) === 'disk-full' || !isDiskFull(error)) return error;
  // The constructor puts this before the system's words only, for an error of ours may say it already.
  const what = 'path' in error ? `cannot write ${error.path}: ` : '';
  const message = error instanceof CodedError ? `the disk is full: ${error.message}` : what + systemReason(error);
  return new DiskFull('disk-full', message, { cause: error });
}

/** @param file - that was to be written or made: where the error does not say it, its disk is asked */
export function isDiskFull(error: unknown, file?: unknown): boolean {
  if (error instanceof Error && isDiskFull(error.cause, file)) return true;
  if (!isSqliteError(error)) return CODES.includes(systemCode(error) ?? '') && !isOfWatching(error);
  const result = Number(error.errcode) & 0xff;
  return result === FULL || (VAGUE.includes(result) && typeof file === 'string' && hasNoRoom(dirname(file)));
}

/** inotify has a limit of its own, and says ENOSPC too. */
function isOfWatching(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'watch';
}

function hasNoRoom(directory: string): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(directory);
    return bavail * bsize < LEAST_ROOM || (files > 0 && ffree === 0);
  } catch {
    return false; // is unknown
  }
}
