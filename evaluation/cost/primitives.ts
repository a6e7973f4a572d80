/** Ciphers, hashes and signatures by `openssl speed`. */
import { speed } from '../openssl-speed.ts';

/** A block of a protected object. */
const BLOCK = '65536';

export interface Primitives {
  /** Nanoseconds a byte, by algorithm: blocks of 64 KiB. */
  readonly bytes: ReadonlyMap<string, number>;
  readonly signatures: ReadonlyMap<string, { readonly sign: number; readonly verify: number }>;
}

const BY_BYTES: readonly (readonly [string, string])[] = [
  ['AES-128-GCM', 'aes-128-gcm'],
  ['AES-256-GCM', 'aes-256-gcm'],
  ['ChaCha20-Poly1305', 'chacha20-poly1305'],
  ['SHA-256', 'sha256'],
];
const SIGNATURES: readonly (readonly [string, string])[] = [
  ['Ed25519', 'ed25519'],
  ['ECDSA P-256', 'ecdsap256'],
  ['RSA-2048', 'rsa2048'],
];

export async function primitives(): Promise<Primitives> {
  const bytes = new Map<string, number>();
  for (const [name, algorithm] of BY_BYTES) {
    const [rate = Number.NaN] = await speed('-bytes', BLOCK, '-evp', algorithm);
    bytes.set(name, 1e9 / rate);
  }
  const signatures = new Map<string, { sign: number; verify: number }>();
  for (const [name, algorithm] of SIGNATURES) {
    const [sign = Number.NaN, verify = Number.NaN] = await speed(algorithm);
    signatures.set(name, { sign: 1e9 / sign, verify: 1e9 / verify });
  }
  return { bytes, signatures };
}
