/** A real PostgreSQL: one cluster serves the whole run, and each key server gets a database of its own in it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { type Cluster, startCluster } from './postgres-cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a new database can be had from the run's PostgreSQL: the first request starts it. */
    postgres: string;
  }
}

/** Someone who has to give a password; the others have to be on this machine. */
export const GUARDED = { user: 'guarded', password: 'not: to \\ be shown' } as const;

/** A new database. @returns its address, as it stands in a configuration */
export async function newPostgresUrl(): Promise<string> {
  const answer = await fetch(inject('postgres'));
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
}

/** Vitest's global set-up: runs once, in Vitest's own process. @returns the end of it */
export default async function offerPostgres({ provide }: TestProject): Promise<() => Promise<void>> {
  let cluster: Promise<Cluster> | undefined;
  let databases = 0;
  const server = createServer(async (_, response) => {
    cluster ??= startWithGuard();
    await cluster
      .then((started) => started.createDatabase(`test_${++databases}`))
      .then(
        (url) => response.end(url),
        (error: Error) => response.writeHead(500).end(error.message),
      );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  provide('postgres', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.close();
    await (await cluster?.catch(() => undefined))?.close();
  };
}

async function startWithGuard(): Promise<Cluster> {
  const { user, password } = GUARDED;
  const cluster = await startCluster({ durable: false, rules: [`local all ${user} scram-sha-256`] });
  await cluster.ask(`CREATE ROLE ${user} LOGIN SUPERUSER PASSWORD '${password}'`);
  return cluster;
}
