/** Hash and cipher on WebCrypto. */
import { concatAll } from '../encoding/bytes.ts';
import {
  type ChunkKeys,
  chunkNonce,
  type Primitives,
  plainChunkLengths,
  sealedChunkLengths,
  TAG_LENGTH,
} from './contract.ts';

const NO_DATA = /* @__PURE__ */ new Uint8Array(0);
const { subtle } = globalThis.crypto;

// WebCrypto's types ask for arrays that are not over shared memory; ours never are.
type Unshared = Uint8Array<ArrayBuffer>;

export const sha256: Primitives['sha256'] = async (data) =>
  new Uint8Array(await subtle.digest('SHA-256', data as Unshared));

export const hmacSha256: Primitives['hmacSha256'] = (key, data) => hmac('SHA-256', key, data);

export const hmacSha512: Primitives['hmacSha512'] = (key, data) => hmac('SHA-512', key, data);

export const aes256GcmSeal: Primitives['aes256GcmSeal'] = async (key, nonce, plaintext, additionalData) =>
  seal(await importKey(key), nonce, plaintext, additionalData);

export const aes256GcmOpen: Primitives['aes256GcmOpen'] = async (key, nonce, ciphertext, additionalData) =>
  openUnder(await importKey(key), nonce, ciphertext, additionalData);

export const sealChunks: Primitives['sealChunks'] = async (keys, firstChunk, plaintext, last, target) => {
  const key = await importKey(keys.key);
  const pieces = cut(plaintext, plainChunkLengths(plaintext.length, last));
  const sealed = pieces.map((piece, index) =>
    seal(key, chunkNonce(keys.baseNonce, firstChunk + index), piece, NO_DATA),
  );
  const result = concatAll(await Promise.all(sealed));
  if (target === undefined) return result;
  target.set(result);
  return target;
};

export const openChunks: Primitives['openChunks'] = async (keys, firstChunk, ciphertext, last, target) => {
  const lengths = sealedChunkLengths(ciphertext.length, last);
  const opened = lengths && (await openRun(keys, firstChunk, cut(ciphertext, lengths)));
  if (opened === undefined || target === undefined) return opened;
  target.set(opened);
  return target.subarray(0, opened.length);
};

async function openRun(keys: ChunkKeys, firstChunk: number, pieces: Uint8Array[]): Promise<Uint8Array | undefined> {
  const key = await importKey(keys.key);
  const opened = await Promise.all(
    pieces.map((piece, index) => openUnder(key, chunkNonce(keys.baseNonce, firstChunk + index), piece, NO_DATA)),
  );
  const chunks = opened.filter((chunk) => chunk !== undefined);
  return chunks.length === opened.length ? concatAll(chunks) : undefined;
}

async function hmac(hash: string, key: Uint8Array, data: Uint8Array): Promise<Uint8Array> {
  // WebCrypto has no empty HMAC key; RFC 2104 pads every key with zeros, so one zero byte is the same key.
  const bytes = (key.length === 0 ? new Uint8Array(1) : key) as Unshared;
  const imported = await subtle.importKey('raw', bytes, { name: 'HMAC', hash }, false, ['sign']);
  return macUnder(imported, data);
}

/** HMAC under a key whose bytes cannot be had. */
export async function macUnder(key: CryptoKey, data: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await subtle.sign('HMAC', key, data as Unshared));
}

/** Keys that were imported, by their bytes: of a document, each block asks for the same. */
const importedKeys = new WeakMap<Uint8Array, Promise<CryptoKey>>();

function importKey(bytes: Uint8Array): Promise<CryptoKey> {
  const key =
    importedKeys.get(bytes) ?? subtle.importKey('raw', bytes as Unshared, 'AES-GCM', false, ['encrypt', 'decrypt']);
  importedKeys.set(bytes, key);
  return key;
}

function parameters(nonce: Uint8Array, additionalData: Uint8Array): AesGcmParams {
  return { name: 'AES-GCM', iv: nonce as Unshared, additionalData: additionalData as Unshared };
}

async function seal(key: CryptoKey, nonce: Uint8Array, plaintext: Uint8Array, additionalData: Uint8Array) {
  return new Uint8Array(await subtle.encrypt(parameters(nonce, additionalData), key, plaintext as Unshared));
}

/** {@link aes256GcmOpen} under a key whose bytes cannot be had. */
export async function openUnder(
  key: CryptoKey,
  nonce: Uint8Array,
  ciphertext: Uint8Array,
  additionalData: Uint8Array,
): Promise<Uint8Array | undefined> {
  if (ciphertext.length < TAG_LENGTH) return undefined;
  try {
    return new Uint8Array(await subtle.decrypt(parameters(nonce, additionalData), key, ciphertext as Unshared));
  } catch {
    return undefined;
  }
}

function cut(bytes: Uint8Array, lengths: number[]): Uint8Array[] {
  let end = 0;
  return lengths.map((length) => {
    end += length;
    return bytes.subarray(end - length, end);
  });
}

({ sha256, hmacSha256, hmacSha512, aes256GcmSeal, aes256GcmOpen, sealChunks, openChunks }) satisfies Primitives;
