import { runCommand } from '../bench/measure.ts';

const SECONDS = '2';

/**
 * By the time of the process of openssl, not that of the clock on the wall.
 *
 * @param args - of `openssl speed`, with one algorithm
 * @returns bytes a second, or signatures and verifications a second
 */
export async function speed(...args: string[]): Promise<number[]> {
  const output = await runCommand('openssl', ['speed', '-mr', '-seconds', SECONDS, ...args]);
  // They stand last in the line of results.
  const [, numbers = ''] = /^\+F\d*:.*?((?::[\d.]+\.\d+)+)$/m.exec(output) ?? [];
  if (numbers === '') throw new Error(`openssl speed said ${output}`);
  return numbers.slice(1).split(':').map(Number);
}
