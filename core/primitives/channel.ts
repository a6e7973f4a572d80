/**
 * Primitives of docs/spec/httpcrypt.md besides `#primitives`: X25519 with HChaCha20, and XChaCha20-Poly1305, on node:crypto. Imported as `#channel`,
 * for Node.js only: browsers have no use for it. Libsodium has the same; OpenSSL's code takes a third of the time for long messages.
 */
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  type KeyObject,
} from 'node:crypto';
import { concat } from '../encoding/bytes.ts';
import { TAG_LENGTH } from './contract.ts';
import { xchachaOpen, xchachaSeal } from './sodium.ts';

const CIPHER = 'chacha20-poly1305';

const TAG = { authTagLength: TAG_LENGTH };

/** Bytes before a private key in PKCS #8, and before a public key in SPKI (RFC 8410). */
const PKCS8_X25519 = Buffer.from('302e020100300506032b656e04220420', 'hex');
const SPKI_X25519 = Buffer.from('302a300506032b656e032100', 'hex');

export interface X25519KeyPair {
  readonly publicKey: Uint8Array;
  /** The secret shared with the holder of `publicKey`: HChaCha20 of X25519; `undefined` where that is all zeros. */
  readonly agree: (publicKey: Uint8Array) => Uint8Array | undefined;
}

/** The key pair of 32 random bytes. */
export function x25519KeyPair(seed: Uint8Array): X25519KeyPair {
  const der = Buffer.concat([PKCS8_X25519, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  der.fill(0);
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI_X25519.length);
  return { publicKey, agree: (theirs) => agree(privateKey, theirs) };
}

function agree(privateKey: KeyObject, theirs: Uint8Array): Uint8Array | undefined {
  if (theirs.length !== 32) return undefined;
  try {
    const theirKey = { key: theirs, format: 'raw-public', asymmetricKeyType: 'x25519' };
    // Types of Node.js 26 do not have this form of a key yet.
    const publicKey = theirKey as unknown as KeyObject;
    return hchacha20(diffieHellman({ privateKey, publicKey }), ZEROS.subarray(0, 16));
  } catch {
    return undefined; // is of small order
  }
}

/** "expand 32-byte k", where ChaCha20's state begins. */
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];
/** Zeros, as many as a chunk has at the most. */
const ZEROS = new Uint8Array(16_384);

/**
 * HChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2). By hand, because OpenSSL has ChaCha20 alone, and takes five times as long to make a cipher.
 *
 * @param input - 16 bytes
 */
export function hchacha20(key: Uint8Array, input: Uint8Array): Uint8Array {
  const words = new Int32Array(16); // little-endian, as the platforms of Node.js are
  const bytes = new Uint8Array(words.buffer);
  words.set(CONSTANTS);
  bytes.set(key, 16);
  bytes.set(input, 48);
  for (let round = 0; round < 10; round++) {
    for (let at = 0; at < 4; at++) quarterRound(words, at, 4 + at, 8 + at, 12 + at);
    for (let at = 0; at < 4; at++) quarterRound(words, at, 4 + ((at + 1) & 3), 8 + ((at + 2) & 3), 12 + ((at + 3) & 3));
  }
  words.copyWithin(4, 12);
  return bytes.subarray(0, 32);
}

/** RFC 8439, section 2.1. */
function quarterRound(words: Int32Array, a: number, b: number, c: number, d: number): void {
  addAndRotate(words, a, b, d, 16);
  addAndRotate(words, c, d, b, 12);
  addAndRotate(words, a, b, d, 8);
  addAndRotate(words, c, d, b, 7);
}

function addAndRotate(words: Int32Array, sum: number, addend: number, mixed: number, bits: number): void {
  const total = ((words[sum] ?? 0) + (words[addend] ?? 0)) | 0;
  const word = (words[mixed] ?? 0) ^ total;
  words[sum] = total;
  words[mixed] = (word << bits) | (word >>> (32 - bits));
}

/**
 * ChaCha20-Poly1305 (RFC 8439), which XChaCha20-Poly1305 comes down to: its key is {@link hchacha20} of the first 16 bytes of the long nonce, `nonce` four
 * zero bytes and the other eight. Returns ciphertext and tag, behind `front` bytes that are left to the caller.
 */
