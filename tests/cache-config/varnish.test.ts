import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CacheServer, startNginx, startVarnish } from '../../cache-config/servers.ts';
import { FILES, get, LETS_PAGES_READ, logged, makeSite, ONE_OF_EACH_KIND, READING_ORIGIN, timesAsked } from './site.ts';

const site = makeSite();
let nginx: CacheServer;
let varnish: CacheServer;

beforeAll(async () => {
  nginx = await startNginx({ root: site.root, readingOrigin: READING_ORIGIN });
  varnish = await startVarnish({ backend: nginx, largestObjectMegabytes: 1 });
});
afterAll(async () => {
  await Promise.all([nginx.stop(), varnish.stop()]);
  site.remove();
});

describe('Varnish in front of the content host', () => {
  test.each(ONE_OF_EACH_KIND)('keeps %s: the origin is asked once', async (name, content) => {
    const path = `/${name.split('/').map(encodeURIComponent).join('/')}`;
    const first = await get(varnish.url, path, { headers: { 'accept-encoding': 'gzip' } });
    const second = await get(varnish.url, path);
    expect([first.headers['x-cache'], second.headers['x-cache']]).toEqual(['MISS', 'HIT']);
    for (const answer of [first, second]) {
      expect(answer.status).toBe(200);
      expect(answer.body.equals(content)).toBe(true);
      expect(answer.headers['content-length']).toBe(String(content.length));
      expect(answer.headers['content-encoding']).toBeUndefined();
      expect(answer.headers.vary).toBeUndefined();
      expect(answer.headers['cache-control']).toMatch(/^public, no-transform, max-age=/);
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expect(answer.headers).toMatchObject(LETS_PAGES_READ);
      expect(answer.headers.etag).toMatch(/^"/);
      expect(answer.headers.via ?? answer.headers['x-varnish']).toBeUndefined();
    }
    expect(await timesAsked(nginx, path)).toBe(1);
  });

  test('answers ranges from what it has, and on a miss too', async () => {
    const content = FILES['day/index.html.protected'] as Buffer;
    const headers = { range: 'bytes=150000-150999' };
    for (const path of ['/day/index.html.protected', '/day/./index.html.protected']) {
      const answer = await get(varnish.url, path, { headers });
      expect(answer.status).toBe(206);
      expect(answer.headers['content-range']).toBe(`bytes 150000-150999/${content.length}`);
      expect(answer.headers['content-length']).toBe('1000');
      expect(answer.body.equals(content.subarray(150_000, 151_000))).toBe(true);
    }
  });

  test('keeps one copy whatever the query, and still leads to the reading site with the query as it was', async () => {
    await get(varnish.url, '/day/two%20words.html');
    expect((await get(varnish.url, '/day/two%20words.html?from=newsletter')).headers['x-cache']).toBe('HIT');
    for (const query of ['?a=1', '?a=2', '']) {
      const answer = await get(varnish.url, `/day/photo.jpg${query}`);
      expect(answer.status).toBe(302);
      expect(answer.headers.location).toBe(`${READING_ORIGIN}/day/photo.jpg${query}`);
    }
    expect((await get(varnish.url, '/day?a=1')).headers.location).toBe('/day/?a=1');
    expect((await get(varnish.url, '/day?a=2')).headers.location).toBe('/day/?a=2');
  });

  test('answers 304 to a client that has the current bytes', async () => {
    const { headers } = await get(varnish.url, '/index.html.protected');
    const again = await get(varnish.url, '/index.html.protected', {
      headers: { 'if-none-match': String(headers.etag) },
    });
    expect(again.status).toBe(304);
  });

  test('logs hits and misses', async () => {
    const before = (await varnish.requests()).length;
    await get(varnish.url, '/style.css?logged');
    await get(varnish.url, '/style.css?logged');
    const lines = (await logged(varnish, before + 2)).slice(before);
    const expected = { method: 'GET', url: '/style.css?logged', status: 200, bytes: FILES['style.css']?.length };
    expect(lines.at(-1)).toEqual({ ...expected, hit: true });
  });

  test('hands through what is too large to keep, and then asks for the range only', async () => {
    const [path, large] = ['/large.protected', Buffer.alloc(2_000_000, 'large')];
    writeFileSync(join(site.root, path), large);
    for (const _ of ['all of it', 'the range']) {
      const answer = await get(varnish.url, path, { headers: { range: 'bytes=1500000-1500009' } });
      expect(answer.status).toBe(206);
      expect(answer.body.equals(large.subarray(1_500_000, 1_500_010))).toBe(true);
    }
    const statuses = async () => (await nginx.requests()).flatMap(({ url, status }) => (url === path ? [status] : []));
    await expect.poll(async () => (await statuses()).sort()).toEqual([200, 206]);
  });
});
