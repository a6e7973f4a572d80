/** RSA-2048: decryptions in batches beside single ones, and beside OpenSSL. */
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../measure.ts';

const PYTHON = fileURLToPath(new URL('../../../.cache/batch-rsa/bin/python3', import.meta.url));
const PROGRAM = fileURLToPath(new URL('batch-rsa.py', import.meta.url));

/** Milliseconds for each decryption. */
export interface Batching {
  /** By the size of the batch; 1: alone. */
  readonly bySize: Readonly<Record<'1' | '2' | '4' | '8', number>>;
  readonly openssl: number;
}

export async function measureBatching(): Promise<Batching> {
  const bySize = JSON.parse(await runCommand(PYTHON, [PROGRAM]));
  const speed = await runCommand('openssl', ['speed', '-seconds', '3', 'rsa2048']);
  const seconds = Number(/^rsa 2048 bits ([\d.]+)s/m.exec(speed)?.[1]);
  if (!(seconds > 0)) throw new Error(`openssl speed has said no time: ${speed}`);
  return { bySize, openssl: seconds * 1000 };
}
