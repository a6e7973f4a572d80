/** ML-KEM-768 (FIPS 203) as a browser's device uses it: a key pair made at random, of which the private key stays where it is. */
export interface MlKemRecipient {
  /** 1,184 bytes. */
  readonly publicKey: Uint8Array;
  /** A wrong ciphertext gives another secret, not an error. @param ciphertext - 1,088 bytes */
  readonly decapsulate: (ciphertext: Uint8Array) => Promise<Uint8Array>;
}

/** Parts of X-Wing besides X25519: both are a browser's own, or both a library's. */
export interface XwingParts {
  readonly createMlKem: () => Promise<MlKemRecipient>;
  /** SHA3-256 (FIPS 202). */
  readonly sha3: (message: Uint8Array) => Promise<Uint8Array>;
}

/** WebCrypto's methods for them, which TypeScript does not know yet (https://wicg.github.io/webcrypto-modern-algos/). */
interface ModernSubtle {
  generateKey(algorithm: string, extractable: boolean, usages: ['decapsulateBits']): Promise<CryptoKeyPair>;
  exportKey(format: 'raw-public', key: CryptoKey): Promise<ArrayBuffer>;
  decapsulateBits(algorithm: string, key: CryptoKey, ciphertext: Uint8Array): Promise<ArrayBuffer>;
  digest(algorithm: string, data: Uint8Array): Promise<ArrayBuffer>;
}

const NAME = 'ML-KEM-768';
const HASH = 'SHA3-256';
const subtle = globalThis.crypto.subtle as unknown as ModernSubtle;

/** Parts of the platform, where the private key of ML-KEM cannot be extracted; `undefined` where one is missing. */
export function nativeXwingParts(): XwingParts | undefined {
  const known = SubtleCrypto as unknown as { supports?: (operation: string, algorithm: string) => boolean };
  const isThere = ['generateKey', 'decapsulateBits'].every((each) => known.supports?.(each, NAME));
  return isThere && known.supports?.('digest', HASH) ? { createMlKem, sha3 } : undefined;
}

const sha3: XwingParts['sha3'] = async (message) => new Uint8Array(await subtle.digest(HASH, message));

const createMlKem: XwingParts['createMlKem'] = async () => {
  const pair = await subtle.generateKey(NAME, false, ['decapsulateBits']);
  return {
    publicKey: new Uint8Array(await subtle.exportKey('raw-public', pair.publicKey)),
    decapsulate: async (ciphertext) => new Uint8Array(await subtle.decapsulateBits(NAME, pair.privateKey, ciphertext)),
  };
};
