/** Argon2id (RFC 9106) from node:crypto: keys out of passphrases, and digests of passwords. */
import { argon2, argon2Sync } from 'node:crypto';
import { promisify } from 'node:util';
import { fromBase64url, toBase64url } from '../core/encoding/base64url.ts';
import { utf8 } from '../core/encoding/bytes.ts';
import { hasMembers, isJsonObject, type Json, type JsonObject } from '../core/encoding/canonical-json.ts';

const derive = promisify(argon2);

/** Cost of one computation. */
export interface Argon2idCost {
  /** KiB. */
  readonly memory: number;
  readonly parallelism: number;
  readonly passes: number;
}

/** Cost and salt, as they stand in a file or a database beside what they protect. */
export interface Argon2idParameters extends Argon2idCost {
  /** base64url of 16 random bytes. */
  readonly salt: string;
}

export const ARGON2ID_SALT_LENGTH = 16;
export const ARGON2ID_LENGTH = 32;

/** Characters that a new passphrase has to have: shorter ones are found by trying, whatever one try costs. */
export const LEAST_PASSPHRASE = 8;

/** Tells whether a passphrase may be chosen. Those that were chosen before go on to open what they open. */
export function isLongEnough(passphrase: string): boolean {
  return [...passphrase].length >= LEAST_PASSPHRASE;
}

/** RFC 9106 section 4, second recommended option: 64 MiB, t = 3, p = 4. Well under a second on current machines. */
const RECOMMENDED: Argon2idCost = { memory: 65_536, parallelism: 4, passes: 3 };

/** Bounds: more than any caller asks for, and little enough that a planted file cannot stall or exhaust the machine. */
const BOUNDS = { memory: [8192, 1_048_576], parallelism: [1, 16], passes: [1, 16] } as const;

/** Makes parameters for something new. @param salt - 16 random bytes */
export function newParameters(salt: Uint8Array, cost: Argon2idCost = RECOMMENDED): Argon2idParameters {
  return { ...cost, salt: toBase64url(salt) };
}

/** Tells whether parameters that come from a file or a database may be computed with. */
export function areArgon2idParameters(value: Json | undefined): value is JsonObject & Argon2idParameters {
  return (
    isJsonObject(value) &&
    hasMembers(value, ['memory', 'parallelism', 'passes', 'salt']) &&
    fromBase64url(value.salt, ARGON2ID_SALT_LENGTH) !== undefined &&
    isWithin(value.memory, BOUNDS.memory) &&
    isWithin(value.parallelism, BOUNDS.parallelism) &&
    isWithin(value.passes, BOUNDS.passes)
  );
}

/** Derives 32 bytes from a passphrase. Runs off the main thread. */
export function keyFromPassphrase(passphrase: string, { salt, ...cost }: Argon2idParameters): Promise<Uint8Array> {
  return argon2id(passphrase, cost, fromBase64url(salt, ARGON2ID_SALT_LENGTH) as Uint8Array);
}

/** {@link ARGON2ID_LENGTH} bytes from a secret that a person typed. */
export async function argon2id(typed: string, cost: Argon2idCost, salt: Uint8Array): Promise<Uint8Array> {
  return derive('argon2id', parametersOf(typed, cost, salt));
}

/** The same on the calling thread. */
export function argon2idNow(typed: string, cost: Argon2idCost, salt: Uint8Array): Uint8Array {
  return argon2Sync('argon2id', parametersOf(typed, cost, salt));
}

function parametersOf(typed: string, cost: Argon2idCost, salt: Uint8Array) {
  // Letters with accents get one spelling: keyboards differ in how they compose them.
  return { message: utf8(typed.normalize('NFC')), nonce: salt, tagLength: ARGON2ID_LENGTH, ...cost };
}

function isWithin(value: Json | undefined, [least, most]: readonly [number, number]): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}
