/** Refusals of the store, each in one place. */
import { reasonOf } from '../../core/errors.ts';
import { databaseReason, saysBusy, saysDamaged } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';

/** Reports that the database says what this program did not write. */
export function damaged(what: string, why: string, cause?: unknown): ReaderError {
  return new ReaderError('store-damaged', `the reader's database is damaged: ${what}: ${why}`, { cause });
}

/** Makes the error of a database that is open and takes no change. Nothing was changed. @param file - of the database */
export function unwritable(error: unknown, file?: string | null): ReaderError {
  const what = `the reader's database cannot be written: ${file ?? 'reader.db'}`;
  if (saysDamaged(error)) return damaged(file ?? 'reader.db', reasonOf(error), error);
  return new ReaderError('store-unwritable', `${what}: ${databaseReason(error, file ?? '')}`, {
    cause: error,
    fields: { ...(file && { file }) },
  });
}

/** Makes the error of a database that cannot be opened. @param file - of the database */
export function unusable(error: unknown, file: string): Error {
  if (error instanceof ReaderError) return error;
  if (saysDamaged(error)) return damaged(file, reasonOf(error), error);
  const what = `the reader's database cannot be opened: ${file}`;
  if (saysBusy(error)) return inUse(file, error);
  return new ReaderError('store-unusable', `${what}: ${databaseReason(error, file)}`, {
    cause: error,
    fields: { file },
  });
}

export function inUse(file: string, cause?: unknown): ReaderError {
  return new ReaderError('store-busy', `another wispr command has the database: ${file}`, { cause, fields: { file } });
}

export function readerLocked(): ReaderError {
  return new ReaderError('reader-locked', 'the Reader is locked');
}

/** A site that is connected already, to another publisher or through another key server. */
export function siteTaken(site: string): ReaderError {
  return new ReaderError('site-taken', `${site} is already connected to another publisher or key server`);
}
