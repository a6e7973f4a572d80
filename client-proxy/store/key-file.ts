/** The storage key in a file of its own, which only its owner may read. */
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { reasonOf } from '../../core/errors.ts';
import { isDiskFull } from '../../node-support/disk-full.ts';
import { createFile } from '../../node-support/files/write-file.ts';
import { makeDirectoryNow } from '../../node-support/make-directory.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { diskFull } from './errors.ts';
import { STORAGE_KEY_LENGTH } from './protection.ts';

/** @throws ReaderError `storage-key-refused` */
export function readKeyFile(file: string): Uint8Array {
  let text: string;
  let mode: number;
  try {
    mode = statSync(file).mode;
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
  if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
    const message = `other users of this machine may read the key of the reader's database ${file}`;
    throw new ReaderError('storage-key-refused', message, { fields: { file } });
  }
  const key = fromBase64url(text.trimEnd(), STORAGE_KEY_LENGTH);
  if (key === undefined) throw noKeyFile(file);
  return key;
}

function unreadable(file: string, cause: unknown): ReaderError {
  const message = `the key of the reader's database cannot be read: ${describeUnreadable(file, cause)}`;
  return new ReaderError('storage-key-refused', message, { cause });
}

/** Makes the file, or reads the one that is there: several databases of one person share it. */
export function makeKeyFile(file: string): Uint8Array {
  try {
    makeDirectoryNow(dirname(file), 0o700);
    createFile(file, `${toBase64url(randomBytes(STORAGE_KEY_LENGTH))}\n`, 0o600);
  } catch (error) {
    const what = `the key of the reader's database cannot be written: ${file}`;
    if (isDiskFull(error)) throw diskFull(what, error);
    throw new ReaderError('store-unusable', `${what}: ${reasonOf(error)}`, { cause: error });
  }
  return readKeyFile(file);
}

export function wrongKeyFile(file: string): ReaderError {
  return new ReaderError('storage-key-refused', `${file} is not the key of the reader's database`);
}

/** Moving the database away is not enough here: the next one would meet this file again. */
function noKeyFile(file: string): ReaderError {
  return new ReaderError('storage-key-refused', `${file} holds no key, so it is not that of the reader's database`);
}
