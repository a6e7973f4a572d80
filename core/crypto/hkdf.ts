import { hmacSha512 } from '#symmetric';

const HASH_LENGTH = 64;

/** HMAC-SHA-512 under a key whose bytes cannot be had: a handle of the platform's, out of which keys are derived and nothing else comes. */
export type HmacHandle = (data: Uint8Array) => Promise<Uint8Array>;

/** HKDF-Extract with SHA-512, RFC 5869 section 2.2. An empty salt stands for 64 zero bytes. */
export function hkdfExtract(salt: Uint8Array, inputKey: Uint8Array): Promise<Uint8Array> {
  return hmacSha512(salt.length === 0 ? new Uint8Array(HASH_LENGTH) : salt, inputKey);
}

/**
 * HKDF-Expand with SHA-512, RFC 5869 section 2.3.
 *
 * @param key - a pseudorandom key, or a handle of one: uniformly random, or the result of {@link hkdfExtract}
 * @param length - bytes wanted, at most 255 × 64
 * @throws RangeError if more is asked for
 */
export async function hkdfExpand(key: Uint8Array | HmacHandle, info: Uint8Array, length: number): Promise<Uint8Array> {
  const rounds = Math.ceil(length / HASH_LENGTH);
  if (rounds > 255) throw new RangeError('HKDF-Expand gives at most 16,320 bytes');
  const input = new Uint8Array(HASH_LENGTH + info.length + 1); // T(n - 1) || info || n
  input.set(info, HASH_LENGTH);
  const output = new Uint8Array(rounds * HASH_LENGTH);
  for (let round = 1; round <= rounds; round++) {
    input[input.length - 1] = round;
    const data = round === 1 ? input.subarray(HASH_LENGTH) : input; // T(0) is empty
    const block = typeof key === 'function' ? await key(data) : await hmacSha512(key, data);
    input.set(block);
    output.set(block, (round - 1) * HASH_LENGTH);
  }
  return output.subarray(0, length);
}
