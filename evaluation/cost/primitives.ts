/** Ciphers, hashes and private-key operations by `openssl speed`, ciphers also without the processor's instructions for AES. */
import { measureAlternately, median } from '../../bench/measure.ts';
import { type Instructions, speed } from '../openssl-speed.ts';
import { IS_QUICK } from '../quick.ts';

const RUNS = IS_QUICK ? 1 : 3;
/** A block of a protected object. */
const BLOCK = '65536';
/** Cipher and hash in one pass, which OpenSSL has for processors with AES instructions only. */
const ONE_PASS = 'AES-128-CBC with HMAC-SHA1';

const BOTH = ['all', 'without AES'] as const;

const BY_BYTES: Readonly<Record<string, readonly string[]>> = {
  'AES-128-GCM': ['-evp', 'aes-128-gcm'],
  'AES-256-GCM': ['-evp', 'aes-256-gcm'],
  'ChaCha20-Poly1305': ['-evp', 'chacha20-poly1305'],
  'SHA-256': ['-evp', 'sha256'],
  'AES-128-CBC': ['-evp', 'aes-128-cbc'],
  'HMAC-SHA1': ['-hmac', 'sha1'],
  [ONE_PASS]: ['-evp', 'aes-128-cbc-hmac-sha1'],
};
const SIGNATURES: Readonly<Record<string, string>> = {
  Ed25519: 'ed25519',
  'ECDSA P-256': 'ecdsap256',
  'RSA-1024': 'rsa1024',
  'RSA-2048': 'rsa2048',
};

/** Nanoseconds by the name of an algorithm. */
export interface Primitives {
  /** Time of a byte, in blocks of 64 KiB; `undefined` where OpenSSL does not have it. */
  readonly bytes: ReadonlyMap<string, Readonly<Record<'all' | 'without AES', number | undefined>>>;
  readonly signatures: ReadonlyMap<string, { readonly sign: number; readonly verify: number }>;
}

export async function primitives(): Promise<Primitives> {
  const bytes = new Map();
  for (const [name, args] of Object.entries(BY_BYTES)) {
    const all = ['-bytes', BLOCK, ...args];
    // Libraries and processors of other kinds do not know its name.
    bytes.set(name, name === ONE_PASS ? await inTurn(['all'], all).catch(() => ({})) : await inTurn(BOTH, all));
  }
  const signatures = new Map();
  for (const [name, algorithm] of Object.entries(SIGNATURES)) {
    const runs: number[][] = [];
    for (let run = 0; run < RUNS; run++) runs.push(await speed([algorithm]));
    const [sign, verify] = [0, 1].map((index) => 1e9 / median(runs.map((rates) => rates[index] ?? Number.NaN)));
    signatures.set(name, { sign, verify });
  }
  return { bytes, signatures };
}

/** @returns nanoseconds a byte, medians */
async function inTurn(
  instructions: readonly Instructions[],
  args: readonly string[],
): Promise<Partial<Record<Instructions, number>>> {
  const contestants = instructions.map((may) => ({
    name: may,
    run: async () => (await speed(args, may))[0] ?? Number.NaN,
  }));
  const rates = await measureAlternately(contestants, RUNS);
  return Object.fromEntries(instructions.map((may, index) => [may, 1e9 / (rates[index] ?? Number.NaN)]));
}
