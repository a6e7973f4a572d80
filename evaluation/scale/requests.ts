/** Key requests, and what they cost the key server and its database. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REQUESTS, rateOf, startServer } from '../../bench/key-clients.ts';
import type { MeasuredServer } from '../../bench/key-server.ts';
import { mediansOf } from '../../bench/measure.ts';
import { processorTime, sumOf, treeOf, writtenBy } from '../../bench/proc.ts';
import type { Started } from '../../bench/processes.ts';
import { type Cluster, startCluster } from '../../tests/support/postgres-cluster.ts';

const RUNS = 5;

/** For each request, but for the rate. */
export interface RequestCost {
  /** A second, with sixteen at a time. */
  readonly rate: number;
  /** Milliseconds of a core: of the key server, and of a database beside it. */
  readonly processor: number;
  readonly databaseProcessor: number;
  /** Bytes that went to the disk. */
  readonly written: number;
}

/** Medians. @param database - the processes of a database beside it */
export async function costOfRequests(
  { facts }: Started<MeasuredServer>,
  database: () => Promise<readonly number[]> = async () => [],
): Promise<RequestCost> {
  await rateOf(facts, facts); // until it is compiled
  const runs: RequestCost[] = [];
  while (runs.length < RUNS) {
    const others = await database();
    const spent = async () => ({
      processor: await processorTime(facts.pid),
      databaseProcessor: await sumOf(others, processorTime),
      written: await sumOf([facts.pid, ...others], writtenBy),
    });
    const before = await spent();
    const rate = await rateOf(facts, facts);
    const after = await spent();
    const each = (name: keyof typeof after, scale: number) => ((after[name] - before[name]) * scale) / REQUESTS;
    runs.push({
      rate,
      processor: each('processor', 1000),
      databaseProcessor: each('databaseProcessor', 1000),
      written: each('written', 1),
    });
  }
  return mediansOf(runs);
}

/** The places for a database that a key server may have. */
export interface RequestCosts {
  readonly sqlite: RequestCost;
  /** In memory, where nothing waits for a disk. */
  readonly memory: RequestCost;
  readonly postgres: RequestCost;
}

export async function costsByDatabase(): Promise<RequestCosts> {
  await using endings = new AsyncDisposableStack();
  const folderIn = async (parent: string) => {
    const folder = await mkdtemp(join(parent, 'wispr-evaluate-keys-'));
    endings.defer(() => rm(folder, { recursive: true, force: true }));
    return folder;
  };
  const start = async (database: string, folder: string) => {
    const started = await startServer([database, folder]);
    endings.defer(started.stop);
    return started;
  };
  const cluster = await startCluster({ durable: true });
  endings.defer(cluster.close);
  const sqlite = await start('sqlite', await folderIn(tmpdir()));
  const memory = await start('sqlite', await folderIn('/dev/shm'));
  const postgres = await start(await cluster.createDatabase('scale'), await folderIn(tmpdir()));
  return {
    sqlite: await costOfRequests(sqlite),
    memory: await costOfRequests(memory),
    postgres: await costOfRequests(postgres, () => processesOf(cluster)),
  };
}

/** PostgreSQL has one for each connection, and some for itself. */
async function processesOf({ directory }: Cluster): Promise<number[]> {
  const text = await readFile(join(directory, 'data', 'postmaster.pid'), 'utf8');
  return treeOf(Number.parseInt(text, 10));
}
