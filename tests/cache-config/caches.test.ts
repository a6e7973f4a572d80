/** Shared caches in front of a content host that is not ours: what it drops and adds, whatever that host says. */
import { createServer, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REVERSE_NAMES, type ReverseName } from '../../cache-config/parameters.ts';
import { type CacheServer, startReverse } from '../../cache-config/servers.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { IS_RELEASE } from '../support/tier.ts';
import { get, LETS_PAGES_READ } from './site.ts';

/** Caches that most sites run, in `npm test`; all in the release tier, which runs this folder too. */
const NAMES = IS_RELEASE ? REVERSE_NAMES : (['nginx-cache', 'varnish', 'squid-reverse'] as const);

const asked: IncomingMessage[] = [];
const origin = createServer((request, response) => {
  asked.push(request);
  response.writeHead(request.url === '/absent' || request.url?.includes('%2f') ? 404 : 200, {
    'Set-Cookie': 'session=1',
    'Cache-Control': request.url === '/private' ? 'private' : 'public, max-age=300',
    'Access-Control-Allow-Origin': 'https://other.example',
    'Content-Length': 7,
  });
  response.end('content');
});
/** Started together: most wait for a compiler, a disk or a child. */
const starting = new Map<ReverseName, Promise<CacheServer>>();
beforeAll(async () => {
  const port = await listenOnLoopback(origin);
  for (const name of NAMES) {
    const room = name === 'trafficserver' ? { diskMegabytes: 128 } : {};
    starting.set(name, startReverse(name, { backend: { host: '127.0.0.1', port }, ...room }));
  }
  await Promise.all(starting.values());
});
afterAll(async () => {
  for (const server of await Promise.all(starting.values())) await server.stop();
  await closeServer(origin);
});

test.each(NAMES)('%s hands on neither cookie nor password nor codings, and lets every page read', async (name) => {
  const cache = (await starting.get(name)) as CacheServer;
  asked.length = 0;
  const headers = { cookie: 'reader=7', authorization: 'Basic eDp5', 'accept-encoding': 'gzip' };
  const path = '/page.protected';
  for (const reader of ['7', '8']) {
    const answer = await get(cache.url, path, { headers: { ...headers, cookie: `reader=${reader}` } });
    expect([answer.status, answer.body.toString()]).toEqual([200, 'content']);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(answer.headers).toMatchObject(LETS_PAGES_READ);
  }
  expect(asked.map(({ url }) => url)).toEqual([path]);
  for (const field of [...Object.keys(headers), 'via', 'x-forwarded-for'])
    expect(asked[0]?.headers[field], field).toBeUndefined();

  const absent = await get(cache.url, '/absent');
  expect([absent.status, absent.headers['set-cookie']]).toEqual([404, undefined]);
  expect(absent.headers).toMatchObject(LETS_PAGES_READ);

  for (const _ of ['one', 'another']) expect((await get(cache.url, '/private')).status).toBe(200);
  expect(asked.filter(({ url }) => url === '/private').length).toBe(2);

  for (const method of ['POST', 'PURGE', 'BAN', 'DELETE', 'OPTIONS'])
    expect((await get(cache.url, path, { method })).status, method).toBeGreaterThanOrEqual(400);
  await get(cache.url, path);
  expect(asked.filter(({ url }) => url === path).length).toBe(1);
});

test.each(NAMES)('%s keeps no answer to an encoded slash under the real name', async (name) => {
  const cache = (await starting.get(name)) as CacheServer;
  for (const last of ['timestamp.json', `${'a'.repeat(64)}.protected`]) {
    // Apache refuses it itself.
    expect((await get(cache.url, `/directory%2f${last}`)).status).toBe(404);
    expect((await get(cache.url, `/directory/${last}`)).status).toBe(200);
  }
});
