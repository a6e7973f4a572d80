/** A real PostgreSQL: one cluster serves the whole run, and each key server gets a database of its own in it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the directory of the socket of the run's PostgreSQL can be asked for: the first request starts it. */
    postgres: string;
  }
}

const PROGRAMS = '/usr/lib/postgresql';
/** PostgreSQL does not run as root. */
const NOBODY = 65_534;
const SUPERUSER = 'wispr';

export interface Cluster {
  /** Directory of its socket; it listens nowhere else. */
  readonly directory: string;
  close(): Promise<void>;
}

/** Starts a cluster that survives no power cut, and so takes no time for one. */
export async function startCluster(): Promise<Cluster> {
  const [version = ''] = readdirSync(PROGRAMS).sort().slice(-1);
  const program = (name: string) => join(PROGRAMS, version, 'bin', name);
  const directory = mkdtempSync(join(tmpdir(), 'pg-'));
  const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (as.uid !== undefined) chownSync(directory, as.uid, as.gid);
  const data = join(directory, 'data');
  const made = ['--no-sync', '--no-locale', '--encoding=UTF8', '--auth=trust', `--username=${SUPERUSER}`, '-D', data];
  execFileSync(program('initdb'), made, { ...as, cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] });
  const settings = [`unix_socket_directories=${directory}`, 'listen_addresses=', 'fsync=off', 'full_page_writes=off'];
  const sizes = ['shared_buffers=16MB', 'max_connections=200', 'autovacuum=off'];
  const args = ['-D', data, ...[...settings, ...sizes].flatMap((setting) => ['-c', setting])];
  const server = spawn(program('postgres'), args, { ...as, cwd: '/', stdio: 'ignore' });
  await untilReady(server, directory);
  return {
    directory,
    close: async () => {
      if (server.exitCode === null && server.kill('SIGQUIT')) await once(server, 'exit');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function untilReady(server: ChildProcess, directory: string): Promise<void> {
  while (server.exitCode === null) {
    const isReady = existsSync(join(directory, '.s.PGSQL.5432')) && (await askedFor(directory, 'SELECT 1'));
    if (isReady) return;
    await wait(20);
  }
  throw new Error('PostgreSQL has not started');
}

async function askedFor(directory: string, sql: string): Promise<boolean> {
  const client = new pg.Client({ host: directory, user: SUPERUSER, database: 'postgres' });
  try {
    await client.connect();
    await client.query(sql);
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code !== '57P03') throw error; // it is starting
    return false;
  } finally {
    await client.end();
  }
}

let databases = 0;

/** A new database in a cluster. @returns its address, as it stands in a configuration */
export async function createDatabase(directory: string): Promise<string> {
  const name = `test_${process.pid}_${++databases}`;
  if (!(await askedFor(directory, `CREATE DATABASE ${name}`))) throw new Error('PostgreSQL has ended');
  return `postgres:///${name}?${new URLSearchParams({ host: directory, user: SUPERUSER })}`;
}

/** The same in the cluster of the run. */
export async function newPostgresUrl(): Promise<string> {
  const answer = await fetch(inject('postgres'));
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return createDatabase(text);
}

/** Vitest's global set-up: runs once, in Vitest's own process. @returns the end of it */
export default async function offerPostgres({ provide }: TestProject): Promise<() => Promise<void>> {
  let cluster: Promise<Cluster> | undefined;
  const server = createServer(async (_, response) => {
    cluster ??= startCluster();
    await cluster.then(
      ({ directory }) => response.end(directory),
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
