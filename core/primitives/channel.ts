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

const CIPHER = 'chacha20-poly1305';

/** Bytes of an XChaCha20-Poly1305 nonce. */
export const XCHACHA_NONCE_LENGTH = 24;

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
    const publicKey = createPublicKey({ key: Buffer.from(theirs), format: 'raw-public', asymmetricKeyType: 'x25519' });
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

/** XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): 32-byte key, 24-byte nonce; returns nonce || ciphertext || 16-byte tag. */
export function xchachaSeal(key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array, data: Uint8Array): Uint8Array {
  const cipher = createCipheriv(CIPHER, ...innerOf(key, nonce), { authTagLength: TAG_LENGTH });
  cipher.setAAD(data, { plaintextLength: plaintext.length });
  const ciphertext = cipher.update(plaintext);
  cipher.final(); // nothing is left, but the tag exists only after this call
  return Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]);
}

/** Undoes {@link xchachaSeal}; `undefined` if the tag is wrong or the input shorter than nonce and tag. */
export function xchachaOpen(key: Uint8Array, sealed: Uint8Array, data: Uint8Array): Uint8Array | undefined {
  const end = sealed.length - TAG_LENGTH;
  if (end < XCHACHA_NONCE_LENGTH) return undefined;
  const nonce = sealed.subarray(0, XCHACHA_NONCE_LENGTH);
  const decipher = createDecipheriv(CIPHER, ...innerOf(key, nonce), { authTagLength: TAG_LENGTH });
  decipher.setAAD(data, { plaintextLength: end - XCHACHA_NONCE_LENGTH });
  decipher.setAuthTag(sealed.subarray(end));
  const plaintext = decipher.update(sealed.subarray(XCHACHA_NONCE_LENGTH, end));
  try {
    decipher.final();
    return plaintext;
  } catch {
    return undefined;
  }
}

/** Key and nonce of the ChaCha20-Poly1305 (RFC 8439) that XChaCha20-Poly1305 comes down to. */
function innerOf(key: Uint8Array, nonce: Uint8Array): [Uint8Array, Uint8Array] {
  const inner = new Uint8Array(12);
  inner.set(nonce.subarray(16), 4);
  return [hchacha20(key, nonce.subarray(0, 16)), inner];
}
