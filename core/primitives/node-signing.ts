/** Ed25519 signatures on node:crypto. By itself also as `#signing`, for threads that sign and do nothing else of the kind. */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';

/** Keys as OpenSSL wants them, by libsodium's form of them. */
const signingKeys = new WeakMap<Uint8Array, KeyObject>();
/** Bytes before the seed in PKCS #8 (RFC 8410, section 7). */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * Signs in place of libsodium: Ed25519 signatures are the same in all libraries, and OpenSSL's code does not have to be compiled
 * first, on every thread again. Only its checks are stricter in libsodium.
 */
export function ed25519Sign(message: Uint8Array, secretKey: Uint8Array): Uint8Array {
  let key = signingKeys.get(secretKey);
  if (key === undefined) {
    const der = Buffer.concat([PKCS8_ED25519, secretKey.subarray(0, 32)]);
    key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    der.fill(0);
    signingKeys.set(secretKey, key);
  }
  return sign(null, message, key);
}
