import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { HOST_NAMES } from '../../cache-config/parameters.ts';
import { type CacheServer, startHost, startNginx } from '../../cache-config/servers.ts';
import { makeCertificate } from '../support/certificates.ts';
import { sendRaw } from '../support/http-client.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { IS_RELEASE } from '../support/tier.ts';
import { FILES, get, IMMUTABLE, LETS_PAGES_READ, logged, makeSite, READING_ORIGIN } from './site.ts';

const site = makeSite();
afterAll(() => site.remove());

/** Hosts: one in `npm test`, all in the release tier, which runs this folder too. */
const NAMES = IS_RELEASE ? HOST_NAMES : (['nginx'] as const);

describe.each(NAMES)('%s as content host', (name) => {
  let host: CacheServer;
  beforeAll(async () => {
    host = await startHost(name, { root: site.root, readingOrigin: READING_ORIGIN });
  });
  afterAll(() => host.stop());

  test.each(Object.entries(FILES))('serves %s byte for byte, with its length', async (name, content) => {
    const path = `/${name.split('/').map(encodeURIComponent).join('/')}`;
    const answer = await get(host.url, path, { headers: { 'accept-encoding': 'gzip, br' } });
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
    const said = (await get(host.url, path)).headers;
    // Apache and Caddy say nothing of what they do not know.
    expect(said['content-type']?.replace('; charset=utf-8', '') ?? 'application/octet-stream').toBe(type);
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
    const directives = (await get(host.url, path)).headers['cache-control']?.split(', ').sort();
    // lighttpd can give a lifetime to what there is only where it says nothing else.
    const expected = cacheControl.split(', ').filter((each) => name !== 'lighttpd' || each !== 'immutable');
    expect(directives).toEqual(expected.sort());
  });

  test('answers byte ranges, and says so when there are no such bytes', async () => {
    const path = '/day/index.html.protected';
    const content = FILES['day/index.html.protected'] as Buffer;
    const part = await get(host.url, path, { headers: { range: 'bytes=1000-1999' } });
    expect(part.status).toBe(206);
    expect(part.headers['content-range']).toBe(`bytes 1000-1999/${content.length}`);
    expect(part.headers).toMatchObject(LETS_PAGES_READ);
    expect(part.headers['content-length']).toBe('1000');
    expect(part.body.equals(content.subarray(1000, 2000))).toBe(true);
    const beyond = await get(host.url, path, { headers: { range: `bytes=${content.length}-` } });
    expect(beyond.status).toBe(416);
  });

  test('answers 304 to a client that has the current bytes', async () => {
    const first = await get(host.url, '/index.html.protected');
    const again = await get(host.url, '/index.html.protected', {
      headers: { 'if-none-match': String(first.headers.etag) },
    });
    expect(again.status).toBe(304);
    expect(again.body.length).toBe(0);
  });

  test('serves the page of a directory, and leads to it on the same host', async () => {
    expect((await get(host.url, '/day/')).body.equals(FILES['day/index.html'] as Buffer)).toBe(true);
    const answer = await get(host.url, '/day?a=1');
    expect([301, 308]).toContain(answer.status);
    const { host: leadsTo, pathname } = new URL(String(answer.headers.location), host.url);
    expect([leadsTo, pathname]).toEqual([new URL(host.url).host, '/day/']);
  });

  test.each([
    '/day/photo.jpg',
    '/day/photo.jpg?size=large&next=%2Fday%2F&q=%22%20+',
    '/day/Gr%C3%BC%C3%9Fe%20aus%20K%C3%B6ln.png?x=%C3%A4',
    '/day/100%25.html',
    '/day/%70hoto.jpg',
    '/day/absent.jpg?x=.protected',
  ])('attack 24: leads %s to the reading site, path and query as they were', async (path) => {
    const answer = await get(host.url, path);
    expect(answer.status).toBe(302);
    expect(answer.headers.location).toBe(`${READING_ORIGIN}${path}`);
    // Caches must not mix queries. lighttpd gives no lifetime, which is as good for most.
    expect(answer.headers['cache-control']).toBe(name === 'lighttpd' ? 'public, no-transform' : 'no-store');
  });

  test.each([
    '/.well-known/',
    '/.well-known/wispr/8.snapshot.json',
    '/index.html.protected.protected',
    `/${'0'.repeat(64)}.day.html.protected`,
    `/day/${'0'.repeat(64)}.style.css?x=1`,
  ])('answers 404 to %s', async (path) => {
    const answer = await get(host.url, path);
    // A directory may be no page, or none that may be listed.
    expect(path.endsWith('/') ? [403, 404] : [404]).toContain(answer.status);
    expect(answer.headers['cache-control'] ?? '').not.toContain('max-age');
    expect(answer.headers).toMatchObject(LETS_PAGES_READ);
  });

  test('never writes bytes into Location that do not belong there', async () => {
    const raw = Buffer.from('GET /day/Grüße%20aus%20Köln.png HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await sendRaw(host.port, raw.toString('latin1'))).toMatch(/^HTTP\/1\.1 40[04] /);
    const split = await get(host.url, '/day/photo.jpg?%0d%0aSet-Cookie:a=b');
    expect(split.headers['set-cookie']).toBeUndefined();
    const absolute =
      'GET http://evil.example/day/photo.jpg HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n';
    // Apache refuses it.
    const said = await sendRaw(host.port, absolute);
    expect(/^location: (.*)\r$/im.exec(said)?.[1] ?? READING_ORIGIN).toMatch(
      new RegExp(`^${READING_ORIGIN}(/day/photo.jpg)?$`),
    );
  });

  test.each(['/../etc/passwd', '/day/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/day/..%2f..%2f..%2fetc/passwd'])(
    'stays inside the tree for %s',
    async (path) => {
      const { status, headers, body } = await get(host.url, path);
      expect([400, 403, 404, 302]).toContain(status);
      expect(headers.location ?? READING_ORIGIN).toContain(READING_ORIGIN);
      expect(body.toString()).not.toContain('root:');
    },
  );

  test('takes GET and HEAD only', async () => {
    expect([403, 405]).toContain((await get(host.url, '/index.html', { method: 'POST' })).status);
    const head = await get(host.url, '/index.html.protected', { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers['content-length']).toBe('3000');
  });

  test('logs what it was asked', async () => {
    const before = (await host.requests()).length;
    await get(host.url, '/day/two%20words.html?from=log');
    const lines = await logged(host, before + 1);
    const expected = {
      method: 'GET',
      url: '/day/two%20words.html?from=log',
      status: 200,
      bytes: FILES['day/two words.html']?.length,
    };
    expect(lines).toContainEqual(expected);
  });

  test('logs no address of a reader', async () => {
    const before = (await host.requests()).length;
    for (const path of ['/day/photo.jpg?q=secret', '/.well-known/absent.json']) await get(host.url, path);
    await logged(host, before + 2);
    for (const file of readdirSync(host.directory).filter((each) => each.endsWith('.log')))
      expect(readFileSync(join(host.directory, file), 'utf8')).not.toMatch(/client: |client_ip|remote_ip/);
  });
});

test('nginx with a certificate serves the site under its host name over HTTPS as well', async () => {
  const folder = temporaryFolder();
  const { caFile } = await makeCertificate(folder, ['DNS:news.example']);
  const tls = { certificate: join(folder, 'leaf.pem'), certificateKey: join(folder, 'leaf.key') };
  const httpsPort = await freePort();
  const options = { root: site.root, readingOrigin: READING_ORIGIN, host: 'news.example', httpsPort, ...tls };
  const server = await startNginx(options);
  onTestFinished(() => server.stop());
  const there = ['--connect-to', `news.example:443:127.0.0.1:${httpsPort}`];
  const curl = ['-sS', '--cacert', caFile, ...there, '-w', '%{http_version} %{ssl_verify_result}'];
  const { stdout } = await promisify(execFile)('curl', [...curl, 'https://news.example/index.html']);
  expect(stdout).toBe(`${FILES['index.html']}2 0`);
  expect((await get(server.url, '/index.html')).status).toBe(200);
});
