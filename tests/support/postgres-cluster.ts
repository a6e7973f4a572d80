/** A PostgreSQL of its own, for measuring and for tests, ended by its process id. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';

const PROGRAMS = '/usr/lib/postgresql';
/** PostgreSQL does not run as root: instead of it, a user without rights. */
const OTHER_USER = 65_534;
const SUPERUSER = 'wispr';
/** SQLSTATE: it is starting. */
const STARTING = '57P03';

export interface ClusterOptions {
  /** Tells whether what is promised survives a power cut: else nothing waits for the disk. */
  readonly durable: boolean;
  /** Lines of `pg_hba.conf` that come first. */
  readonly rules?: readonly string[];
  /** Listens on 127.0.0.1 too, for TLS with this key and certificate (PEM). */
  readonly tls?: { readonly port: number; readonly key: string; readonly cert: string };
}

export interface Cluster {
  /** Holds its socket. */
  readonly directory: string;
  /** Does one statement, in the database `postgres`. */
  ask(sql: string): Promise<void>;
  /** A new database. @returns its address, as it stands in a configuration */
  createDatabase(name: string): Promise<string>;
  /** Ends it as its service manager would, without waiting for who is connected. */
  stop(): Promise<void>;
  /** Starts it after `stop`. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a cluster that listens at a socket only, unless `tls` says otherwise. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const [version = ''] = readdirSync(PROGRAMS).sort().slice(-1);
  const program = (name: string) => join(PROGRAMS, version, 'bin', name);
  const directory = mkdtempSync(join(tmpdir(), 'pg-'));
  const as = process.getuid?.() === 0 ? { uid: OTHER_USER, gid: OTHER_USER } : {};
  if (as.uid !== undefined) chownSync(directory, as.uid, as.gid);
  const data = join(directory, 'data');
  const made = ['--no-sync', '--no-locale', '--encoding=UTF8', '--auth=trust', `--username=${SUPERUSER}`, '-D', data];
  execFileSync(program('initdb'), made, { ...as, cwd: '/', stdio: ['ignore', 'ignore', 'inherit'] });
  const { rules = [], tls } = options;
  writeFileSync(join(data, 'pg_hba.conf'), [...rules, 'local all all trust', ''].join('\n'));
  for (const name of ['key', 'cert'] as const) {
    writeFileSync(join(data, name), tls?.[name] ?? '', { mode: 0o600 });
    if (as.uid !== undefined) chownSync(join(data, name), as.uid, as.gid);
  }
  const args = ['-D', data, ...settingsOf(directory, options)];
  const server = { host: directory, port: tls?.port ?? 5432, user: SUPERUSER, database: 'postgres' };
  const start = async () => {
    const started = spawn(program('postgres'), args, { ...as, cwd: '/', stdio: 'ignore' });
    await untilReady(started, server);
    return started;
  };
  let child = await start();
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.kill(signal)) await once(child, 'exit');
  };
  const ask = (sql: string) => askAt(server, sql);
  return {
    directory,
    ask,
    createDatabase: async (name) => {
      await ask(`CREATE DATABASE ${name}`);
      return `postgres:///${name}?${new URLSearchParams({ host: directory, user: SUPERUSER })}`;
    },
    stop: () => end('SIGINT'),
    start: async () => {
      child = await start();
    },
    close: async () => {
      await end('SIGQUIT');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function settingsOf(directory: string, { durable, tls }: ClusterOptions): string[] {
  const lines = [`unix_socket_directories=${directory}`, 'max_connections=200', 'listen_addresses='];
  if (tls)
    lines.push('ssl=on', 'ssl_key_file=key', 'ssl_cert_file=cert', 'listen_addresses=127.0.0.1', `port=${tls.port}`);
  if (!durable) lines.push('fsync=off', 'full_page_writes=off', 'autovacuum=off', 'shared_buffers=16MB');
  return lines.flatMap((line) => ['-c', line]);
}

async function untilReady(child: ChildProcess, server: pg.ClientConfig): Promise<void> {
  while (child.exitCode === null) {
    if (await isReady(server)) return;
    await wait(20);
  }
  throw new Error('PostgreSQL has not started');
}

async function isReady(server: pg.ClientConfig): Promise<boolean> {
  try {
    await askAt(server, 'SELECT 1');
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code !== STARTING) throw error;
    return false;
  }
}

async function askAt(server: pg.ClientConfig, sql: string): Promise<void> {
  const client = new pg.Client(server);
  try {
    await client.connect();
    await client.query(sql);
  } finally {
    await client.end();
  }
}
