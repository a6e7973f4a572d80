/** RSA-2048: decryptions in batches beside single ones, and beside OpenSSL. */
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../bench/measure.ts';
import { speed } from '../openssl-speed.ts';

const PYTHON = fileURLToPath(new URL('../../.cache/batch-rsa/bin/python3', import.meta.url));
const PROGRAM = fileURLToPath(new URL('batch-rsa.py', import.meta.url));

export interface Batching {
  /** By the size of the batch; 1: alone. */
  readonly bySize: Readonly<Record<'1' | '2' | '4' | '8', number>>;
  readonly openssl: number;
}

export async function measureBatching(): Promise<Batching> {
  const bySize = JSON.parse(await runCommand(PYTHON, [PROGRAM]));
  const [signatures = Number.NaN] = await speed('rsa2048');
  return { bySize, openssl: 1000 / signatures };
}
