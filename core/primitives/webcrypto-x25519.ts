/** X25519 of WebCrypto, whose private keys need not be extractable. In Node.js too. */
const { subtle } = globalThis.crypto;
const X25519 = { name: 'X25519' };

/** Bytes of a public key. */
export const X25519_KEY_LENGTH = 32;

/** A key pair. @param extractable - whether the private key can be taken out */
export async function x25519KeyPair(extractable: boolean): Promise<CryptoKeyPair> {
  return (await subtle.generateKey(X25519, extractable, ['deriveBits'])) as CryptoKeyPair;
}

/** The 32 bytes of a pair's public key. */
export async function x25519PublicKey({ publicKey }: CryptoKeyPair): Promise<Uint8Array> {
  return new Uint8Array(await subtle.exportKey('raw', publicKey));
}

/** X25519 (RFC 7748); `undefined` for what is no public key, and where the result is all zeros, which is so for points of small order. */
export async function x25519Agree(privateKey: CryptoKey, publicKey: Uint8Array): Promise<Uint8Array | undefined> {
  if (publicKey.length !== X25519_KEY_LENGTH) return undefined;
  try {
    const imported = await subtle.importKey('raw', publicKey as Uint8Array<ArrayBuffer>, X25519, true, []);
    const agreed = new Uint8Array(await subtle.deriveBits({ ...X25519, public: imported }, privateKey, 256));
    return agreed.some((byte) => byte !== 0) ? agreed : undefined;
  } catch {
    return undefined;
  }
}
