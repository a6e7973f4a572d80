/** A real PostgreSQL: one cluster serves the whole run, and each key server gets a database of its own in it. */
import type { TestProject } from 'vitest/node';
import { askFor, offer } from './once-a-run.ts';
import { type Cluster, startCluster } from './postgres-cluster.ts';

/** Someone who has to give a password; the others have to be on this machine. */
export const GUARDED = { user: 'guarded', password: 'not: to \\ be shown' } as const;

/** A new database. @returns its address, as it stands in a configuration */
export function newPostgresUrl(): Promise<string> {
  return askFor('postgres');
}

/** Vitest's global set-up. @returns the end of it */
export default function offerPostgres(project: TestProject): Promise<() => Promise<void>> {
  let databases = 0;
  return offer(
    project,
    'postgres',
    startWithGuard,
    (cluster) => cluster.createDatabase(`test_${++databases}`),
    (cluster) => cluster.close(),
  );
}

async function startWithGuard(): Promise<Cluster> {
  const { user, password } = GUARDED;
  const cluster = await startCluster({ durable: false, rules: [`local all ${user} scram-sha-256`] });
  await cluster.ask(`CREATE ROLE ${user} LOGIN SUPERUSER PASSWORD '${password}'`);
  return cluster;
}
