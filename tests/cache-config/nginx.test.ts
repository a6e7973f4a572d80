import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { type CacheServer, startNginx } from '../../cache-config/servers.ts';
import { makeCertificate } from '../support/certificates.ts';
import { FILES, get, IMMUTABLE, LETS_PAGES_READ, logged, makeSite, READING_ORIGIN, sendRaw } from './site.ts';

const site = makeSite();
let nginx: CacheServer;

beforeAll(async () => {
  nginx = await startNginx({ root: site.root, readingOrigin: READING_ORIGIN });
});
afterAll(async () => {
  await nginx.stop();
  site.remove();
});

describe('nginx as content host', () => {
  test.each(Object.entries(FILES))('serves %s byte for byte, with its length', async (name, content) => {
    const path = `/${name.split('/').map(encodeURIComponent).join('/')}`;
    const answer = await get(nginx.url, path, { headers: { 'accept-encoding': 'gzip, br' } });
    expect(answer.status).toBe(200);
    expect(answer.body.equals(content)).toBe(true);
    expect(answer.headers['content-length']).toBe(String(content.length));
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.headers.vary).toBeUndefined();
    expect(answer.headers['accept-ranges']).toBe('bytes');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers).toMatchObject(LETS_PAGES_READ);
    expect(answer.headers.etag).toMatch(/^"[^"]+"$/);
  });

  test.each([
    ['/index.html.protected', 'application/cache-protected'],
    ['/day/photo.jpg.protected', 'application/cache-protected'],
    ['/index.html', 'text/html'],
    ['/style.css', 'text/css'],
    ['/.well-known/wispr-site', 'text/plain'],
    ['/.well-known/wispr/timestamp.json', 'application/json'],
    ['/NOTES', 'application/octet-stream'],
  ])('says that %s is %s', async (path, type) => {
    expect((await get(nginx.url, path)).headers['content-type']).toBe(type);
  });

  test.each([
    ['/index.html.protected', 'public, no-transform, max-age=300'],
    ['/index.html', 'public, no-transform, max-age=300'],
    ['/.well-known/wispr-site', 'public, no-transform, max-age=300'],
    [`/${IMMUTABLE}`, 'public, no-transform, max-age=31536000, immutable'],
    ['/.well-known/wispr/7.snapshot.json', 'public, no-transform, max-age=31536000, immutable'],
    ['/.well-known/wispr/12.documents-a4.json', 'public, no-transform, max-age=31536000, immutable'],
    ['/.well-known/wispr/timestamp.json', 'public, no-transform, max-age=60'],
  ])('lets caches keep %s as long as "%s"', async (path, cacheControl) => {
    expect((await get(nginx.url, path)).headers['cache-control']).toBe(cacheControl);
  });

  test('answers byte ranges, and says so when there are no such bytes', async () => {
    const path = '/day/index.html.protected';
    const content = FILES['day/index.html.protected'] as Buffer;
    const part = await get(nginx.url, path, { headers: { range: 'bytes=1000-1999' } });
    expect(part.status).toBe(206);
    expect(part.headers['content-range']).toBe(`bytes 1000-1999/${content.length}`);
    expect(part.headers).toMatchObject(LETS_PAGES_READ);
    expect(part.headers['content-length']).toBe('1000');
    expect(part.body.equals(content.subarray(1000, 2000))).toBe(true);
    const beyond = await get(nginx.url, path, { headers: { range: `bytes=${content.length}-` } });
    expect(beyond.status).toBe(416);
  });

  test('answers 304 to a client that has the current bytes', async () => {
    const first = await get(nginx.url, '/index.html.protected');
    const again = await get(nginx.url, '/index.html.protected', {
      headers: { 'if-none-match': String(first.headers.etag) },
    });
    expect(again.status).toBe(304);
    expect(again.body.length).toBe(0);
  });

  test('serves the page of a directory, and leads to it without naming a host', async () => {
    expect((await get(nginx.url, '/day/')).body.equals(FILES['day/index.html'] as Buffer)).toBe(true);
    const answer = await get(nginx.url, '/day?a=1');
    expect(answer.status).toBe(301);
    expect(answer.headers.location).toBe('/day/?a=1');
  });

  test.each([
    '/day/photo.jpg',
    '/day/photo.jpg?size=large&next=%2Fday%2F&q=%22%20+',
    '/day/Gr%C3%BC%C3%9Fe%20aus%20K%C3%B6ln.png?x=%C3%A4',
    '/day/100%25.html',
    '/day/%70hoto.jpg',
    '/day/absent.jpg?x=.protected',
    '/absent/',
  ])('attack 24: leads %s to the reading site, path and query as they were', async (path) => {
    const answer = await get(nginx.url, path);
    expect(answer.status).toBe(302);
    expect(answer.headers.location).toBe(`${READING_ORIGIN}${path}`);
  });

  test.each([
    '/.well-known/',
    '/.well-known/wispr/8.snapshot.json',
    '/index.html.protected.protected',
    `/${'0'.repeat(64)}.day.html.protected`,
    `/day/${'0'.repeat(64)}.style.css?x=1`,
  ])('answers 404 to %s', async (path) => {
    const answer = await get(nginx.url, path);
    expect(answer.status).toBe(404);
    expect(answer.headers['cache-control']).toBeUndefined();
    expect(answer.headers).toMatchObject(LETS_PAGES_READ);
  });

  test('never writes bytes into Location that do not belong there', async () => {
    const raw = Buffer.from('GET /day/Grüße%20aus%20Köln.png HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await sendRaw(nginx.port, raw)).toMatch(/^HTTP\/1\.1 400 /);
    const split = await get(nginx.url, '/day/photo.jpg?%0d%0aSet-Cookie:a=b');
    expect(split.headers['set-cookie']).toBeUndefined();
    const absolute =
      'GET http://evil.example/day/photo.jpg HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n';
    expect(await sendRaw(nginx.port, Buffer.from(absolute))).toContain(`Location: ${READING_ORIGIN}/day/photo.jpg\r\n`);
  });

  test.each(['/../etc/passwd', '/day/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/day/..%2f..%2f..%2fetc/passwd'])(
    'stays inside the tree for %s',
    async (path) => {
      expect([400, 404]).toContain((await get(nginx.url, path)).status);
    },
  );

  test('takes GET and HEAD only', async () => {
    expect((await get(nginx.url, '/index.html', { method: 'POST' })).status).toBe(405);
    const head = await get(nginx.url, '/index.html.protected', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers['content-length']).toBe('3000');
  });

  test('logs what it was asked', async () => {
    const before = (await nginx.requests()).length;
    await get(nginx.url, '/day/two%20words.html?from=log');
    const lines = await logged(nginx, before + 1);
    const expected = {
      method: 'GET',
      url: '/day/two%20words.html?from=log',
      status: 200,
      bytes: FILES['day/two words.html']?.length,
    };
    expect(lines).toContainEqual(expected);
  });
});

describe('nginx with a certificate', () => {
  test('serves the site under its host name over HTTPS as well', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wispr-tls-'));
    const { caFile } = await makeCertificate(folder, ['DNS:news.example']);
    const tls = { certificate: join(folder, 'leaf.pem'), certificateKey: join(folder, 'leaf.key') };
    const httpsPort = await freePort();
    const options = { root: site.root, readingOrigin: READING_ORIGIN, host: 'news.example', httpsPort, ...tls };
    const server = await startNginx(options);
    try {
      const there = ['--connect-to', `news.example:443:127.0.0.1:${httpsPort}`];
      const curl = ['-sS', '--cacert', caFile, ...there, '-w', '%{http_version} %{ssl_verify_result}'];
      const { stdout } = await promisify(execFile)('curl', [...curl, 'https://news.example/index.html']);
      expect(stdout).toBe(`${FILES['index.html']}2 0`);
      expect((await get(server.url, '/index.html')).status).toBe(200);
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true });
    }
  });
});
