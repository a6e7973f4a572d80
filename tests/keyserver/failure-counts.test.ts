import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import express from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FailureCounts, pruneFailures } from '../../keyserver/http/failure-counts.ts';
import { limitFailures } from '../../keyserver/http/limits.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
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

  it('count over HTTP at both, and attempts that are broken off', async () => {
    const limit = { kind: 'http', limit: 2, countedBy: 'address' } as const;
    const arrived = Promise.withResolvers<void>();
    const servers = states.map((state) => {
      const app = express();
      app.use(limitFailures(state, limit, (_request, response) => void response.status(429).end()));
      app.get('/wrong', (_request, response) => void response.status(403).end());
      app.get('/never', () => arrived.resolve());
      return createServer(app);
    });
    const [here = 0, there = 0] = await Promise.all(servers.map(listenOnLoopback));
    const status = async (port: number) => (await fetch(`http://127.0.0.1:${port}/wrong`)).status;
    const socket = connect(here, '127.0.0.1');
    socket.write('GET /never HTTP/1.1\r\nHost: x\r\n\r\n');
    await arrived.promise;
    socket.destroy();
    await once(socket, 'close');
    expect(await status(here)).toBe(403);
    expect(await status(here)).toBe(429);
    expect(await status(there)).toBe(429);
    await Promise.all(servers.map(closeServer));
  });

  it('attack 107: keep a bounded number of rows, those with most failures', async () => {
    const [here] = pair('bound');
    now += 900;
    await pruneFailures(states[0] as never); // removes what other tests left
    for (const key of ['a', 'attacked', 'b', 'attacked', 'c']) await fail(here, key);
    await pruneFailures(states[0] as never, 1);
    expect(await rows()).toHaveLength(1);
    expect(await hits(here, 'attacked')).toBe(3);
    now += 900;
    await pruneFailures(states[0] as never);
    expect(await rows()).toHaveLength(0);
  });
});
