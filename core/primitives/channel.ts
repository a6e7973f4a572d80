/**
 * What docs/spec/httpcrypt.md needs besides `#primitives`: X25519 with HChaCha20, and XChaCha20-Poly1305, on node:crypto. By itself as `#channel`, and
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
import { TAG_LENGTH } from './contract.ts';
import { xchachaOpen, xchachaSeal } from './sodium.ts';

const CIPHER = 'chacha20-poly1305';

const TAG = { authTagLength: TAG_LENGTH };

/** What stands before a private key in PKCS #8, and before a public key in SPKI (RFC 8410). */
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
    const theirKey = { key: Buffer.from(theirs), format: 'raw-public', asymmetricKeyType: 'x25519' };
    // Types of Node.js 26 do not have this form of a key yet.
    const publicKey = theirKey as unknown as KeyObject;
    return hchacha20(diffieHellman({ privateKey, publicKey }), ZEROS.subarray(0, 16));
  } catch {
    return undefined; // of small order
  }
}

/** "expand 32-byte k", where ChaCha20's state begins. */
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];
const ZEROS = new Uint8Array(64);

/**
 * HChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.2). A block of ChaCha20 is the state after the rounds plus the state before them; HChaCha20 leaves the
 * sum out and takes the first and the last four words, where the state before is known: the constants, and the input.
 *
 * @param input - 16 bytes
 */
export function hchacha20(key: Uint8Array, input: Uint8Array): Uint8Array {
  const block = createCipheriv('chacha20', key, input).update(ZEROS);
  const before = new DataView(input.buffer, input.byteOffset);
  const result = new Uint8Array(32);
  const view = new DataView(result.buffer);
  for (const [index, constant] of CONSTANTS.entries()) {
    const [first, last] = [4 * index, 48 + 4 * index];
    view.setUint32(first, block.readUInt32LE(first) - constant, true);
    view.setUint32(16 + first, block.readUInt32LE(last) - before.getUint32(first, true), true);
  }
  return result;
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

/** XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) under one key, for nonces that begin alike. */
export class XChaCha {
  readonly #key: Uint8Array;
  /** 24 bytes, of which the last eight are to be written before each call. */
  readonly nonce = new Uint8Array(24);
  #inner: Uint8Array | undefined;

  /** @param front - the first 16 bytes of nonces */
  constructor(key: Uint8Array, front: Uint8Array) {
    this.#key = key;
    this.nonce.set(front);
  }

  /** Returns ciphertext and tag, behind `front`. */
  seal(plaintext: Uint8Array, data: Uint8Array, front: Uint8Array): Uint8Array {
    if (plaintext.length > SHORT) return chachaSeal(...this.#innerOf(), plaintext, data, front);
    return Buffer.concat([front, xchachaSeal(this.#key, this.nonce, plaintext, data)]);
  }

  /** Undoes {@link seal}, without `front`; `undefined` if the tag is wrong or the input shorter than a tag. */
  open(sealed: Uint8Array, data: Uint8Array): Uint8Array | undefined {
    return sealed.length > SHORT
      ? chachaOpen(...this.#innerOf(), sealed, data)
      : xchachaOpen(this.#key, this.nonce, sealed, data);
  }

  /** Key and nonce of the ChaCha20-Poly1305 that it comes down to. */
  #innerOf(): [Uint8Array, Uint8Array] {
    this.#inner ??= hchacha20(this.#key, this.nonce.subarray(0, 16));
    const nonce = new Uint8Array(12);
    nonce.set(this.nonce.subarray(16), 4);
    return [this.#inner, nonce];
  }
}

/** Text of bytes, each as the character of its number, as HTTP/1.1 and Node.js have header fields. */
export function latin1(bytes: Uint8Array, start: number, end: number): string {
  return viewOf(bytes).toString('latin1', start, end);
}

/** Undoes {@link latin1} into `target`. @returns where the text ends. Characters beyond U+00FF lose what they have more */
export function writeLatin1(target: Uint8Array, text: string, offset: number): number {
  return offset + viewOf(target).write(text, offset, 'latin1');
}

function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