export function chachaSeal(
  key: Uint8Array,
  nonce: Uint8Array,
  plaintext: Uint8Array,
  data: Uint8Array,
  front: Uint8Array = ZEROS.subarray(0, 0),
): Uint8Array {
  const cipher = createCipheriv(CIPHER, key, nonce, TAG);
  cipher.setAAD(data, { plaintextLength: plaintext.length });
  const ciphertext = cipher.update(plaintext);
  cipher.final(); // nothing is left, but the tag exists only after this call
  return Buffer.concat([front, ciphertext, cipher.getAuthTag()]);
}

/** Undoes {@link chachaSeal}; `undefined` if the tag is wrong or the input shorter than a tag. */
export function chachaOpen(
  key: Uint8Array,
  nonce: Uint8Array,
  sealed: Uint8Array,
  data: Uint8Array,
): Uint8Array | undefined {
  const end = sealed.length - TAG_LENGTH;
  if (end < 0) return undefined;
  const decipher = createDecipheriv(CIPHER, key, nonce, TAG);
  decipher.setAAD(data, { plaintextLength: end });
  decipher.setAuthTag(sealed.subarray(end));
  const plaintext = decipher.update(sealed.subarray(0, end));
  try {
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}

/** Bytes up to which libsodium takes less time than OpenSSL, whose objects take 2 µs each to make, and more to collect. */
const SHORT = 2200;

/** XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) of chunks: their nonces are a salt, u56(number), and u8(last). */
export class XChaCha {
  readonly #key: Uint8Array;
  readonly #nonce = new Uint8Array(24);
  readonly #end = new DataView(this.#nonce.buffer, 16);
  #inner: Uint8Array | undefined;

  /** @param salt - 16 bytes */
  constructor(key: Uint8Array, salt: Uint8Array) {
    this.#key = key;
    this.#nonce.set(salt);
  }

  /** Returns ciphertext and tag, behind `front`. */
  seal(number: number, isLast: boolean, plaintext: Uint8Array, data: Uint8Array, front: Uint8Array): Uint8Array {
    const nonce = this.#nonceOf(number, isLast);
    if (plaintext.length > SHORT) return chachaSeal(...this.#innerOf(nonce), plaintext, data, front);
    return Buffer.concat([front, xchachaSeal(this.#key, nonce, plaintext, data)]);
  }

  /** Undoes {@link seal}, without `front`; `undefined` if the tag is wrong or the input shorter than a tag. */
  open(number: number, isLast: boolean, sealed: Uint8Array, data: Uint8Array): Uint8Array | undefined {
    const nonce = this.#nonceOf(number, isLast);
    if (sealed.length > SHORT) return chachaOpen(...this.#innerOf(nonce), sealed, data);
    return xchachaOpen(this.#key, nonce, sealed, data);
  }

  #nonceOf(number: number, isLast: boolean): Uint8Array {
    this.#end.setUint32(0, Math.floor(number / 2 ** 24));
    this.#end.setUint32(4, (number % 2 ** 24) * 256 + (isLast ? 1 : 0));
    return this.#nonce;
  }

  /** Key and nonce of the ChaCha20-Poly1305 that it comes down to. */
  #innerOf(nonce: Uint8Array): [Uint8Array, Uint8Array] {
    this.#inner ??= hchacha20(this.#key, nonce.subarray(0, 16));
    return [this.#inner, concat(ZEROS.subarray(0, 4), nonce.subarray(16))];
  }
}

/** Text of bytes, each as the character of its number, as HTTP/1.1 and Node.js have header fields. */
export function latin1(bytes: Uint8Array, start: number, end: number): string {
  return viewOf(bytes).toString('latin1', start, end);
}

/** Undoes {@link latin1}. Characters beyond U+00FF lose what they have more. */
export function fromLatin1(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

/** Memory for `length` bytes that has what it had before: all of it is to be written. */
export function uncleared(length: number): Uint8Array {
  return Buffer.allocUnsafe(length);
}

/** @param bytes - of a chunk at the most */
export function isZeros(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes, ZEROS.subarray(0, bytes.length)) === 0;
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
