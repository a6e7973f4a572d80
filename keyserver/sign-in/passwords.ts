/** Password hashing: Argon2id. Stored as `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
import { equalSecrets, randomBytes } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { ARGON2ID_LENGTH, ARGON2ID_SALT_LENGTH, type Argon2idCost } from '../../node-support/argon2id.ts';
import { KeyServerError } from '../errors.ts';
import { type Hashing, isAllowedCost } from '../hashing/hashing.ts';
import { PASSWORD_COST } from './password-cost.ts';

interface StoredPassword extends Argon2idCost {
  readonly salt: Uint8Array;
  readonly hash: Uint8Array;
}

const STORED = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

/** Characters of the shortest password that is accepted. */
export const MINIMUM_PASSWORD_LENGTH = 10;
/** UTF-8 bytes of the longest. */
const MAXIMUM_PASSWORD_BYTES = 1024;

/** Tells whether a new password is within bounds. */
export function isAcceptablePassword(password: string): boolean {
  return [...password].length >= MINIMUM_PASSWORD_LENGTH && !isTooLong(password);
}

function isTooLong(password: string): boolean {
  return utf8(password).length > MAXIMUM_PASSWORD_BYTES;
}

/** Hashes a new password. @param address - in whose turn @throws KeyServerError `busy` */
export async function hashPassword(hashing: Hashing, password: string, address: string): Promise<string> {
  const salt = randomBytes(ARGON2ID_SALT_LENGTH);
  const hash = await hashing.hash(address, { typed: password, cost: PASSWORD_COST, salt });
  return storedForm({ ...PASSWORD_COST, salt, hash });
}

/** Writes a hash as it is stored. */
export function storedForm({ memory, passes, parallelism, salt, hash }: StoredPassword): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`;
}

/**
 * Tells whether `password` is the one that was hashed.
 *
 * @param password - one that is too long is wrong, and is not hashed
 * @param stored - `undefined` where there is no account: costs the same, and is never right
 * @param address - in whose turn
 * @throws KeyServerError `store-unusable` for a stored hash outside the bounds, uncomputed; `busy`
 */
export async function verifyPassword(
  hashing: Hashing,
  stored: string | undefined,
  password: string,
  address: string,
): Promise<boolean> {
  if (isTooLong(password)) return false;
  const { salt, hash, ...cost } = stored === undefined ? noAccount() : parseStored(stored);
  const given = await hashing.hash(address, { typed: password, cost, salt });
  return equalSecrets(given, hash) && stored !== undefined;
}

function parseStored(text: string): StoredPassword {
  const [, memory, passes, parallelism, salt = '', hash = ''] = STORED.exec(text) ?? [];
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  if (!isAllowedCost(cost)) {
    throw new KeyServerError('store-unusable', 'a stored password hash has parameters outside the bounds');
  }
  return { ...cost, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

function noAccount(): StoredPassword {
  return { ...PASSWORD_COST, salt: new Uint8Array(ARGON2ID_SALT_LENGTH), hash: new Uint8Array(ARGON2ID_LENGTH) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}
