/** A key server with very many subscribers. */
import { fileURLToPath } from 'node:url';
import { startServer } from '../../bench/key-clients.ts';
import { runCommand } from '../../bench/measure.ts';
import { NODE } from '../../bench/processes.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import type { Filled } from './filled.ts';
import { costOfRequest } from './requests.ts';

const FILLED = fileURLToPath(new URL('filled.ts', import.meta.url));

export interface Served extends Filled {
  /** Milliseconds of a core for a key request. */
  readonly processor: number;
}

export async function serve(subscribers: number): Promise<Served> {
  await using endings = new AsyncDisposableStack();
  const folder = await temporaryFolder('evaluate-scale', endings);
  const filled = JSON.parse(await runCommand(NODE, [FILLED, folder, String(subscribers)])) as Filled;
  const server = await startServer(['sqlite', folder]);
  endings.defer(server.stop);
  return { ...filled, processor: await costOfRequest(server) };
}
