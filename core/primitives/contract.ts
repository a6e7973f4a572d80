/**
 * Operations that the rest of `core/` may ask of the platform. Two modules provide them, chosen by the import name `#primitives`
 * (package.json): `node.ts` on node:crypto, and `webcrypto.ts` on WebCrypto for browsers. The operations are coarse, so that
 * one awaited call a block costs nothing and an implementation may hand the work to another thread. The contract is also to be had by
 * itself, as `#symmetric`: a thread that needs no more does without libsodium, which takes 25 MiB on each.
 *
 * All byte arrays but a `target` are read only; results are fresh arrays of the caller's own, or the target.
 */
export interface Primitives {
  /** SHA-256, FIPS 180-4. */
  sha256(data: Uint8Array): Promise<Uint8Array>;

  /** HMAC-SHA-256, RFC 2104. */
  hmacSha256(key: Uint8Array, data: Uint8Array): Promise<Uint8Array>;

  /** HMAC-SHA-512, RFC 2104. */
  hmacSha512(key: Uint8Array, data: Uint8Array): Promise<Uint8Array>;

  /** AES-256-GCM, NIST SP 800-38D: 32-byte key, 12-byte nonce; returns ciphertext || 16-byte tag. */
  aes256GcmSeal(
    key: Uint8Array,
    nonce: Uint8Array,
    plaintext: Uint8Array,
    additionalData: Uint8Array,
  ): Promise<Uint8Array>;

  /** Undoes {@link aes256GcmSeal}; `undefined` if the tag is wrong or the input shorter than a tag. */
  aes256GcmOpen(
    key: Uint8Array,
    nonce: Uint8Array,
    ciphertext: Uint8Array,
    additionalData: Uint8Array,
  ): Promise<Uint8Array | undefined>;

  /**
   * Encrypts a run of chunks of C2SP chunked-encryption: `plaintext` is cut into chunks of 16,384 bytes, numbered from `firstChunk`.
   * With `last`, the run ends the message: a final chunk shorter than 16,384 bytes, perhaps empty, is written. Without, the
   * length of `plaintext` must be a multiple of 16,384.
   *
   * @param target - memory for the result, exactly as long as it; fresh memory if left out
   */
  sealChunks(
    keys: ChunkKeys,
    firstChunk: number,
    plaintext: Uint8Array,
    last: boolean,
    target?: Uint8Array,
  ): Promise<Uint8Array>;

  /**
   * Undoes {@link sealChunks}; `undefined` if any tag is wrong, or if the lengths are not those of such a run.
   *
   * @param target - memory for the result, at least as long as it; fresh memory that the result is alone in, if left out. It may begin where
   * `ciphertext` does, or before. What a failure leaves in it must not be used
   */
  openChunks(
    keys: ChunkKeys,
    firstChunk: number,
    ciphertext: Uint8Array,
    last: boolean,
    target?: Uint8Array,
  ): Promise<Uint8Array | undefined>;
}

/** Tells whether an Ed25519 signature (RFC 8032) is valid. Refuses non-canonical S, R and keys, small-order points, and lengths but 64 and 32. */
export type Ed25519Verify = (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => Promise<boolean>;

/** A key pair made from a 32-byte seed. */
export interface KeyPair {
  readonly publicKey: Uint8Array;
  readonly secretKey: Uint8Array;
}

/** The AEAD key (32 bytes) and base nonce (12 bytes) of one message. */
export interface ChunkKeys {
  readonly key: Uint8Array;
  readonly baseNonce: Uint8Array;
}

/** Bytes of an X-Wing public key, and of a ciphertext. */
export const XWING_PUBLIC_KEY_LENGTH = 1216;
export const XWING_CIPHERTEXT_LENGTH = 1120;

/** Bytes of message in a full chunk. */
export const CHUNK_LENGTH = 16_384;

/** Bytes of salt and commitment in front of the chunks of chunked encryption. */
export const PREFIX_LENGTH = 56;

/** Bytes of the tag of AES-GCM, and of XChaCha20-Poly1305. */
export const TAG_LENGTH = 16;

/** Bytes of a full chunk once encrypted. */
export const SEALED_CHUNK_LENGTH = CHUNK_LENGTH + TAG_LENGTH;

/** The nonce of chunk `number`: the base nonce XOR the number, big-endian (C2SP chunked-encryption, "AEAD usage"). */
export function chunkNonce(baseNonce: Uint8Array, number: number): Uint8Array {
  const nonce = new Uint8Array(baseNonce);
  let rest = number;
  for (let index = nonce.length - 1; rest > 0; index--) {
    nonce[index] = (nonce[index] ?? 0) ^ (rest % 256);
    rest = Math.floor(rest / 256);
  }
  return nonce;
}

/** Returns the lengths of chunks in a run of `length` sealed bytes; `undefined` if no run has that length. */
export function sealedChunkLengths(length: number, last: boolean): number[] | undefined {
  const full = Math.floor(length / SEALED_CHUNK_LENGTH);
  const rest = length % SEALED_CHUNK_LENGTH;
  if (last ? rest < TAG_LENGTH : rest !== 0) return undefined;
  return last
    ? [...Array<number>(full).fill(SEALED_CHUNK_LENGTH), rest]
    : Array<number>(full).fill(SEALED_CHUNK_LENGTH);
}

/** Returns the lengths of chunks in `length` bytes of message. */
export function plainChunkLengths(length: number, last: boolean): number[] {
  const full = Math.floor(length / CHUNK_LENGTH);
  const rest = length % CHUNK_LENGTH;
  if (!last && rest !== 0) throw new RangeError('only the last run of chunks may end in a short one');
  return last ? [...Array<number>(full).fill(CHUNK_LENGTH), rest] : Array<number>(full).fill(CHUNK_LENGTH);
}
