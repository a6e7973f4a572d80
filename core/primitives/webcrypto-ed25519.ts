/**
 * Ed25519 signatures checked by WebCrypto, a tenth of the size of a library. Platforms agree on good signatures and differ on odd ones: so what libsodium
 * refuses is refused here before they are asked. What is left to them is in tests/vectors/third-party/README.md, "Where platforms differ".
 */
import type { Ed25519Verify } from './contract.ts';

const { subtle } = globalThis.crypto;
const ED25519 = { name: 'Ed25519' };
type Unshared = Uint8Array<ArrayBuffer>;

/** @throws DOMException `NotSupportedError` where the platform has no Ed25519 */
export const ed25519Verify: Ed25519Verify = async (signature, message, publicKey) => {
  if (signature.length !== 64 || publicKey.length !== 32) return false;
  const [encodedR, s] = [signature.subarray(0, 32), numberOf(signature.subarray(32))];
  if (s >= ORDER() || !isLargePoint(encodedR) || !isLargePoint(publicKey)) return false;
  const key = await importKey(publicKey);
  return key !== undefined && subtle.verify(ED25519, key, signature as Unshared, message as Unshared);
};

/** `undefined` where the bytes are of no point, which some platforms say here, and others where the key is used. */
async function importKey(publicKey: Uint8Array): Promise<CryptoKey | undefined> {
  try {
    return await subtle.importKey('raw', publicKey as Unshared, ED25519, false, ['verify']);
  } catch (error) {
    if ((error as DOMException).name === 'NotSupportedError') throw error;
    return undefined;
  }
}

/** Order of the base point: RFC 8032, section 5.1. Numbers like these stand in functions, or they would stay in scripts that verify nothing. */
const ORDER = () => 2n ** 252n + 27742317777372353535851937790883648493n;

/** Tells whether an encoding of a point is canonical, and not of small order. The sign of x, the highest bit, makes no difference to that. */
function isLargePoint(bytes: Uint8Array): boolean {
  const p = 2n ** 255n - 19n;
  const y = numberOf(bytes) & (2n ** 255n - 1n);
  // The y of the points whose order divides the cofactor: 0, 1, -1, and those of order 8.
  const small = [
    0n,
    1n,
    p - 1n,
    0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
    0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
  ];
  return y < p && !small.includes(y);
}

/** Reads little-endian. */
function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}
