/** Argon2id (RFC 9106) for browsers, which have none: in a script of its own, for the few that ask for a password. Holds the page up meanwhile. */
import { argon2id as noble } from '@noble/hashes/argon2.js';

/** @param cost - KiB, lanes, passes. @returns 32 bytes, the same as `node-support/argon2id.ts` makes */
export function argon2id(
  password: Uint8Array,
  salt: Uint8Array,
  { memory, parallelism, passes }: { readonly memory: number; readonly parallelism: number; readonly passes: number },
): Uint8Array {
  return noble(password, salt, { m: memory, p: parallelism, t: passes, dkLen: 32 });
}
