/** Two key servers behind the HAProxy of docs/cluster.md, which passes TLS through: whichever a connection comes to, the site is the same. */
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { BINDING_PATH, encodeBindingRequest, normaliseCode } from '../../core/keys/binding.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { connectBy, newClient, ORIGINS, startCluster, type Way } from '../support/cluster.ts';
import { createDeviceKeys } from '../support/device.ts';
import { forFile } from '../support/for-file.ts';
import { createReader, createVisitor } from '../support/reading-site-visitor.ts';

const LETTER = { path: '/letter.html', content: '<h1>Letter</h1>', mediaType: 'text/html', set: 'day-1' };
const DESCRIPTOR = '/.well-known/wispr-provider';
const KEYS = new URL(ORIGINS.keyServer).hostname;

/** Requests that are under way when a key server is killed. */
const AT_A_TIME = 4;

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

/** @returns its status */
async function ask(
  { dispatcher }: ReturnType<typeof newClient>,
  path: string,
  body?: Uint8Array | string,
): Promise<number> {
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await dispatcher.request({ origin: ORIGINS.keyServer, path, method, body: body ?? null });
  await answer.body.dump();
  return answer.statusCode;
}

/** What requests that need the database are answered with. */
async function answersOf(way: Way, times: number): Promise<number[]> {
  const client = newClient(way);
  const statuses: number[] = [];
  while (statuses.length < times) statuses.push(await ask(client, DESCRIPTOR));
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
  expect(
    await atBoth(async () => [(await reader.get('/-/account')).text, (await reader.get('/-/account')).text]),
  ).toEqual([expect.stringContaining('anna'), expect.stringContaining('anna')]);
  expect(seen.connections).toBeGreaterThanOrEqual(6);
  expect(seen.connections - seen.resumed).toBe(2); // a full handshake for each of the two origins
});

it('connects one device by a code, at whichever', async () => {
  const provider = { keyServer: ORIGINS.keyServer, publisher: the.publisher.root.id };
  const code = normaliseCode((await the.invite('ben')).code) ?? '';
  const client = newClient(the.balancer);
  const bind = async () =>
    ask(
      client,
      BINDING_PATH,
      encodeBindingRequest(await createDeviceKeys(provider), provider.publisher, code, nowInSeconds()),
    );
  expect(await atBoth(async () => [await bind(), await bind(), await bind()])).toEqual([200, 403, 403]);
});

it('counts failures of all key servers together, by the addresses of readers', async () => {
  const [guesser, other] = [newClient(the.balancer, '127.0.0.2'), newClient(the.balancer, '127.0.0.3')];
  const statuses: number[] = [];
  await atBoth(async () => {
    while (statuses.length < 22) statuses.push(await ask(guesser, BINDING_PATH, '{}'));
  });
  // One more where the other key server has not been told of the last one yet.
  expect(statuses.slice(0, 20)).toEqual(Array(20).fill(400));
  expect(statuses.at(-1)).toBe(429);
  expect([await ask(other, BINDING_PATH, '{}'), await ask(other, BINDING_PATH, '{}')]).toEqual([400, 400]);
});

it('stays up when a key server loses its database, and gives it readers again afterwards', async () => {
  const [, broken] = the.nodes;
  const session = await sessionBy(the.balancer);
  const kept = [await connectBy(the.balancer, KEYS), await connectBy(the.balancer, KEYS)];
  const ended = Promise.race(kept.map((socket) => once(socket.on('error', () => undefined).resume(), 'close')));
  broken.cut();
  const { keys, pages } = broken.direct;
  const [resumed, fresh] = [await connectBy(keys, KEYS, { session }), await connectBy(keys, KEYS)];
  expect([resumed.isSessionReused(), fresh.isSessionReused()]).toEqual([true, false]);
  const page = await createVisitor(ORIGINS.documentsUrl, newClient(pages).dispatcher).get('/letter.html');
  expect([page.status, page.text]).toEqual([500, 'Something went wrong here (internal)\n']);
  await ended; // it had led to the broken one
  expect(kept.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  expect(await answersOf(the.balancer, 6)).toEqual(Array(6).fill(200));
  await broken.restore();
  await vi.waitFor(() => atBoth(() => answersOf(the.balancer, 2)), 10_000);
  for (const socket of [...kept, resumed, fresh]) socket.destroy();
});

it('stays up when a key server is killed while readers ask', async () => {
  const [killed] = the.nodes;
  const statuses: (number | string)[] = [];
  const client = newClient(the.balancer);
  const askOn = async () => {
    while (statuses.length < 60) {
      statuses.push(await ask(client, DESCRIPTOR).catch(({ code }: NodeJS.ErrnoException) => code ?? ''));
      if (statuses.length === 20) void killed.stop('SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, askOn));
  expect(statuses.filter((status) => status !== 200).length).toBeLessThanOrEqual(AT_A_TIME);
  expect(statuses.slice(-20)).toEqual(Array(20).fill(200));
});

/** A TLS session, as a ticket. */
async function sessionBy(way: Way): Promise<Buffer> {
  const socket = await connectBy(way, KEYS);
  const session = await new Promise<Buffer>((resolve) => socket.once('session', resolve));
  socket.destroy();
  return session;
}
