/**
 * The key under which the secrets of the database are sealed: in a file of its own, or derived from a passphrase where the reader chose
 * one when the database was made.
 */

import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  parseCanonicalJson,
} from '../../core/encoding/canonical-json.ts';
import { reasonOf } from '../../core/errors.ts';
import {
  ARGON2ID_SALT_LENGTH,
  type Argon2idParameters,
  areArgon2idParameters,
  keyFromPassphrase,
  recommendedParameters,
} from '../../node-support/argon2id.ts';
import { createFile } from '../../node-support/create-file.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { damaged } from './database.ts';
import { Sealing } from './sealing.ts';

const KEY_LENGTH = 32;
const CHECK = utf8('wispr/1 reader store');
const CHECK_PLACE = ['storage', 'check'] as const;

/** Gets a passphrase from the reader; `isNew` when it is being chosen. */
export type Passphrase = (isNew: boolean) => Promise<string>;

export interface StorageKeyOptions {
  readonly keyFile: string;
  /** Given by the reader: a fresh database is protected by it. */
  readonly passphrase?: Passphrase | undefined;
  /** Asks the reader, where a database needs a passphrase and none was given. */
  readonly askPassphrase?: Passphrase | undefined;
}

/** What the table `storage` holds. */
interface Protection {
  readonly storeId: Uint8Array;
  /** Without them the storage key is in a file. */
  readonly parameters: Argon2idParameters | undefined;
  readonly check: Uint8Array;
}

/**
 * The sealing of an open database; a fresh one is given its protection.
 *
 * @throws ReaderError `storage-key-missing`, `storage-key-exposed`, `storage-key-wrong`, `passphrase-needed`, `passphrase-wrong`, `passphrase-unexpected`, `store-damaged`
 */
export async function openSealing(database: DatabaseSync, options: StorageKeyOptions): Promise<Sealing> {
  const known = readProtection(database);
  if (known === undefined) return protect(database, options);
  const sealing = await Sealing.create(await storageKeyFor(known, options), known.storeId);
  if ((await sealing.open(known.check, CHECK_PLACE)) !== undefined) return sealing;
  throw known.parameters ? wrongPassphrase() : wrongKeyFile(options.keyFile);
}

async function storageKeyFor({ parameters }: Protection, options: StorageKeyOptions): Promise<Uint8Array> {
  if (parameters === undefined) {
    if (options.passphrase !== undefined) throw unexpectedPassphrase();
    return readKeyFile(options.keyFile);
  }
  const passphrase = options.passphrase ?? options.askPassphrase;
  if (passphrase === undefined) {
    throw new ReaderError('passphrase-needed', "the reader's database is protected by a passphrase", {
      hint: 'give it with --passphrase-file FILE, or start on a terminal',
    });
  }
  return keyFromPassphrase(await passphrase(false), parameters);
}

/** Decides once how this database is protected. Of two processes that begin at the same time one decides, the other follows. */
async function protect(database: DatabaseSync, options: StorageKeyOptions): Promise<Sealing> {
  const { keyFile, passphrase } = options;
  const storeId = randomBytes(16);
  const parameters = passphrase && recommendedParameters(randomBytes(ARGON2ID_SALT_LENGTH));
  const key =
    passphrase && parameters ? await keyFromPassphrase(await passphrase(true), parameters) : makeKeyFile(keyFile);
  const sealing = await Sealing.create(key, storeId);
  const check = await sealing.seal(CHECK, CHECK_PLACE);
  return writeProtection(database, { storeId, parameters, check }) ? sealing : openSealing(database, options);
}

/** Whether it was written: `false` if another process was quicker. */
function writeProtection(database: DatabaseSync, { storeId, parameters, check }: Protection): boolean {
  const protection: JsonObject = parameters ? { ...parameters } : {};
  const insert = database.prepare('INSERT INTO storage (name, value) VALUES (?, ?)');
  return inTransaction(database, () => {
    if (readProtection(database) !== undefined) return false;
    insert.run('id', storeId);
    insert.run('protection', canonicalJson(protection));
    insert.run('check', check);
    return true;
  });
}

function readProtection(database: DatabaseSync): Protection | undefined {
  const rows = database.prepare('SELECT name, value FROM storage').all();
  if (rows.length === 0) return undefined;
  const values = new Map(rows.map(({ name, value }) => [String(name), value]));
  const [storeId, protection, check] = [values.get('id'), values.get('protection'), values.get('check')];
  if (!(storeId instanceof Uint8Array && protection instanceof Uint8Array && check instanceof Uint8Array))
    throw damaged('table storage', 'a row is missing');
  const parsed = parseCanonicalJson(protection);
  if (!isJsonObject(parsed)) throw damaged('table storage', 'its protection is not readable');
  if (Object.keys(parsed).length === 0) return { storeId, check, parameters: undefined };
  if (!areArgon2idParameters(parsed))
    throw damaged('table storage', 'the parameters of the passphrase are out of bounds');
  return { storeId, check, parameters: parsed };
}

function readKeyFile(file: string): Uint8Array {
  let text: string;
  let mode: number;
  try {
    mode = statSync(file).mode;
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ReaderError(
      'storage-key-missing',
      `the key of the reader's database cannot be read: ${reasonOf(error)}`,
      {
        cause: error,
        hint: 'restore this file from a backup; without it the database cannot be opened',
      },
    );
  }
  if ((mode & 0o077) !== 0) {
    const message = `other users of this machine may read the key of the reader's database ${file}`;
    throw new ReaderError('storage-key-exposed', message, { hint: `chmod 600 ${file}` });
  }
  const key = fromBase64url(text.trimEnd(), KEY_LENGTH);
  if (key === undefined) throw wrongKeyFile(file);
  return key;
}

/** Makes the file, or reads the one that is there: several databases of one person share it. */
function makeKeyFile(file: string): Uint8Array {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    createFile(file, `${toBase64url(randomBytes(KEY_LENGTH))}\n`, 0o600);
  } catch (error) {
    const message = `the key of the reader's database cannot be written: ${reasonOf(error)}`;
    throw new ReaderError('store-unusable', message, { cause: error });
  }
  return readKeyFile(file);
}

function wrongPassphrase(): ReaderError {
  return new ReaderError('passphrase-wrong', "this passphrase does not open the reader's database", {
    hint: 'try again; nothing was changed',
  });
}

function unexpectedPassphrase(): ReaderError {
  return new ReaderError('passphrase-unexpected', "the reader's database is not protected by a passphrase", {
    hint: 'leave the passphrase out; it is chosen when the database is first made',
  });
}

function wrongKeyFile(file: string): ReaderError {
  return new ReaderError('storage-key-wrong', `${file} is not the key of the reader's database`, {
    hint: 'restore this file from a backup; nothing was changed',
  });
}
