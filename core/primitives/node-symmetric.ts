/** Hash and cipher on node:crypto. */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import {
  type ChunkKeys,
  chunkNonce,
  type Primitives,
  plainChunkLengths,
  sealedChunkLengths,
  TAG_LENGTH,
} from './contract.ts';
import { releaseMemory } from './release-memory.ts';

const CIPHER = 'aes-256-gcm';
const NO_DATA = new Uint8Array(0);

export const sha256: Primitives['sha256'] = async (data) => hash('sha256', data, 'buffer');

export const hmacSha256: Primitives['hmacSha256'] = async (key, data) =>
  createHmac('sha256', key).update(data).digest();

export const hmacSha512: Primitives['hmacSha512'] = async (key, data) =>
  createHmac('sha512', key).update(data).digest();

export const aes256GcmSeal: Primitives['aes256GcmSeal'] = async (key, nonce, plaintext, additionalData) => {
  const sealed = Buffer.allocUnsafe(plaintext.length + TAG_LENGTH);
  sealInto(sealed, 0, secretKeyOf(key), nonce, plaintext, additionalData);
  return sealed;
};

export const aes256GcmOpen: Primitives['aes256GcmOpen'] = async (key, nonce, ciphertext, additionalData) => {
  if (ciphertext.length < TAG_LENGTH) return undefined;
  return open(createSecretKey(key), nonce, ciphertext, additionalData);
};

export const sealChunks: Primitives['sealChunks'] = async (keys, firstChunk, plaintext, last, target) => {
  const lengths = plainChunkLengths(plaintext.length, last);
  const sealed = target ?? Buffer.allocUnsafe(plaintext.length + lengths.length * TAG_LENGTH);
  const key = lengths.length === 1 ? keys.key : secretKeyOf(keys.key); // a key object takes longer than it saves for one chunk
  let from = 0;
  let to = 0;
  for (const [index, length] of lengths.entries()) {
    const nonce = chunkNonce(keys.baseNonce, firstChunk + index);
    sealInto(sealed, to, key, nonce, plaintext.subarray(from, from + length), NO_DATA);
    from += length;
    to += length + TAG_LENGTH;
  }
  return sealed;
};

export const openChunks: Primitives['openChunks'] = async (keys, firstChunk, ciphertext, last, target) => {
  const lengths = sealedChunkLengths(ciphertext.length, last);
  return lengths === undefined ? undefined : openRun(keys, firstChunk, ciphertext, lengths, target);
};

/** Keys as OpenSSL wants them, by the bytes that they are made of: they are used for one block, or message, after the other. */
const secretKeys = new WeakMap<Uint8Array, KeyObject>();

function secretKeyOf(bytes: Uint8Array): KeyObject {
  let key = secretKeys.get(bytes);
  if (key === undefined) {
    key = createSecretKey(bytes);
    secretKeys.set(bytes, key);
  }
  return key;
}

function openRun(
  keys: ChunkKeys,
  firstChunk: number,
  ciphertext: Uint8Array,
  lengths: number[],
  target: Uint8Array | undefined,
): Uint8Array | undefined {
  const key = secretKeyOf(keys.key);
  if (lengths.length === 1 && target === undefined)
    return open(key, chunkNonce(keys.baseNonce, firstChunk), ciphertext, NO_DATA);
  const plaintext = target ?? Buffer.allocUnsafeSlow(ciphertext.length - lengths.length * TAG_LENGTH);
  let from = 0;
  let to = 0;
  for (const [index, length] of lengths.entries()) {
    const nonce = chunkNonce(keys.baseNonce, firstChunk + index);
    const chunk = open(key, nonce, ciphertext.subarray(from, from + length), NO_DATA);
    if (chunk === undefined) return undefined;
    plaintext.set(chunk, to);
    from += length;
    to += chunk.length;
    releaseMemory(chunk.buffer); // a cipher's output is alone in its memory
  }
  return plaintext.subarray(0, to);
}

function sealInto(
  target: Uint8Array,
  offset: number,
  key: KeyObject | Uint8Array,
  nonce: Uint8Array,
  plaintext: Uint8Array,
  additionalData: Uint8Array,
): void {
  const cipher = createCipheriv(CIPHER, key, nonce);
  if (additionalData.length > 0) cipher.setAAD(additionalData);
  const sealed = cipher.update(plaintext);
  target.set(sealed, offset);
  releaseMemory(sealed.buffer);
  cipher.final(); // GCM is a stream mode: nothing is left, but the tag exists only after this call
  target.set(cipher.getAuthTag(), offset + plaintext.length);
}

function open(
  key: KeyObject,
  nonce: Uint8Array,
  ciphertext: Uint8Array,
  additionalData: Uint8Array,
): Buffer | undefined {
  const split = ciphertext.length - TAG_LENGTH;
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH });
  if (additionalData.length > 0) decipher.setAAD(additionalData);
  decipher.setAuthTag(ciphertext.subarray(split));
  const plaintext = decipher.update(ciphertext.subarray(0, split));
  try {
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}

({ sha256, hmacSha256, hmacSha512, aes256GcmSeal, aes256GcmOpen, sealChunks, openChunks }) satisfies Primitives;
