/**
 * Primitives that are the same on both platforms, from libsodium: Ed25519 (node:crypto accepts low-order and non-canonical points, see
 * tests/vectors), X-Wing, X25519 and constant-time comparison. The only module that imports it.
 */
import sodium from 'libsodium-wrappers';
import type { Ed25519Verify, KeyPair } from './contract.ts';

await sodium.ready;

/** Compares two secrets in time that depends on their length only. */
export function equalSecrets(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && sodium.memcmp(a, b);
}

/** Ed25519 key pair (RFC 8032) from a 32-byte seed; the secret key is libsodium's 64-byte form. */
export function ed25519KeyPair(seed: Uint8Array): KeyPair {
  const pair = sodium.crypto_sign_seed_keypair(seed);
  return { publicKey: pair.publicKey, secretKey: pair.privateKey };
}

/** Ed25519 signature (RFC 8032), 64 bytes. */
export function ed25519Sign(message: Uint8Array, secretKey: Uint8Array): Uint8Array {
  return sodium.crypto_sign_detached(message, secretKey);
}

export const ed25519Verify: Ed25519Verify = async (signature, message, publicKey) =>
  signature.length === 64 &&
  publicKey.length === 32 &&
  sodium.crypto_sign_verify_detached(signature, message, publicKey);

/** X-Wing key pair (draft-connolly-cfrg-xwing-kem) from a 32-byte seed. */
export function xwingKeyPair(seed: Uint8Array): KeyPair {
  const pair = sodium.crypto_kem_xwing_seed_keypair(seed);
  return { publicKey: pair.publicKey, secretKey: pair.privateKey };
}

/** Encapsulates a fresh 32-byte secret to an X-Wing public key. The caller has checked the key (`checkXwingPublicKey`). */
export function xwingEncapsulate(publicKey: Uint8Array): { ciphertext: Uint8Array; sharedSecret: Uint8Array } {
  const { ciphertext, sharedSecret } = sodium.crypto_kem_xwing_enc(publicKey);
  return { ciphertext, sharedSecret };
}

/**
 * The secret that `ciphertext` encapsulates. A wrong ciphertext gives another secret, not an error (implicit rejection);
 * `undefined` only where its X25519 part is of small order.
 */
export function xwingDecapsulate(ciphertext: Uint8Array, secretKey: Uint8Array): Uint8Array | undefined {
  try {
    return sodium.crypto_kem_xwing_dec(ciphertext, secretKey);
  } catch {
    return undefined;
  }
}

/** X25519 (RFC 7748); `undefined` where the result is all zeros, which is so for points of small order and for no other. */
export function x25519(scalar: Uint8Array, point: Uint8Array): Uint8Array | undefined {
  try {
    return sodium.crypto_scalarmult(scalar, point);
  } catch {
    return undefined;
  }
}

/** XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03): 32-byte key, 24-byte nonce; returns ciphertext and tag. For Node.js only, by channel.ts. */
export function xchachaSeal(key: Uint8Array, nonce: Uint8Array, plaintext: Uint8Array, data: Uint8Array): Uint8Array {
  return sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, data, null, nonce, key);
}

/** Undoes {@link xchachaSeal}; `undefined` if the tag is wrong or the input shorter than a tag. */
export function xchachaOpen(
  key: Uint8Array,
  nonce: Uint8Array,
  sealed: Uint8Array,
  data: Uint8Array,
): Uint8Array | undefined {
  try {
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(null, sealed, data, nonce, key);
  } catch {
    return undefined;
  }
}
