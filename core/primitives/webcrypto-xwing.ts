/**
 * The keys of a browser's device, on WebCrypto as far as it goes: X-Wing out of native X25519 and two parts that are native or not, and native
 * Ed25519. The private keys of the native ones cannot be extracted.
 */
import { concat, utf8 } from '../encoding/bytes.ts';
import type { XwingParts } from './ml-kem.ts';
import { x25519Agree, x25519KeyPair, x25519PublicKey } from './webcrypto-x25519.ts';

/** Bytes of ML-KEM-768's ciphertext, in front of the X25519 one. */
const MLKEM_CIPHERTEXT_LENGTH = 1088;
/** draft-connolly-cfrg-xwing-kem, section 5.3. */
const LABEL = utf8('\\.//^\\');

const { subtle } = globalThis.crypto;

/** An X-Wing key pair that is made at random, not from a seed. */
export interface XwingRecipient {
  readonly publicKey: Uint8Array;
  /** Works as `xwingDecapsulate`. @param ciphertext - 1,120 bytes */
  readonly decapsulate: (ciphertext: Uint8Array) => Promise<Uint8Array | undefined>;
}

export interface Ed25519Signer {
  readonly publicKey: Uint8Array;
  readonly sign: (message: Uint8Array) => Promise<Uint8Array>;
}

export async function createXwingRecipient({ createMlKem, sha3 }: XwingParts): Promise<XwingRecipient> {
  const [mlkem, pair] = [await createMlKem(), await x25519KeyPair(false)];
  const x25519 = await x25519PublicKey(pair);
  return {
    publicKey: concat(mlkem.publicKey, x25519),
    decapsulate: async (ciphertext) => {
      const theirs = ciphertext.subarray(MLKEM_CIPHERTEXT_LENGTH);
      const agreed = await x25519Agree(pair.privateKey, theirs);
      const secret = await mlkem.decapsulate(ciphertext.subarray(0, MLKEM_CIPHERTEXT_LENGTH));
      return agreed && sha3(concat(secret, agreed, theirs, x25519, LABEL));
    },
  };
}

export async function createEd25519Signer(): Promise<Ed25519Signer> {
  const pair = (await subtle.generateKey({ name: 'Ed25519' }, false, ['sign', 'verify'])) as CryptoKeyPair;
  return {
    publicKey: new Uint8Array(await subtle.exportKey('raw', pair.publicKey)),
    sign: async (message) =>
      new Uint8Array(await subtle.sign({ name: 'Ed25519' }, pair.privateKey, message as Uint8Array<ArrayBuffer>)),
  };
}
