/**
 * X-Wing, X25519 and signing for browsers, on noble: a tenth of libsodium's size, and no WebAssembly, which a service worker cannot wait for as it
 * starts. They accept exactly what `sodium.ts` accepts; tests hold both against the same vectors. JavaScript cannot promise constant time for
 * secret keys: noble's own words on that are in its README.
 */
import { ed25519, x25519 as noble } from '@noble/curves/ed25519.js';
import { ml_kem768_x25519 as xwing } from '@noble/post-quantum/hybrid.js';
import { concat } from '../encoding/bytes.ts';
import type { KeyPair } from './contract.ts';

/** Compares two secrets in time that depends on their length only. */
export function equalSecrets(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < a.length; index++) difference |= (a[index] ?? 0) ^ (b[index] ?? 0);
  return difference === 0;
}

/** Ed25519 key pair (RFC 8032) from a 32-byte seed; the secret key is seed and public key. */
export function ed25519KeyPair(seed: Uint8Array): KeyPair {
  const publicKey = ed25519.getPublicKey(seed);
  return { publicKey, secretKey: concat(seed, publicKey) };
}

/** Ed25519 signature (RFC 8032), 64 bytes. */
export function ed25519Sign(message: Uint8Array, secretKey: Uint8Array): Uint8Array {
  return ed25519.sign(message, secretKey.subarray(0, 32));
}

/** X-Wing key pair (draft-connolly-cfrg-xwing-kem) from a 32-byte seed. */
export function xwingKeyPair(seed: Uint8Array): KeyPair {
  return xwing.keygen(seed);
}

/** Encapsulates a fresh 32-byte secret to an X-Wing public key. The caller has checked the key (`checkXwingPublicKey`). */
export function xwingEncapsulate(publicKey: Uint8Array): { ciphertext: Uint8Array; sharedSecret: Uint8Array } {
  const { cipherText, sharedSecret } = xwing.encapsulate(publicKey);
  return { ciphertext: cipherText, sharedSecret };
}

/**
 * The secret that `ciphertext` encapsulates. A wrong ciphertext gives another secret, not an error (implicit rejection);
 * `undefined` only where its X25519 part is of small order.
 */
export function xwingDecapsulate(ciphertext: Uint8Array, secretKey: Uint8Array): Uint8Array | undefined {
  try {
    return xwing.decapsulate(ciphertext, secretKey);
  } catch {
    return undefined;
  }
}

/** X25519 (RFC 7748); `undefined` where the result is all zeros, which is so for points of small order and for no other. */
export function x25519(scalar: Uint8Array, point: Uint8Array): Uint8Array | undefined {
  try {
    return noble.getSharedSecret(scalar, point);
  } catch {
    return undefined;
  }
}
