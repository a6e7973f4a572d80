/** The key that seals the secrets of the database: in the keyring, from a passphrase, or in a file of its own. */
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { reasonOf } from '../../core/errors.ts';
import {
  ARGON2ID_SALT_LENGTH,
  isLongEnough,
  keyFromPassphrase,
  LEAST_PASSPHRASE,
  newParameters,
} from '../../node-support/argon2id.ts';
import { createFile } from '../../node-support/files/write-file.ts';
import { makeDirectoryNow } from '../../node-support/make-directory.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { type Limits, limitsOf } from '../limits.ts';
import { unwritable } from './errors.ts';
import { deleteFromKeyring, KeyringUnavailable, readKeyring, whyNoKeyring, writeKeyring } from './keyring.ts';
import {
  type KeyLocation,
  newProtection,
  openWith,
  type Protection,
  readProtection,
  STORAGE_KEY_LENGTH,
  writeProtection,
} from './protection.ts';
import type { Sealing } from './sealing.ts';
import type { StorageKeyOptions } from './types.ts';

export interface UnlockedStorage {
  readonly sealing: Sealing;
  readonly protection: Protection;
  /** Tells whether it was made just now, which decided where its key is. */
  readonly fresh: boolean;
}

export interface NewKey {
  readonly key: Uint8Array;
  readonly place: KeyLocation;
}

/** Opens the sealing; a fresh database is given its protection. @throws ReaderError of the key, `store-damaged` */
export async function openSealing(database: DatabaseSync, options: StorageKeyOptions): Promise<UnlockedStorage> {
  const protection = readProtection(database);
  if (protection === undefined) return protect(database, options);
  const sealing = await openWith(await storageKeyFor(protection.place, options), protection);
  if (sealing !== undefined) return { sealing, protection, fresh: false };
  throw wrongKey(protection.place, options.keyFile);
}

async function storageKeyFor(place: KeyLocation, options: StorageKeyOptions): Promise<Uint8Array> {
  if (place.kind !== 'passphrase' && options.passphrase !== undefined) throw unexpectedPassphrase();
  if (place.kind === 'key-file') return readKeyFile(options.keyFile);
  if (place.kind === 'keyring') return fromKeyring(place.entry, limitsOf(options));
  const passphrase = options.passphrase ?? options.askPassphrase;
  if (passphrase === undefined) {
    throw new ReaderError('passphrase-needed', "the reader's database is protected by a passphrase");
  }
  return keyFromPassphrase(await passphrase(false), place.parameters);
}

async function fromKeyring(entry: string, { keyringTimeout }: Limits): Promise<Uint8Array> {
  try {
    const key = fromBase64url(await readKeyring(entry, keyringTimeout), STORAGE_KEY_LENGTH);
    if (key !== undefined) return key;
  } catch (error) {
    throw keyringUnavailable(error);
  }
  throw refused(`the system's keyring has no entry "${entry}" of wispr`);
}

/** The error for a keyring that is needed and cannot be asked. */
function keyringUnavailable(error: unknown): Error {
  if (!(error instanceof KeyringUnavailable)) return error as Error;
  return new ReaderError('keyring-unavailable', `the keyring cannot be used: ${error.message}`, { cause: error });
}

async function protect(database: DatabaseSync, options: StorageKeyOptions): Promise<UnlockedStorage> {
  const { key, place } = await chooseKey(options);
  const { sealing, protection } = await newProtection(key, place);
  try {
    inTransaction(database, () => writeProtection(database, protection));
  } catch (error) {
    await discardKey(place, limitsOf(options));
    throw unwritable(error, database.location());
  }
  return { sealing, protection, fresh: true };
}

