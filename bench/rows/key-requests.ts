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
const REQUESTS = 2000;
const AT_A_TIME = 16;

interface Started {
  readonly asked: Asked;
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
    const postgres = await start(await cluster.createDatabase('bench'), await mkdtemp(join(folder, 'postgres-')));
    const [length = 0] = await send(sqlite.origin, await requestsFor(sqlite, 1));
    const express = await start('express', String(length));
    const contestants = [
      { name: 'SQLite', run: () => rateOf(sqlite, sqlite) },
      { name: 'PostgreSQL', run: () => rateOf(postgres, postgres) },
      { name: 'bare Express', run: () => rateOf(express, sqlite) },
    ];
    const [onSqlite = 0, onPostgres = 0, bare = 0] = await measureAlternately(contestants, RUNS);
    const about = { unit: 'requests/s', runs: RUNS, bound: 'one core: HTTP, HMAC, AES-256-GCM; waiting for the disk' };
    return [
      ...compare({ ...about, row: 'key-requests: SQLite' }, ['', 'bare Express'], [onSqlite, bare]),
      ...compare({ ...about, row: 'key-requests: PostgreSQL' }, ['', 'bare Express'], [onPostgres, bare]),
    ];
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

/** `bench/key-server.ts` with these arguments. */
export async function startServer(args: readonly string[]): Promise<Started> {
  const child = spawn(NODE, [SERVER, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
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
export function requestsFor({ origin, set, devices }: Asked, count: number): Promise<Uint8Array[]> {
  const now = nowInSeconds();
  const made = Array.from({ length: count }, (_, index) => {
    const device = devices[index % devices.length];
    const key = fromBase64url(device?.key ?? '', 32) ?? new Uint8Array(0);
    return encodeKeyRequest({ id: device?.id ?? '', key }, origin, [set], now);
  });
  return Promise.all(made);
}

/** Requests a second. */
async function rateOf({ origin }: Asked, devices: Asked): Promise<number> {
  const requests = await requestsFor(devices, REQUESTS);
  const start = performance.now();
  const lengths = await send(origin, requests);
  const seconds = (performance.now() - start) / 1000;
  if (new Set(lengths).size !== 1) throw new Error('not all requests got a key');
  return REQUESTS / seconds;
}

/** @returns the lengths of the answers */
export async function send(origin: string, requests: readonly Uint8Array[]): Promise<number[]> {
  const pool = new Pool(origin, { connections: AT_A_TIME });
  const lengths: number[] = [];
  let next = 0;
  const sendOn = async () => {
    for (let body = requests[next++]; body; body = requests[next++]) {
      const answer = await pool.request({ path: KEY_REQUEST_PATH, method: 'POST', body });
      lengths.push((await answer.body.bytes()).length);
      if (answer.statusCode !== 200) throw new Error(`${origin} answered ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, sendOn));
  await pool.close();
  return lengths;
}
