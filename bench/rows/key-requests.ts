/** Key requests to one key server: each is authenticated, written down as answered, and gets a key. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Asked } from '../key-server.ts';
import { compare, measureAlternately, type Row } from '../measure.ts';
import { startCluster } from '../postgres-cluster.ts';
import { NODE } from '../processes.ts';

const SERVER = fileURLToPath(new URL('../key-server.ts', import.meta.url));
const RUNS = 7;
/** In one run. */
export const REQUESTS = 2000;
const AT_A_TIME = 16;

export interface Started<Ready> {
  readonly asked: Ready;
  stop(): Promise<void>;
}

export async function keyRequests(): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'wispr-bench-keys-'));
  const endings: (() => Promise<void>)[] = [() => rm(folder, { recursive: true })];
  const start = async (...args: string[]) => {
    const started = await startServer(args);
    endings.push(started.stop);
    return started.asked;
  };
  try {
    const cluster = await startCluster({ durable: true });
    endings.push(cluster.close);
    const sqlite = await start('sqlite', await mkdtemp(join(folder, 'sqlite-')));
    const shared = [await cluster.createDatabase('bench'), await mkdtemp(join(folder, 'postgres-'))];
    const postgres = await start(...shared);
    const second = await start(...shared);
    const [length = 0] = await send(sqlite.origin, await requestsFor(sqlite, 1));
    const express = await start('express', String(length));
    const contestants = [
      { name: 'SQLite', run: () => rateOf(sqlite, sqlite) },
      { name: 'PostgreSQL', run: () => rateOf(postgres, postgres) },
      { name: 'two on PostgreSQL', run: () => rateOfTwo(postgres, second) },
      { name: 'bare Express', run: () => rateOf(express, sqlite) },
    ];
    const [onSqlite = 0, onPostgres = 0, onTwo = 0, bare = 0] = await measureAlternately(contestants, RUNS);
    const about = { unit: 'requests/s', runs: RUNS, bound: 'one core: HTTP, HMAC, AES-256-GCM; waiting for the disk' };
    return [
      ...compare({ ...about, row: 'key-requests: SQLite' }, ['', 'bare Express'], [onSqlite, bare]),
      ...compare({ ...about, row: 'key-requests: PostgreSQL' }, ['', 'bare Express'], [onPostgres, bare]),
      ...compare({ ...about, row: 'key-requests: two on PostgreSQL' }, ['', 'one'], [onTwo, onPostgres]),
    ];
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

/** `bench/key-server.ts` with these arguments. */
export function startServer(args: readonly string[]): Promise<Started<Asked>> {
  return startProgram(SERVER, args);
}

/** A program that says in a line of JSON what can be asked, and ends with its standard input. */
export async function startProgram<Ready>(file: string, args: readonly string[]): Promise<Started<Ready>> {
  const child = spawn(NODE, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const early = ended.then(() => Promise.reject(new Error('the server has ended')));
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), early]);
  return {
    asked: JSON.parse(line),
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

/** Made before the clock runs: a reader's own work is no part of this. */
function requestsFor({ origin, set, devices }: Asked, count: number): Promise<Uint8Array[]> {
  const now = nowInSeconds();
  const made = Array.from({ length: count }, (_, index) => {
    const device = devices[index % devices.length];
    const key = fromBase64url(device?.key ?? '', 32) ?? new Uint8Array(0);
    return encodeKeyRequest({ id: device?.id ?? '', key }, origin, [set], now);
  });
  return Promise.all(made);
}

/** Requests a second. @param devices - that ask */
export async function rateOf({ origin }: Pick<Asked, 'origin'>, devices: Asked): Promise<number> {
  const requests = await requestsFor(devices, REQUESTS);
  return rateOfSending(() => send(origin, requests));
}

/** The same number of requests, and as many at a time, half of them to each. */
async function rateOfTwo(...servers: readonly [Asked, Asked]): Promise<number> {
  const halves = await Promise.all(servers.map((server) => requestsFor(server, REQUESTS / 2)));
  const sendHalf = ({ origin }: Asked, index: number) => send(origin, halves[index] ?? [], AT_A_TIME / 2);
  return rateOfSending(async () => (await Promise.all(servers.map(sendHalf))).flat());
}

/** @param sending - of all requests: returns the lengths of the answers */
async function rateOfSending(sending: () => Promise<number[]>): Promise<number> {
  const start = performance.now();
  const lengths = await sending();
  const seconds = (performance.now() - start) / 1000;
  if (lengths.length !== REQUESTS || new Set(lengths).size !== 1) throw new Error('not all requests got a key');
  return REQUESTS / seconds;
}

/** @returns the lengths of the answers */
async function send(origin: string, requests: readonly Uint8Array[], atATime = AT_A_TIME): Promise<number[]> {
  const pool = new Pool(origin, { connections: atATime });
  const lengths: number[] = [];
  let next = 0;
  const sendOn = async () => {
    for (let body = requests[next++]; body; body = requests[next++]) {
      const answer = await pool.request({ path: KEY_REQUEST_PATH, method: 'POST', body });
      lengths.push((await answer.body.bytes()).length);
      if (answer.statusCode !== 200) throw new Error(`${origin} answered ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: atATime }, sendOn));
  await pool.close();
  return lengths;
}
