/** Key requests to one key server: each is authenticated, and gets a key; and those of many browsers at the turn of a day, to two. */
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeSelfSigned } from '../../tests/support/certificates.ts';
import { startCluster } from '../../tests/support/postgres-cluster.ts';
import type { BrowserServer } from '../browser-server.ts';
import {
  AT_A_TIME,
  askAsBrowsers,
  latenciesAt,
  REQUESTS,
  rateOf,
  rateOfSending,
  requestsFor,
  send,
  sendByTls,
  startServer,
} from '../key-clients.ts';
import type { MeasuredServer } from '../key-server.ts';
import { type Contestant, compare, measureAlternately, percentile, type Row } from '../measure.ts';
import { startProgram } from '../processes.ts';
import { temporaryFolder } from '../workspace.ts';

const RUNS = 7;
/** Milliseconds that readers are to wait at most, at half of the load that can be answered. */
const LATENCY_GOAL = 20;
/** Seconds for which requests come at that rate. */
const AT_HALF = 5;
const TLS_REQUESTS = 400;
const BROWSER_SERVER = fileURLToPath(new URL('../browser-server.ts', import.meta.url));
/** Browsers, and seconds in which they ask; milliseconds that nearly none is to wait. */
const BROWSERS = 10_000;
const BROWSERS_IN = 6;
const BROWSER_GOAL = 15_000;

/** Starts `bench/key-server.ts` with these arguments, until the end of the measuring. */
type Start = (...args: string[]) => Promise<MeasuredServer>;

export async function keyRequests(): Promise<Row[]> {
  await using endings = new AsyncDisposableStack();
  const folder = await temporaryFolder('bench-keys', endings);
  const start: Start = async (...args) => {
    const started = await startServer(args);
    endings.defer(started.stop);
    return started.facts;
  };
  const cluster = await startCluster({ durable: true });
  endings.defer(cluster.close);
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
    ...(await latencyRows('SQLite', onSqlite / 2, sqlite, { express, sqlite })),
    ...(await latencyRows('PostgreSQL', onPostgres / 2, postgres, { express, sqlite })),
    ...(await tlsRows(join(folder, 'tls'), length, start)),
    ...(await browserRows(await cluster.createDatabase('browsers'), await mkdtemp(join(folder, 'browsers-')))),
  ];
}

/** Measures how long 99 of 100 requests wait at most, at a rate; beside bare Express at the same rate. */
async function latencyRows(
  name: string,
  rate: number,
  server: MeasuredServer,
  { express, sqlite }: { readonly express: MeasuredServer; readonly sqlite: MeasuredServer },
): Promise<Row[]> {
  const run =
    ({ origin }: MeasuredServer, devices: MeasuredServer) =>
    async () =>
      percentile(99, await latenciesAt(rate, origin, await requestsFor(devices, Math.ceil(rate * AT_HALF))));
  const contestants = [
    { name, run: run(server, server) },
    { name: 'bare Express', run: run(express, sqlite) },
  ];
  const [ours = 0, bare = 0] = await measureAlternately(contestants, RUNS);
  const row = `key-requests: ${name}, p99 at half the load`;
  const about = { row, unit: 'ms', runs: RUNS, bound: `waiting for the disk; other programs; ${Math.round(rate)}/s` };
  return compare(about, ['', 'goal', 'bare Express'], [ours, LATENCY_GOAL, bare]);
}

/** A TLS connection for each request, whole and resumed, to one key server on SQLite and to bare Express. */
async function tlsRows(folder: string, length: number, start: Start): Promise<Row[]> {
  await mkdir(folder);
  await makeSelfSigned(folder, 'localhost');
  const ca = await readFile(join(folder, 'cert.pem'));
  const ours = await start('sqlite', folder);
  const express = await start('express', String(length), folder);
  const contestant = (name: string, { port }: MeasuredServer, resumes: boolean): Contestant => ({
    name,
    run: async () => {
      const requests = await requestsFor(ours, TLS_REQUESTS);
      const begun = performance.now();
      await sendByTls({ port, ca }, requests, resumes);
      return (TLS_REQUESTS * 1000) / (performance.now() - begun);
    },
  });
  const contestants = [
    contestant('whole handshakes', ours, false),
    contestant('whole handshakes, bare Express', express, false),
    contestant('resumed', ours, true),
    contestant('resumed, bare Express', express, true),
  ];
  const [whole = 0, bareWhole = 0, resumed = 0, bareResumed = 0] = await measureAlternately(contestants, RUNS);
  const about = { unit: 'requests/s', runs: RUNS, bound: 'one core: the handshake; waiting for the disk' };
  const row = 'key-requests: TLS connection each';
  return [
    ...compare({ ...about, row }, ['', 'bare Express'], [whole, bareWhole]),
    ...compare({ ...about, row: `${row}, resumed` }, ['', 'bare Express', 'whole'], [resumed, bareResumed, whole]),
  ];
}

/** A tenth of 100,000 browsers in a minute, as fast as they: each asks one of two key servers for its key, and again when it is told to. */
async function browserRows(database: string, folder: string): Promise<Row[]> {
  const first = await startProgram<BrowserServer>(BROWSER_SERVER, [database, folder, String(BROWSERS)]);
  await using endings = new AsyncDisposableStack();
  endings.defer(first.stop);
  const second = await startProgram<BrowserServer>(BROWSER_SERVER, [database, folder, '0']);
  endings.defer(second.stop);
  const { waits, refused } = await askAsBrowsers(first.facts, [first.facts.port, second.facts.port], BROWSERS_IN);
  const bound = `two cores, with the browsers and PostgreSQL on them; asked to come again: ${refused}`;
  const about = { unit: 'ms', runs: 1, bound };
  const row = `key-requests: ${BROWSERS} browsers in ${BROWSERS_IN} s, p`;
  return [50, 99].flatMap((percent) =>
    compare({ ...about, row: row + percent }, ['', 'goal'], [percentile(percent, waits), BROWSER_GOAL]),
  );
}

/** Sends as many requests as to one server, and as many at a time, half of them to each. */
async function rateOfTwo(...servers: readonly [MeasuredServer, MeasuredServer]): Promise<number> {
  const halves = await Promise.all(servers.map((server) => requestsFor(server, REQUESTS / 2)));
  const sendHalf = ({ origin }: MeasuredServer, index: number) => send(origin, halves[index] ?? [], AT_A_TIME / 2);
  return rateOfSending(REQUESTS, async () => (await Promise.all(servers.map(sendHalf))).flat());
}
