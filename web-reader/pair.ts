/**
 * The key pair of a bounce, as it is stored. WebKit, so every Safari up to 27, stores X25519 keys without complaint and reads `null` back; there the
 * private key is wrapped under a key of another kind, which comes back. Scripts of the origin can then take the private key out while the
 * bounce is under way, where elsewhere they can only use it: either way it opens a message that none of them sees.
 */
import { x25519KeyPair } from '../core/primitives/webcrypto-x25519.ts';

/** Pair that structured cloning gives back in every browser. */
export type StoredPair = CryptoKeyPair | WrappedPair;

interface WrappedPair {
  /** Raw. */
  readonly publicKey: ArrayBuffer;
  /** PKCS #8, wrapped (RFC 3394) under a key of its own. */
  readonly wrapped: ArrayBuffer;
  readonly wrapping: CryptoKey;
}

const { subtle } = globalThis.crypto;
const X25519 = { name: 'X25519' };
const WRAPPING = { name: 'AES-KW', length: 256 };

/** @throws DOMException `NotSupportedError` where the browser has no X25519 */
export async function storablePair(): Promise<{ readonly pair: CryptoKeyPair; readonly stored: StoredPair }> {
  const pair = await x25519KeyPair(false);
  if (comesBack(pair)) return { pair, stored: pair };
  const open = await x25519KeyPair(true);
  const wrapping = await subtle.generateKey(WRAPPING, false, ['wrapKey', 'unwrapKey']);
  const wrapped = await subtle.wrapKey('pkcs8', open.privateKey, wrapping, WRAPPING);
  return { pair: open, stored: { publicKey: await subtle.exportKey('raw', open.publicKey), wrapped, wrapping } };
}

/** The pair, whose private key cannot be taken out of it. @throws DOMException, TypeError for what {@link storablePair} did not make */
export async function restorePair(stored: StoredPair): Promise<CryptoKeyPair> {
  if (!('wrapped' in stored)) return stored;
  const { publicKey, wrapped, wrapping } = stored;
  return {
    publicKey: await subtle.importKey('raw', publicKey, X25519, true, []),
    privateKey: await subtle.unwrapKey('pkcs8', wrapped, wrapping, WRAPPING, X25519, false, ['deriveBits']),
  };
}

function comesBack(pair: CryptoKeyPair): boolean {
  try {
    structuredClone(pair);
    return true;
  } catch {
    return false;
  }
}
