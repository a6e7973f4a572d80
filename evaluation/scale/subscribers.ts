/** A key server with very many subscribers, and its bundles with very many sets. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configIn, fresh, importer } from '../../bench/bundles.ts';
import { startServer } from '../../bench/key-clients.ts';
import { runCommand } from '../../bench/measure.ts';
import { peakMemoryOf } from '../../bench/proc.ts';
import { NODE } from '../../bench/processes.ts';
import { openState } from '../../keyserver/storage/state.ts';
import type { Filled } from './filled.ts';
import { costOfRequests, type RequestCost } from './requests.ts';

const FILLED = fileURLToPath(new URL('filled.ts', import.meta.url));

export interface Served extends Filled, RequestCost {
  readonly subscribers: number;
  /** MiB after the requests. */
  readonly memory: number;
}

export async function serve(subscribers: number): Promise<Served> {
  return inFolder(async (folder) => {
    const filled = JSON.parse(await runCommand(NODE, [FILLED, folder, String(subscribers)])) as Filled;
    const server = await startServer(['sqlite', folder]);
    try {
      const cost = await costOfRequests(server);
      return { ...filled, ...cost, subscribers, memory: await peakMemoryOf(server.facts.pid) };
    } finally {
      await server.stop();
    }
  });
}

/** Takes a first bundle with so many sets. */
export async function importSets(sets: number): Promise<{ readonly seconds: number }> {
  return inFolder(async (folder) => {
    const state = await openState(configIn(folder));
    const { importOf } = await importer(state);
    const named = await Promise.all(Array.from({ length: sets }, () => fresh('set')));
    const begun = performance.now();
    await importOf(named, []);
    const seconds = (performance.now() - begun) / 1000;
    await state.database.close();
    return { seconds };
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
