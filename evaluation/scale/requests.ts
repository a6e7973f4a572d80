/** Key requests, and what they cost the key server and its database. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { REQUESTS, rateOf, startServer } from '../../bench/key-clients.ts';
import type { MeasuredServer } from '../../bench/key-server.ts';
import { mediansOf } from '../../bench/measure.ts';
import { processorTime, sumOf, treeOf, writtenBy } from '../../bench/proc.ts';
import type { Started } from '../../bench/processes.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import { type Cluster, startCluster } from '../../tests/support/postgres-cluster.ts';

const RUNS = 5;

/** Times of each request, with sixteen at a time. */
export interface RequestCost {
  /** Milliseconds of a core: of the key server, and of a database beside it. */
  readonly processor: number;
  readonly databaseProcessor: number;
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
    await rateOf(facts, facts);
    const after = await spent();
    const each = (name: keyof typeof after, scale: number) => ((after[name] - before[name]) * scale) / REQUESTS;
    runs.push({
      processor: each('processor', 1000),
      databaseProcessor: each('databaseProcessor', 1000),
      written: each('written', 1),
    });
  }
  return mediansOf(runs);
}

/** Figures of a key server on PostgreSQL. */
export async function costOnPostgres(): Promise<RequestCost> {
  await using endings = new AsyncDisposableStack();
  const folder = await temporaryFolder('evaluate-keys', endings);
  const cluster = await startCluster({ durable: true });
  endings.defer(cluster.close);
  const server = await startServer([await cluster.createDatabase('scale'), folder]);
  endings.defer(server.stop);
  return costOfRequests(server, () => processesOf(cluster));
}

/** PostgreSQL has one for each connection, and some for itself. */
async function processesOf({ directory }: Cluster): Promise<number[]> {
  const text = await readFile(join(directory, 'data', 'postmaster.pid'), 'utf8');
  return treeOf(Number.parseInt(text, 10));
}
