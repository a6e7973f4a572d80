/** Where the key of a database is, for those who do not need it. */
import { isSqliteError } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { openDatabase } from './database.ts';
import { readKeyFile, wrongKeyFile } from './key-file.ts';
import { hasDatabase } from './locations.ts';
import { type KeyPlace, openWith, type Protection, readProtection } from './protection.ts';

export type KeyPlaceKind = KeyPlace['kind'];

/** `undefined` where all was forgotten. @throws ReaderError of the store */
export function keysIn(directory: string): KeyPlace | undefined {
  return protectionOf(directory)?.place;
}

function protectionOf(directory: string): Protection | undefined {
  const { database } = openDatabase(directory);
  try {
    return readProtection(database);
  } finally {
    database.close();
  }
}

/**
 * What is wrong with the key file of a database: it is not there, others may read it, or it is another one's. `undefined` where nothing is, or where
 * the key is elsewhere: looking into the keyring, or making a key out of a passphrase, is for those who need it.
 *
 * @throws ReaderError of the store
 */
export async function keyFileProblem(directory: string, keyFile: string): Promise<ReaderError | undefined> {
  const protection = protectionOf(directory);
  if (protection?.place.kind !== 'key-file') return undefined;
  try {
    const sealing = await openWith(readKeyFile(keyFile), protection);
    return sealing === undefined ? wrongKeyFile(keyFile) : undefined;
  } catch (error) {
    if (error instanceof ReaderError) return error;
    throw error;
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
