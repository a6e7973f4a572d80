/** ML-KEM-768 (FIPS 203) as a browser's device uses it: a key pair made at random, of which the private key stays where it is. */
export interface MlKemRecipient {
  /** 1,184 bytes. */
  readonly publicKey: Uint8Array;
  /** A wrong ciphertext gives another secret, not an error. @param ciphertext - 1,088 bytes */
  readonly decapsulate: (ciphertext: Uint8Array) => Promise<Uint8Array>;
}

export type CreateMlKemRecipient = () => Promise<MlKemRecipient>;

/** WebCrypto's methods for it, which TypeScript does not know yet (https://wicg.github.io/webcrypto-modern-algos/). */
interface ModernSubtle {
  generateKey(algorithm: string, extractable: boolean, usages: ['decapsulateBits']): Promise<CryptoKeyPair>;
  exportKey(format: 'raw-public', key: CryptoKey): Promise<ArrayBuffer>;
  decapsulateBits(algorithm: string, key: CryptoKey, ciphertext: Uint8Array): Promise<ArrayBuffer>;
}

const NAME = 'ML-KEM-768';

/** That of the platform, whose private key cannot be extracted; `undefined` where it has none. */
export function nativeMlKem(): CreateMlKemRecipient | undefined {
  const known = SubtleCrypto as unknown as { supports?: (operation: string, algorithm: string) => boolean };
  const isThere = ['generateKey', 'decapsulateBits'].every((each) => known.supports?.(each, NAME));
  return isThere ? createNative : undefined;
}

const createNative: CreateMlKemRecipient = async () => {
  const subtle = crypto.subtle as unknown as ModernSubtle;
  const pair = await subtle.generateKey(NAME, false, ['decapsulateBits']);
  return {
    publicKey: new Uint8Array(await subtle.exportKey('raw-public', pair.publicKey)),
    decapsulate: async (ciphertext) => new Uint8Array(await subtle.decapsulateBits(NAME, pair.privateKey, ciphertext)),
  };
};
