/** Signatures that others made, and whether the specification takes them: tests/vectors/third-party/README.md. */
import { utf8 } from '../../../core/encoding/bytes.ts';
import { fromHex } from '../../../core/encoding/hex.ts';
import { ed25519Verify } from '../../../core/primitives/webcrypto-ed25519.ts';

/** `wycheproof_ed25519_test.json`. */
export interface WycheproofFile {
  readonly testGroups: readonly {
    readonly publicKey: { readonly pk: string };
    readonly tests: readonly {
      readonly tcId: number;
      readonly msg: string;
      readonly sig: string;
      readonly result: string;
    }[];
  }[];
}

/** `cctv_ed25519vectors.json`. */
export type CctvFile = readonly {
  readonly number: number;
  readonly key: string;
  readonly sig: string;
  readonly msg: string;
  readonly flags: readonly string[] | null;
}[];

export interface SignatureVector {
  readonly name: string;
  readonly key: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
  /** Tells whether it must be accepted. */
  readonly valid: boolean;
  /** Flags of CCTV. */
  readonly flags: readonly string[];
}

const REFUSED = ['low_order_A', 'low_order_R', 'non_canonical_A', 'non_canonical_R', 'low_order_residue'];
const bytes = (hex: string) => fromHex(hex) ?? new Uint8Array(0);

export function wycheproofSignatures({ testGroups }: WycheproofFile): SignatureVector[] {
  return testGroups.flatMap(({ publicKey, tests }) =>
    tests.map(({ tcId, msg, sig, result }) => ({
      name: `Wycheproof ${tcId}`,
      key: bytes(publicKey.pk),
      message: bytes(msg),
      signature: bytes(sig),
      valid: result === 'valid',
      flags: [],
    })),
  );
}

export function cctvSignatures(file: CctvFile): SignatureVector[] {
  return file.map(({ number, key, sig, msg, flags }) => ({
    name: `CCTV ${number}`,
    key: bytes(key),
    message: utf8(msg),
    signature: bytes(sig),
    valid: !flags?.some((flag) => REFUSED.includes(flag)),
    flags: flags ?? [],
  }));
}

export interface SignatureOutcome {
  readonly name: string;
  readonly accepted: boolean;
  /** Tells whether the platform accepts it by itself, without what this project refuses before. */
  readonly byPlatform: boolean;
}

/** Runs vectors on WebCrypto. */
export async function runSignatures(vectors: readonly SignatureVector[]): Promise<SignatureOutcome[]> {
  const outcomes: SignatureOutcome[] = [];
  for (const { name, key, message, signature } of vectors) {
    const accepted = await ed25519Verify(signature, message, key);
    outcomes.push({ name, accepted, byPlatform: await verifyBare(signature, message, key) });
  }
  return outcomes;
}

async function verifyBare(signature: Uint8Array, message: Uint8Array, key: Uint8Array): Promise<boolean> {
  const [one, other, third] = [signature, message, key].map((array) => array.slice());
  if (!one || !other || !third) return false;
  try {
    const imported = await crypto.subtle.importKey('raw', third, { name: 'Ed25519' }, false, ['verify']);
    return await crypto.subtle.verify({ name: 'Ed25519' }, imported, one, other);
  } catch {
    return false;
  }
}
