/**
 * What docs/spec/httpcrypt.md needs besides `#primitives`: X25519 with HChaCha20, and XChaCha20-Poly1305. By itself as `#channel`, and for Node.js
 * only: browsers have no use for it.
 */
import { createCipheriv, createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import sodium from 'libsodium-wrappers';

await sodium.ready;

/** Bytes of an XChaCha20-Poly1305 nonce. */
export const XCHACHA_NONCE_LENGTH = 24;

/** What stands before a private key in PKCS #8, and before a public key in SPKI (RFC 8410). */
const PKCS8_X25519 = Buffer.from('302e020100300506032b656e04220420', 'hex');
const SPKI_X25519 = Buffer.from('302a300506032b656e032100', 'hex');

/** An X25519 key pair. */
export interface ExchangeKeys {
  readonly publicKey: Uint8Array;
  /** The secret shared with the holder of `publicKey`: HChaCha20 of X25519; `undefined` where that is all zeros. */
  readonly agree: (publicKey: Uint8Array) => Uint8Array | undefined;
}

/** The key pair of 32 random bytes. */
export function exchangeKeys(seed: Uint8Array): ExchangeKeys {
  const der = Buffer.concat([PKCS8_X25519, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  der.fill(0);
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(SPKI_X25519.length);
  return { publicKey, agree: (theirs) => agree(privateKey, theirs) };
}

function agree(privateKey: KeyObject, theirs: Uint8Array): Uint8Array | undefined {
  if (theirs.length !== 32) return undefined;
  const key = Buffer.concat([SPKI_X25519, theirs]);
  try {
    const publicKey = createPublicKey({ key, format: 'der', type: 'spki' });
    return hchacha20(diffieHellman({ privateKey, publicKey }));
  } catch {
    return undefined; // of small order
  }
}

/** "expand 32-byte k", where ChaCha20's state begins. */
const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574];

/**
 * HChaCha20 with 16 zero bytes for input. A block of ChaCha20 is the state after the rounds plus the state before them; HChaCha20 leaves the sum out and
 * takes the first and the last four words, where the state before is known: the constants, and zeros.
 */
export function hchacha20(key: Uint8Array): Uint8Array {
  const block = createCipheriv('chacha20', key, new Uint8Array(16)).update(new Uint8Array(64));
  const result = new Uint8Array(32);
  const view = new DataView(result.buffer);
  for (const [index, constant] of CONSTANTS.entries()) {
    view.setUint32(4 * index, (block.readUInt32LE(4 * index) - constant) >>> 0, true);
    view.setUint32(16 + 4 * index, block.readUInt32LE(48 + 4 * index), true);
  }
  return result;
}

/** XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): 32-byte key, 24-byte nonce; returns ciphertext || 16-byte tag. */
export function xchachaSeal(key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array, data: Uint8Array): Uint8Array {
  return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, data, null, nonce, key);
}

/** Undoes {@link xchachaSeal}; `undefined` if the tag is wrong or the input shorter than a tag. */
export function xchachaOpen(
  key: Uint8Array,
  nonce: Uint8Array,
  ciphertext: Uint8Array,
  data: Uint8Array,
): Uint8Array | undefined {
  try {
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, ciphertext, data, nonce, key);
  } catch {
    return undefined;
  }
}
