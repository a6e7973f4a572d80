/** A key server with very many subscribers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../bench/key-clients.ts';
import { runCommand } from '../../bench/measure.ts';
import { peakMemoryOf } from '../../bench/proc.ts';
import { NODE } from '../../bench/processes.ts';
import type { Filled } from './filled.ts';
import { costOfRequest } from './requests.ts';

const FILLED = fileURLToPath(new URL('filled.ts', import.meta.url));

export interface Served extends Filled {
  readonly subscribers: number;
  /** Milliseconds of a core for a key request. */
  readonly processor: number;
  /** MiB after the requests. */
  readonly memory: number;
}

export async function serve(subscribers: number): Promise<Served> {
  return inFolder(async (folder) => {
    const filled = JSON.parse(await runCommand(NODE, [FILLED, folder, String(subscribers)])) as Filled;
    const server = await startServer(['sqlite', folder]);
    try {
      const processor = await costOfRequest(server);
      return { ...filled, processor, subscribers, memory: await peakMemoryOf(server.facts.pid) };
    } finally {
      await server.stop();
    }
  });
}

async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'wispr-evaluate-scale-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
