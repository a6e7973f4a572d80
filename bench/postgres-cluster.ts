/** A PostgreSQL of its own, for measuring and for tests, run by nobody and ended with its process. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';

const PROGRAMS = '/usr/lib/postgresql';
/** PostgreSQL does not run as root. */
const NOBODY = 65_534;
const SUPERUSER = 'wispr';
/** SQLSTATE: it is starting. */
const STARTING = '57P03';

export interface ClusterOptions {
  /** Whether what is promised survives a power cut: else nothing waits for the disk. */
  readonly durable: boolean;
  /** Lines of `postgresql.conf`, and lines of `pg_hba.conf` that come first. `directory` is readable by the server. */
  readonly settings?: (directory: string) => readonly string[];
  readonly doors?: readonly string[];
}

export interface Cluster {
  /** Of its socket. */
  readonly directory: string;
  /** Does one statement, in the database `postgres`. */
  ask(sql: string): Promise<void>;
  /** A new database. @returns its address, as it stands in a configuration */
  createDatabase(name: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts a cluster that listens at a socket only, unless its settings say otherwise. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const [version = ''] = readdirSync(PROGRAMS).sort().slice(-1);
  const program = (name: string) => join(PROGRAMS, version, 'bin', name);
  const directory = mkdtempSync(join(tmpdir(), 'pg-'));
  const as = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if (as.uid !== undefined) chownSync(directory, as.uid, as.gid);
  const data = join(directory, 'data');
  const made = ['--no-sync', '--no-locale', '--encoding=UTF8', '--auth=trust', `--username=${SUPERUSER}`, '-D', data];
  execFileSync(program('initdb'), made, { ...as, cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(join(data, 'pg_hba.conf'), [...(options.doors ?? []), 'local all all trust', ''].join('\n'));
  const child = spawn(program('postgres'), ['-D', data, ...settingsOf(directory, options)], {
    ...as,
    cwd: '/',
    stdio: 'ignore',
  });
  await untilReady(child, directory);
  const ask = (sql: string) => askIn(directory, sql);
  return {
    directory,
    ask,
    createDatabase: async (name) => {
      await ask(`CREATE DATABASE ${name}`);
      return `postgres:///${name}?${new URLSearchParams({ host: directory, user: SUPERUSER })}`;
    },
    close: async () => {
      if (child.exitCode === null && child.kill('SIGQUIT')) await once(child, 'exit');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function settingsOf(directory: string, { durable, settings }: ClusterOptions): string[] {
  const lines = [`unix_socket_directories=${directory}`, 'max_connections=200', 'listen_addresses='];
  if (!durable) lines.push('fsync=off', 'full_page_writes=off', 'autovacuum=off', 'shared_buffers=16MB');
  return [...lines, ...(settings?.(directory) ?? [])].flatMap((line) => ['-c', line]);
}

async function untilReady(child: ChildProcess, directory: string): Promise<void> {
  while (child.exitCode === null) {
    if (existsSync(join(directory, '.s.PGSQL.5432')) && (await isReady(directory))) return;
    await wait(20);
  }
  throw new Error('PostgreSQL has not started');
}

async function isReady(directory: string): Promise<boolean> {
  try {
    await askIn(directory, 'SELECT 1');
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code !== STARTING) throw error;
    return false;
  }
}

async function askIn(directory: string, sql: string): Promise<void> {
  const client = new pg.Client({ host: directory, user: SUPERUSER, database: 'postgres' });
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end();
  }
}
