/**
 * Ed25519, X-Wing and X25519 for browsers, on noble: a tenth of libsodium's size, and no WebAssembly, which a service worker cannot wait for as it
 * starts. They accept exactly what `sodium.ts` accepts; tests hold both against the same vectors. JavaScript cannot promise constant time for
 * secret keys: noble's own words on that are in its README.
 */
import { edwards } from '@noble/curves/abstract/edwards.js';
import { ed25519, x25519 as noble } from '@noble/curves/ed25519.js';
import { bytesToNumberLE } from '@noble/curves/utils.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { ml_kem768_x25519 as xwing } from '@noble/post-quantum/hybrid.js';
import { concat } from '../encoding/bytes.ts';
import type { KeyPair } from './contract.ts';

/**
 * The curve of RFC 8032, section 5.1, for verifying. That of noble's own `ed25519` is the same, but comes with signing and all that is built on
 * it, which is a tenth of the in-browser reader. A function, so that a bundler leaves it out of scripts that verify nothing.
 */
const Point = /* @__PURE__ */ (() =>
  edwards({
    p: 2n ** 255n - 19n,
    n: 2n ** 252n + 27742317777372353535851937790883648493n,
    h: 8n,
    a: -1n + 2n ** 255n - 19n,
    d: 37095705934669439343138083508754565189542113879843219016388785533085940283555n,
    Gx: 15112221349535400772501151409588531511454012693041857206046113283949847762202n,
    Gy: 46316835694926478169428394003475163141307993866256225615783033603165251855960n,
  }))();

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

/**
 * Whether `signature` is valid; non-canonical S, R and keys and small-order points are refused. Never throws. RFC 8032, section 5.1.7, by the
 * equation without the cofactor and a comparison of R's bytes, as libsodium does it; noble's own `verify` multiplies by the cofactor.
 */
export function ed25519Verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== 64 || publicKey.length !== 32) return false;
  const encodedR = signature.subarray(0, 32);
  const s = bytesToNumberLE(signature.subarray(32));
  if (s >= Point.Fn.ORDER) return false;
  const key = largePoint(publicKey);
  if (!key || !largePoint(encodedR)) return false;
  const challenge = Point.Fn.create(bytesToNumberLE(sha512(concat(encodedR, publicKey, message))));
  const r = Point.BASE.multiplyUnsafe(s).subtract(key.multiplyUnsafe(challenge));
  return equalSecrets(r.toBytes(), encodedR);
}

/** The point of a canonical encoding; `undefined` for others, and for points of small order. */
function largePoint(bytes: Uint8Array): InstanceType<typeof Point> | undefined {
  try {
    const point = Point.fromBytes(bytes, false);
    return point.isSmallOrder() ? undefined : point;
  } catch {
    return undefined;
  }
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

/** {@link xwingEncapsulate} from a 64-byte seed. For test vectors only: a secret that can be repeated is none. */
export function xwingEncapsulateForVectors(
  publicKey: Uint8Array,
  seed: Uint8Array,
): { ciphertext: Uint8Array; sharedSecret: Uint8Array } {
  const { cipherText, sharedSecret } = xwing.encapsulate(publicKey, seed);
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
