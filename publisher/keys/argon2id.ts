/** Argon2id (RFC 9106) over a passphrase, with parameters that are bounded wherever they come from a file. */
import { argon2 } from 'node:crypto';
import { promisify } from 'node:util';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { hasMembers, isJsonObject, type Json } from '../../core/encoding/canonical-json.ts';
import { PublishError } from '../errors.ts';

const derive = promisify(argon2);

/** Argon2id's parameters as they stand in a key store. */
export interface Argon2idParameters {
  /** KiB. */
  readonly memory: number;
  /** Lanes, *p*. */
  readonly parallelism: number;
  /** Passes, *t*. */
  readonly passes: number;
  /** base64url of 16 random bytes. */
  readonly salt: string;
}

export const ARGON2ID_SALT_LENGTH = 16;

/** RFC 9106 section 4, second recommended option: 64 MiB, t = 3, p = 4. */
const RECOMMENDED = { memory: 65_536, parallelism: 4, passes: 3 } as const;

/** More than anybody asks for, and little enough that a planted file cannot stall or exhaust the machine. */
const BOUNDS = { memory: [8192, 1_048_576], parallelism: [1, 16], passes: [1, 16] } as const;

/** The recommended parameters, with this salt. */
export function recommendedParameters(salt: Uint8Array): Argon2idParameters {
  return { ...RECOMMENDED, salt: toBase64url(salt) };
}

/**
 * Checks parameters that come from a file, before anything is computed with them.
 *
 * @throws PublishError `key-store-parameters`
 */
export function checkParameters(value: Json | undefined): Argon2idParameters {
  const members = ['memory', 'parallelism', 'passes', 'salt'];
  const good =
    isJsonObject(value) &&
    hasMembers(value, members) &&
    fromBase64url(value.salt, ARGON2ID_SALT_LENGTH) !== undefined &&
    isWithin(value.memory, BOUNDS.memory) &&
    isWithin(value.parallelism, BOUNDS.parallelism) &&
    isWithin(value.passes, BOUNDS.passes);
  if (good) return value as unknown as Argon2idParameters;
  throw new PublishError('key-store-parameters', 'the key store asks for a password hash that wispr never makes', {
    hint: 'it was altered: restore publisher.keys from your backup',
  });
}

/** 32 bytes from a passphrase. Takes about half a second, off the main thread. */
export function argon2id(
  passphrase: string,
  { memory, parallelism, passes, salt }: Argon2idParameters,
): Promise<Buffer> {
  return derive('argon2id', {
    // One spelling: keyboards differ in how they compose accented letters.
    message: passphrase.normalize('NFC'),
    nonce: fromBase64url(salt) as Uint8Array,
    parallelism,
    tagLength: 32,
    memory,
    passes,
  });
}

function isWithin(value: Json | undefined, [least, most]: readonly [number, number]): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}
