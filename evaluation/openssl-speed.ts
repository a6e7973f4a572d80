import { runCommand } from '../bench/measure.ts';
import { IS_QUICK } from './quick.ts';

const SECONDS = IS_QUICK ? '1' : '2';

/**
 * Instructions that OpenSSL may use, on x64: all that there are; all but those for AES and carry-less multiplication; as in processors of 2007, neither
 * these nor vectors beyond SSSE3. A value without a second half would clear it, and take AVX2 and SHA away with AES.
 */
const INSTRUCTIONS = {
  all: undefined,
  'without AES': '~0x200000200000000:~0x60000000000',
  SSSE3: '~0x1200000200000000:0',
} as const;

export type Instructions = keyof typeof INSTRUCTIONS;

/** Bytes, or operations of each kind, a second: by the process's time, not that of the clock on the wall. */
export async function speed(args: readonly string[], instructions: Instructions = 'all'): Promise<number[]> {
  const env = { ...process.env, OPENSSL_ia32cap: INSTRUCTIONS[instructions] };
  const output = await runCommand('openssl', ['speed', '-mr', '-seconds', SECONDS, ...args], undefined, env);
  // Numbers stand last in the line of results.
  const [, numbers = ''] = /^\+F\d*:.*?((?::[\d.]+\.\d+)+)$/m.exec(output) ?? [];
  if (numbers === '') throw new Error(`openssl speed said ${output}`);
  return numbers.slice(1).split(':').map(Number);
}
