import { createServer, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CacheServer, startNginx, startSquid } from '../../cache-config/servers.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { FILES, get, LETS_PAGES_READ, logged, makeSite, ONE_OF_EACH_KIND, READING_ORIGIN, timesAsked } from './site.ts';

const site = makeSite();
let nginx: CacheServer;
let squid: CacheServer;

beforeAll(async () => {
  nginx = await startNginx({ root: site.root, readingOrigin: READING_ORIGIN });
  squid = await startSquid({
    connectLoopback: true,
    sites: [{ site: 'news.example', host: nginx.host, port: nginx.port }],
  });
});
afterAll(async () => {
  await Promise.all([nginx.stop(), squid.stop()]);
  site.remove();
});

/** Returns the status line of a CONNECT. */
function tunnel(proxy: CacheServer, target: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(proxy.port, proxy.host, () =>
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`),
    );
    socket.once('data', (data: Buffer) => {
      socket.destroy();
      resolve(data.toString('latin1').split('\r\n')[0] ?? '');
    });
    socket.once('error', reject);
  });
}

describe('Squid as forward proxy', () => {
  test.each(ONE_OF_EACH_KIND)('keeps %s: the origin is asked once', async (name, content) => {
    const path = `/${name.split('/').map(encodeURIComponent).join('/')}`;
    for (const hit of [false, true]) {
      const before = (await squid.requests()).length;
      const answer = await get('http://news.example', path, { through: squid });
      expect(answer.status).toBe(200);
      expect(answer.body.equals(content)).toBe(true);
      expect(answer.headers['content-length']).toBe(String(content.length));
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expect(answer.headers).toMatchObject(LETS_PAGES_READ);
      const line = (await logged(squid, before + 1)).at(-1);
      expect(line).toEqual({
        method: 'GET',
        url: `http://news.example${path}`,
        status: 200,
        bytes: content.length,
        hit,
      });
    }
    expect(await timesAsked(nginx, path)).toBe(1);
  });

  test('answers a range, and keeps the whole object for the next one', async () => {
    const path = '/day/index.html.protected';
    const content = FILES['day/index.html.protected'] as Buffer;
    const before = (await nginx.requests()).length;
    for (const first of [1000, 150_000]) {
      const headers = { range: `bytes=${first}-${first + 99}` };
      const answer = await get(nginx.url, path, { headers, through: squid });
      expect(answer.status).toBe(206);
      expect(answer.headers['content-range']).toBe(`bytes ${first}-${first + 99}/${content.length}`);
      expect(answer.body.equals(content.subarray(first, first + 100))).toBe(true);
    }
    const asked = (await logged(nginx, before + 1)).slice(before);
    expect(asked).toEqual([{ method: 'GET', url: path, status: 200, bytes: content.length }]);
  });

  test('leads a picture to the reading site', async () => {
    const answer = await get('http://news.example', '/day/photo.jpg?size=large', { through: squid });
    expect(answer.status).toBe(302);
    expect(answer.headers.location).toBe(`${READING_ORIGIN}/day/photo.jpg?size=large`);
  });

  test('has no pages about itself for readers', async () => {
    expect((await get(squid.url, '/squid-internal-mgr/info')).status).toBe(403);
  });

  test('opens tunnels to the ports it may only', async () => {
    expect(await tunnel(squid, `127.0.0.1:${nginx.port}`)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await tunnel(squid, '127.0.0.1:25')).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe('Squid without leave to ask this machine', () => {
  let strict: CacheServer;
  beforeAll(async () => {
    strict = await startSquid({ webPorts: ['1-65535'], diskMegabytes: 0 });
  });
  afterAll(() => strict.stop());

  test.each(['127.0.0.1', 'localhost', '[::1]', '127.1', '0.0.0.0', '169.254.169.254'])('refuses %s', async (host) => {
    const answer = await get(`http://${host}:${nginx.port}`, '/index.html', { through: strict });
    expect(answer.status).toBe(403);
  });
  test('refuses tunnels to ports other than 443', async () => {
    expect(await tunnel(strict, 'news.example:22')).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe('what Squid tells an origin', () => {
  const asked: IncomingMessage[] = [];
  const origin = createServer((request, response) => {
    asked.push(request);
    // Slow enough that the second reader asks while the first still waits.
    setTimeout(() => response.writeHead(200, { 'Cache-Control': 'public, max-age=300' }).end('content'), 300);
  });
  let base = '';

  beforeAll(async () => {
    base = `http://127.0.0.1:${await listenOnLoopback(origin)}`;
  });
  afterAll(() => closeServer(origin));

  test('nothing about readers', async () => {
    await get(base, '/a', { through: squid });
    expect(asked[0]?.headers.via ?? asked[0]?.headers['x-forwarded-for']).toBeUndefined();
  });

  test('one question when many ask at once', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => get(base, '/many', { through: squid })));
    expect(answers.map(({ body }) => body.toString())).toEqual(Array(4).fill('content'));
    expect(asked.filter(({ url }) => url === '/many').length).toBe(1);
  });
});
