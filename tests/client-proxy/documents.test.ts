import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pageTitleOf } from '../../client-proxy/pages/page-title.ts';
import { forFile } from '../support/for-file.ts';
import { send } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const rig = forFile(startHostileReaderRig);

beforeEach(() => {
  rig.host.requests.length = 0;
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(rig.proxy.port, rig.url(path), { method, headers });

describe('a document through the proxy', () => {
  it('keeps pages from devices of the local network, and says by what it came', async () => {
    const headers = { 'content-security-policy': "default-src 'self'" };
    await rig.publisher.publish(rig.host.files, '/headers.html', { content: 'x', metadata: { headers } });
    const answer = await get('/headers.html');
    expect(answer.headers).toMatchObject({
      'content-security-policy': "default-src 'self', frame-ancestors 'self'",
      'permissions-policy': expect.stringContaining('loopback-network=()'),
      via: '1.1 wispr',
    });
  });

  it('tells the content host nothing about the reader', async () => {
    await rig.publisher.publish(rig.host.files, '/quiet.html', { content: 'x' });
    await get('/quiet.html', {
      cookie: 'me=1',
      referer: 'http://elsewhere.example/',
      'user-agent': 'a',
      authorization: 'Basic x',
    });
    const { requests } = rig.host;
    expect(requests.map(({ url }) => url)).toContain(rig.publisher.fileOf('/quiet.html'));
    for (const { url, headers } of requests) {
      const { 'cache-control': control, ...others } = headers;
      expect(Object.keys(others).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host']);
      // Cache-Control of a look for a newer publication says nothing of who looks.
      expect(control).toBeOneOf(url.endsWith('/timestamp.json') ? [undefined, 'max-age=0'] : [undefined]);
    }
  });

  it('is described to HEAD without fetching it; once it is known, without fetching anything', async () => {
    const content = randomBytes(2_000_000);
    await rig.publisher.publish(rig.host.files, '/long.bin', { content });
    await rig.publisher.publishSigned(rig.host.files, '/long-public.bin', { content });
    const object = await rig.publisher.object('/long-carried.bin', { content });
    await rig.publisher.publishCarrier(rig.host.files, '/long-carried.bin', object);
    const fetched = () => rig.host.requests.filter(({ url }) => url.includes('/long') || url.includes('.long'));
    for (const [path, requests] of [
      ['/long.bin', 2],
      ['/long-public.bin', 1],
      ['/long-carried.bin', 1],
    ] as const) {
      rig.host.requests.length = 0;
      const first = await get(path, {}, 'HEAD');
      expect([first.status, first.headers['content-length'], first.body.length]).toEqual([200, '2000000', 0]);
      expect([path, fetched().length]).toEqual([path, requests]);
      if (path !== '/long-carried.bin')
        for (const { headers } of fetched()) {
          const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
          expect(Number(to) - Number(from)).toBeLessThan(70_000);
        }
      const again = await get(path, {}, 'HEAD');
      expect([again.headers.etag, fetched().length]).toEqual([first.headers.etag, requests]);
      expect((await get(path)).headers.etag).toBe(first.headers.etag);
    }
  });
});

describe('a page that was read', () => {
  const titled = (title: string) => `<title>${title}</title>`;
  const long = gzipSync(`${titled('Start of much')}${Array.from({ length: 5000 }, (_, n) => `<p>${n}`).join('')}`);
  it.each<[content: string, title: string | undefined]>([
    [titled('Fog &amp; tide'), 'Fog & tide'],
    ['<TITLE lang="fr">\n Le   brouillard\n</TITLE>', 'Le brouillard'],
    [titled('a\u202eb\u0000c'), 'a b c'],
    [titled('x'.repeat(200)), `${'x'.repeat(119)}…`],
    [titled(' '), undefined],
    ['<!-- <title>no</title> --><svg><title>no</title></svg><title>yes</title>', 'yes'],
    ['<script>"<title>no</title>"</script><title>a<b</title>', 'a<b'],
    ['<title>Fog', undefined],
  ])('has the title that it gives itself: %j', (content, title) => {
    expect(pageTitleOf(Buffer.from(content), undefined)).toBe(title);
  });

  it.each<[content: string | Buffer, shown: string | undefined]>([
    ['<script>"<title>no</title>"</script><title>a<b &amp; c</title>', 'a&lt;b &amp; c'],
    ['<h1>Fog</h1>', undefined],
    [long, 'Start of much'],
    [gzipSync(`${titled('Bomb')}${' '.repeat(2_000_000)}`), undefined],
    [Buffer.from('no gzip'), undefined],
  ])('is listed on the first page by its title: %#', async (content, shown) => {
    const metadata = typeof content === 'string' ? {} : { contentCoding: 'gzip' as const };
    await rig.publisher.publish(rig.host.files, '/titled.html', { content, metadata });
    await rig.restart();
    await get('/titled.html', { 'accept-encoding': 'gzip' });
    const home = await send(rig.proxy.port, '/', { headers: { host: `localhost:${rig.proxy.port}` } });
    expect(home.text).toMatch(new RegExp(`<a [^>]*>${shown ?? 'news\\.example/titled\\.html'}</a>`));
  });
});

describe('content codings', () => {
  const content = Buffer.from('<p>compressed</p>'.repeat(20_000));

  it('ends visibly incomplete where the content breaks off', async () => {
    const broken = { content: gzipSync(content).subarray(0, 500), metadata: { contentCoding: 'gzip' } } as const;
    await rig.publisher.publish(rig.host.files, '/broken.html', broken);
    expect((await get('/broken.html')).complete).toBe(false);
  });
});

describe('ranges', () => {
  const content = randomBytes(3_000_000);

  beforeAll(async () => {
    const metadata = { mediaType: 'video/mp4', lastModified: 1_700_000_000 };
    await rig.publisher.publish(rig.host.files, '/film.mp4', { content, metadata });
  });

  it('fetch the blocks that they need, and no more', async () => {
    await get('/film.mp4', { range: 'bytes=0-0' });
    rig.host.requests.length = 0;
    await get('/film.mp4', { range: 'bytes=2000000-2000001' });
    expect(rig.host.requests).toHaveLength(1);
    const [, first, last] = /bytes=(\d+)-(\d+)/.exec(rig.host.requests[0]?.headers.range ?? '') ?? [];
    expect(Number(last) - Number(first)).toBeLessThan(70_000);
  });

  it('come from the new version when the object has changed', async () => {
    const path = '/replaced.bin';
    await rig.publisher.publish(rig.host.files, path, { content });
    await get(path, { range: 'bytes=0-0' });
    const changed = randomBytes(2_000_000);
    await rig.publisher.publish(rig.host.files, path, { content: changed });
    const answer = await get(path, { range: 'bytes=1500000-1500009' });
    expect([answer.status, answer.headers['content-range']]).toEqual([206, 'bytes 1500000-1500009/2000000']);
    expect(answer.body.equals(changed.subarray(1_500_000, 1_500_010))).toBe(true);
  });
});
