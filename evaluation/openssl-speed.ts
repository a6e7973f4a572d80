import { runCommand } from '../bench/measure.ts';

const SECONDS = '2';

/** Bytes, or signatures and verifications, a second: by the process's time, not that of the clock on the wall. */
export async function speed(...args: string[]): Promise<number[]> {
  const output = await runCommand('openssl', ['speed', '-mr', '-seconds', SECONDS, ...args]);
  // They stand last in the line of results.
  const [, numbers = ''] = /^\+F\d*:.*?((?::[\d.]+\.\d+)+)$/m.exec(output) ?? [];
  if (numbers === '') throw new Error(`openssl speed said ${output}`);
  return numbers.slice(1).split(':').map(Number);
}
