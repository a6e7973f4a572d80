import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { FailureCounts, pruneFailures } from '../../keyserver/http/failure-counts.ts';
import { limitFailures } from '../../keyserver/http/limits.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { keepStateIn, storeIn } from '../support/store.ts';

describe.each(['sqlite', 'postgres'] as const)('failures that key servers count together, on %s', (kind) => {
  let now = 1_800_000_000;
  let states: Awaited<ReturnType<typeof openState>>[] = [];
  keepStateIn(kind);
  beforeAll(async () => {
    const folder = temporaryFolder();
    const config = { ...configIn(folder), ...(await storeIn(folder)) };
    for (let index = 0; index < 2; index++) states.push(await openState(config, () => now));
  });
  afterAll(async () => {
    await Promise.all(states.map(({ database }) => database.close()));
    states = [];
  });
  const pair = (name: string) =>
    states.map((state) => new FailureCounts(state, name)) as [FailureCounts, FailureCounts];
  const fail = async (counts: FailureCounts, key: string) => {
    const attempt = await counts.begin(key);
    attempt.end(true);
    (await counts.begin(key)).end(false); // waits for what is written
    return attempt.hits;
  };
  const hits = async (counts: FailureCounts, key: string) => {
    const attempt = await counts.begin(key);
    attempt.end(false);
    return attempt.hits;
  };
  const rows = async () => (await states[0]?.database.all('SELECT counted FROM failures')) ?? [];

  it('count each failure once, wherever it happened, and no success', async () => {
    const [here, there] = pair('both');
    for (let round = 1; round <= 3; round++) expect(await fail(here, '192.0.2.1')).toBe(round);
    expect(await hits(here, '192.0.2.1')).toBe(4);
    expect(await hits(there, '192.0.2.1')).toBe(4);
    expect(await hits(there, '192.0.2.2')).toBe(1);
    expect(await hits(new FailureCounts(states[0] as never, 'another'), '192.0.2.1')).toBe(1);
  });

  it('count what runs at the same time as if it had failed', async () => {
    const [here] = pair('at once');
    const attempts = await Promise.all(Array.from({ length: 5 }, () => here.begin('a')));
    expect(attempts.map((attempt) => attempt.hits).sort()).toEqual([1, 2, 3, 4, 5]);
    attempts.forEach(({ end }, index) => void end(index < 2));
    expect(await hits(here, 'a')).toBe(3);
  });

  it('start from zero a quarter of an hour after the first', async () => {
    const [here, there] = pair('window');
    await fail(here, 'a');
    now += 899;
    expect(await fail(there, 'a')).toBe(2);
    await hits(there, 'a');
    now += 1;
    expect(await fail(here, 'a')).toBe(1);
    expect(await hits(here, 'a')).toBe(2);
  });

  it('count over HTTP at both, and attempts that are broken off', async () => {
    const limit = { kind: 'http', limit: 2, countedBy: 'address' } as const;
    const arrived = Promise.withResolvers<void>();
    const servers = states.map((state) => {
      const app = express();
      app.use(limitFailures(state, limit, (_request, response) => void response.status(429).end()));
      app.get('/wrong', (_request, response) => void response.status(403).end());
      app.get('/never', () => arrived.resolve());
      return app.listen(0, '127.0.0.1');
    });
    await Promise.all(servers.map((server) => once(server, 'listening')));
    const [here = 0, there = 0] = servers.map((server) => (server.address() as AddressInfo).port);
    const status = async (port: number) => (await fetch(`http://127.0.0.1:${port}/wrong`)).status;
    const socket = connect(here, '127.0.0.1');
    socket.write('GET /never HTTP/1.1\r\nHost: x\r\n\r\n');
    await arrived.promise;
    socket.destroy();
    await once(socket, 'close');
    expect(await status(here)).toBe(403);
    expect(await status(here)).toBe(429);
    expect(await status(there)).toBe(429);
    for (const server of servers) server.closeAllConnections();
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  });

  it('end an attempt whose client left while its failures were looked up', async () => {
    const [state] = states as [(typeof states)[0]];
    const { database } = state;
    const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = database.first.bind(database) as typeof database.first;
    vi.spyOn(database, 'first').mockImplementation(async (sql, ...values) => {
      asked.resolve();
      await left.promise;
      return first(sql, ...values);
    });
    const counts = limitFailures(state, { kind: 'left', limit: 1, countedBy: 'address' }, (_request, response) => {
      response.status(429).end();
    });
    const app = express().use(counts, (_request, response) => void response.status(403).end());
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await asked.promise;
    socket.destroy();
    const isGone = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count === 0)));
    await expect.poll(isGone).toBe(true);
    left.resolve();
    vi.restoreAllMocks();
    const [here] = pair('left');
    await expect.poll(() => hits(here, '127.0.0.1')).toBe(2);
    server.close();
  });

  it('attack 107: keep a bounded number of rows, those with most failures', async () => {
    const [here] = pair('bound');
    now += 900;
    await pruneFailures(states[0] as never); // what other tests have left
    for (const key of ['a', 'attacked', 'b', 'attacked', 'c']) await fail(here, key);
    await pruneFailures(states[0] as never, 1);
    expect(await rows()).toHaveLength(1);
    expect(await hits(here, 'attacked')).toBe(3);
    now += 900;
    await pruneFailures(states[0] as never);
    expect(await rows()).toHaveLength(0);
  });
});