/** A passphrase where one is given; else the keyring where there is one; else what the reader answers, if there is a terminal to ask on. */
async function chooseKey(options: StorageKeyOptions): Promise<NewKey> {
  if (options.passphrase !== undefined) return newPassphraseKey(await options.passphrase(true));
  if (options.keyring && whyNoKeyring() === undefined) {
    try {
      return await newKeyringKey(limitsOf(options).keyringProbeTimeout);
    } catch (error) {
      if (!(error instanceof ReaderError)) throw error;
    }
  }
  const asked = options.keyring ? await options.askPassphrase?.(true) : undefined;
  return asked ? newPassphraseKey(asked) : newKeyFileKey(options.keyFile);
}

/** A key out of a passphrase, with a salt of its own. @throws ReaderError `passphrase-too-short` */
export async function newPassphraseKey(passphrase: string): Promise<NewKey> {
  if (!isLongEnough(passphrase))
    throw new ReaderError('passphrase-too-short', `the passphrase has fewer than ${LEAST_PASSPHRASE} characters`, {
      typed: true,
    });
  const parameters = newParameters(randomBytes(ARGON2ID_SALT_LENGTH));
  return { key: await keyFromPassphrase(passphrase, parameters), place: { kind: 'passphrase', parameters } };
}

/** A random key in a new entry of the keyring. @throws ReaderError `keyring-unavailable` */
export async function newKeyringKey(timeout: number): Promise<NewKey> {
  const key = randomBytes(STORAGE_KEY_LENGTH);
  const entry = `reader ${toBase64url(randomBytes(16))}`;
  try {
    await writeKeyring(entry, toBase64url(key), timeout);
  } catch (error) {
    throw keyringUnavailable(error);
  }
  return { key, place: { kind: 'keyring', entry } };
}

/** The key in the file, which is made if it is not there. */
export function newKeyFileKey(file: string): NewKey {
  return { key: makeKeyFile(file), place: { kind: 'key-file' } };
}

/** Removes a key that no database needs any more, where it belongs to one database alone; whether it could. */
export async function discardKey(place: KeyLocation, { keyringTimeout }: Limits): Promise<boolean> {
  if (place.kind !== 'keyring') return true;
  try {
    await deleteFromKeyring(place.entry, keyringTimeout);
    return true;
  } catch (error) {
    if (error instanceof KeyringUnavailable) return false;
    throw error;
  }
}

/** @throws ReaderError `storage-key-refused` */
function readKeyFile(file: string): Uint8Array {
  let text: string;
  let mode: number;
  try {
    mode = statSync(file).mode;
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw refused(`the key of the reader's database cannot be read: ${describeUnreadable(file, error)}`, error);
  }
  if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
    const message = `other users of this machine may read the key of the reader's database ${file}`;
    throw new ReaderError('storage-key-refused', message, { fields: { file } });
  }
  const key = fromBase64url(text.trimEnd(), STORAGE_KEY_LENGTH);
  if (key === undefined) throw refused(`${file} holds no key, so it is not that of the reader's database`);
  return key;
}

/** Makes the file, or reads the one that is there: several databases of one person share it. */
function makeKeyFile(file: string): Uint8Array {
  try {
    makeDirectoryNow(dirname(file), 0o700);
    createFile(file, `${toBase64url(randomBytes(STORAGE_KEY_LENGTH))}\n`, 0o600);
  } catch (error) {
    const what = `the key of the reader's database cannot be written: ${file}`;
    throw new ReaderError('store-unusable', `${what}: ${reasonOf(error)}`, { cause: error });
  }
  return readKeyFile(file);
}

function wrongKey(place: KeyLocation, keyFile: string): ReaderError {
  if (place.kind === 'key-file') return refused(`${keyFile} is not the key of the reader's database`);
  if (place.kind === 'keyring') return refused(`the entry "${place.entry}" of the keyring is not the right key`);
  return new ReaderError('passphrase-wrong', "this passphrase does not open the reader's database");
}

function refused(message: string, cause?: unknown): ReaderError {
  return new ReaderError('storage-key-refused', message, { cause });
}

export function unexpectedPassphrase(): ReaderError {
  return new ReaderError('passphrase-unexpected', "the reader's database is not protected by a passphrase");
}
