/** Bytes that WebCrypto gives at once. */
const RANDOM_PIECE = 65_536;

/**
 * `length` bytes from the platform's cryptographically secure generator. Libsodium asks the same generator, but for four bytes at
 * a time, which takes two seconds a megabyte.
 */
export function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let offset = 0; offset < length; offset += RANDOM_PIECE) {
    globalThis.crypto.getRandomValues(bytes.subarray(offset, offset + RANDOM_PIECE));
  }
  return bytes;
}
