/**
 * The master key file. Text, one key a line, so that keys can be added and old rows still be read:
 *
 *   wispr-master-key/1
 *   1 <base64url of 32 bytes>
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { createFile } from '../../node-support/files/write-file.ts';
import { KeyServerError } from '../errors.ts';

const FIRST_LINE = 'wispr-master-key/1';
const KEY_LENGTH = 32;

/** The master keys by their version; the highest version encrypts, all decrypt. */
export type MasterKeys = ReadonlyMap<number, Uint8Array>;

/** Makes a master key file where there is none. */
export function createMasterKey(path: string): void {
  createFile(path, `${FIRST_LINE}\n1 ${toBase64url(randomBytes(KEY_LENGTH))}\n`, 0o600);
}

/**
 * Reads the master keys.
 *
 * @throws KeyServerError `storage-key-refused`
 */
export function readMasterKeys(path: string): MasterKeys {
  if (!existsSync(path)) {
    throw new KeyServerError(
      'storage-key-refused',
      `the master key is not at ${path}; without it the database cannot be read`,
    );
  }
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new KeyServerError('storage-key-refused', `other users of this machine may read the master key ${path}`);
  }
  const keys = parseMasterKeys(readFileSync(path, 'utf8'));
  if (keys === undefined) throw new KeyServerError('storage-key-refused', `${path} is not a master key file`);
  return keys;
}

function parseMasterKeys(text: string): MasterKeys | undefined {
  const [first, ...lines] = text.trimEnd().split('\n');
  const keys = new Map<number, Uint8Array>();
  for (const line of lines) {
    const [, version = '', encoded = ''] = /^([1-9]\d{0,8}) (\S+)$/.exec(line) ?? [];
    const key = fromBase64url(encoded, KEY_LENGTH);
    if (!key || keys.has(Number(version))) return undefined;
    keys.set(Number(version), key);
  }
  return first === FIRST_LINE && keys.size > 0 ? keys : undefined;
}
