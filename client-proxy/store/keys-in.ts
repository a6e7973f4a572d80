/** Where the key of a database is, for those who do not need it. */
import { isSqliteError } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { openDatabase } from './database.ts';
import { hasDatabase } from './locations.ts';
import { type KeyPlace, readProtection } from './protection.ts';

export type KeyPlaceKind = KeyPlace['kind'];

/** `undefined` where all was forgotten. @throws ReaderError of the store */
export function keysIn(directory: string): KeyPlace | undefined {
  const { database } = openDatabase(directory);
  try {
    return readProtection(database)?.place;
  } finally {
    database.close();
  }
}

/** `undefined` also where there is no database, which is not made for it, or none that says it. */
export function keyPlaceOf(directory: string): KeyPlaceKind | undefined {
  if (!hasDatabase(directory)) return undefined;
  try {
    return keysIn(directory)?.kind;
  } catch (error) {
    if (error instanceof ReaderError || isSqliteError(error)) return undefined;
    throw error;
  }
}
