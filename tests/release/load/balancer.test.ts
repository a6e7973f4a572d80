/** Key servers, two of them, behind the HAProxy of docs/cluster.md, which passes TLS through. What they know of each other: keyserver/two-servers.test.ts; under load, and killed: cluster.test.ts. */
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { connectBy, newClient, ORIGINS, sessionBy, startCluster, type Way } from '../../support/cluster.ts';
import { forFile } from '../../support/for-file.ts';
import { createReader, createVisitor } from '../../support/reading-site-visitor.ts';

const LETTER = { path: '/letter.html', content: '<h1>Letter</h1>', mediaType: 'text/html', set: 'day-1' };
const DESCRIPTOR = '/.well-known/wispr-provider';
const KEYS = new URL(ORIGINS.keyServer).hostname;

const the = forFile(() => startCluster({ documents: [LETTER] }));

/** Does something, and insists that both key servers had a part in it. */
async function atBoth<Result>(work: () => Promise<Result>): Promise<Result> {
  const before = the.nodes.map((node) => node.answered());
  const result = await work();
  await vi.waitFor(() =>
    the.nodes.forEach((node, index) => void expect(node.answered()).toBeGreaterThan(before[index] ?? 0)),
  );
  return result;
}

/** Returns the statuses of requests that need the database. */
async function answersOf(way: Way, times: number): Promise<number[]> {
  const { dispatcher } = newClient(way);
  const statuses: number[] = [];
  while (statuses.length < times) {
    const answer = await dispatcher.request({ origin: ORIGINS.keyServer, path: DESCRIPTOR, method: 'GET' });
    await answer.body.dump();
    statuses.push(answer.statusCode);
  }
  return statuses;
}

it('goes on at another key server with a TLS session, a sign-in and a way into the documents', async () => {
  const { dispatcher, seen } = newClient(the.balancer);
  const reader = createReader(ORIGINS, dispatcher);
  const page = await atBoth(async () => {
    await reader.join((await the.invite('anna')).code, 'correct horse battery');
    return reader.get('/letter.html');
  });
  expect(page.text).toContain('<h1>Letter</h1>');
  const accounts = await atBoth(async () => [await reader.get('/-/account'), await reader.get('/-/account')]);
  for (const { text } of accounts) expect(text).toContain('anna');
  expect(seen.connections).toBeGreaterThanOrEqual(6);
  expect(seen.connections - seen.resumed).toBe(2); // a full handshake for each of the two origins
});

it('stays up when a key server loses its database, and gives it readers again afterwards', async () => {
  const [, broken] = the.nodes;
  const session = await sessionBy(the.balancer, KEYS);
  const kept = [await connectBy(the.balancer, KEYS), await connectBy(the.balancer, KEYS)];
  const ended = Promise.race(kept.map((socket) => once(socket.on('error', () => undefined).resume(), 'close')));
  broken.cut();
  const { keys, pages } = broken.direct;
  const [resumed, fresh] = [await connectBy(keys, KEYS, { session }), await connectBy(keys, KEYS)];
  expect([resumed.isSessionReused(), fresh.isSessionReused()]).toEqual([true, false]);
  const page = await createVisitor(ORIGINS.documentsUrl, newClient(pages).dispatcher).get('/letter.html');
  expect([page.status, page.text]).toEqual([500, 'Something went wrong here (internal)\n']);
  await ended; // a connection to the broken one
  expect(kept.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  expect(await answersOf(the.balancer, 6)).toEqual(Array(6).fill(200));
  await broken.restore();
  await vi.waitFor(() => atBoth(() => answersOf(the.balancer, 2)), 10_000);
  for (const socket of [...kept, resumed, fresh]) socket.destroy();
});
