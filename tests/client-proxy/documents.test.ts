import { randomBytes } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';

let rig: ReaderRig<HostileKeyServer>;
beforeAll(async () => {
  rig = await startHostileReaderRig();
});
afterAll(() => rig.close());
beforeEach(() => {
  rig.host.requests.length = 0;
});

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(rig.proxy.port, rig.url(path), { method, headers });

describe('a document through the proxy', () => {
  it('has the signed headers and none of the host', async () => {
    const metadata = {
      lastModified: 1_700_000_000,
      headers: { 'content-language': 'en', 'content-security-policy': "default-src 'self'" },
    };
    await rig.publisher.publish(rig.host.files, '/headers.html', { content: 'x', metadata });
    const { headers } = await get('/headers.html');
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-language': 'en',
      'content-security-policy': "default-src 'self', frame-ancestors 'self'",
      'last-modified': 'Tue, 14 Nov 2023 22:13:20 GMT',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      via: '1.1 wispr',
    });
    expect(headers['permissions-policy']).toContain('loopback-network=()');
    // Or browsers would guess how long they may show it without asking.
    expect(headers['cache-control']).toBe('private, no-cache');
    expect(headers['x-from-host']).toBeUndefined();
    expect(headers['set-cookie']).toBeUndefined();
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
      // That of a look for a newer publication says nothing of who looks.
      expect(control).toBeOneOf(url.endsWith('/timestamp.json') ? [undefined, 'max-age=0'] : [undefined]);
    }
  });

  it('is checked against the head beside it where it is signed only', async () => {
    const content = randomBytes(150_000);
    await rig.publisher.publishSigned(rig.host.files, '/public/map.png', {
      content,
      metadata: { mediaType: 'image/png' },
    });
    const answer = await get('/public/map.png');
    expect(answer.body.equals(content)).toBe(true);
    rig.host.files.set(
      rig.publisher.contentOf('/public/map.png'),
      Buffer.concat([content.subarray(0, 149_999), Buffer.of(0x55 ^ (content[149_999] ?? 0))]),
    );
    expect((await get('/public/map.png')).complete).toBe(false);
  });

  it('at a folder is its index', async () => {
    await rig.publisher.publish(rig.host.files, '/folder/index.html', { content: 'index' });
    expect((await get('/folder/')).text).toBe('index');
    expect((await get('/folder/?query=1')).text).toBe('index');
  });

  it('is refused to other methods than GET and HEAD', async () => {
    const post = await send(rig.proxy.port, rig.url('/head.html'), { method: 'POST', body: 'x' });
    expect([post.status, post.headers.allow, refusalCode(post)]).toEqual([405, 'GET, HEAD', 'method-refused']);
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
  it.each<[content: string | Buffer, shown: string | undefined]>([
    [titled('Fog &amp; tide'), 'Fog &amp; tide'],
    ['<TITLE lang="fr">\n Le   brouillard\n</TITLE>', 'Le brouillard'],
    [titled('a\u202eb\u0000c'), 'a b c'],
    [titled('x'.repeat(200)), `${'x'.repeat(119)}…`],
    [titled(' '), undefined],
    ['<h1>Fog</h1>', undefined],
    ['<title>Fog', undefined],
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

  it.each([
    ['gzip', gzipSync(content)],
    ['br', brotliCompressSync(content)],
  ] as const)('%s goes straight through to who accepts it, and is undone for others', async (coding, coded) => {
    const path = `/coded-${coding}.html`;
    await rig.publisher.publish(rig.host.files, path, { content: coded, metadata: { contentCoding: coding } });
    const passed = await get(path, { 'accept-encoding': 'deflate, br;q=0.5, gzip;q=0.8' });
    expect([passed.headers['content-encoding'], passed.headers.vary, passed.body.equals(coded)]).toEqual([
      coding,
      'accept-encoding',
      true,
    ]);
    for (const accepted of [undefined, 'identity', `${coding};q=0`, 'deflate', '*;q=0']) {
      const undone = await get(path, accepted === undefined ? {} : { 'accept-encoding': accepted });
      expect([undone.headers['content-encoding'], undone.body.equals(content)]).toEqual([undefined, true]);
      expect(undone.headers.etag).not.toBe(passed.headers.etag);
      expect(undone.headers.vary).toBe('accept-encoding');
    }
  });

  it('are sent as the browser likes them; where nothing is acceptable, plain content is', async () => {
    const coded = gzipSync(content);
    await rig.publisher.publish(rig.host.files, '/choice.html', {
      content: coded,
      metadata: { contentCoding: 'gzip' },
    });
    await rig.publisher.publish(rig.host.files, '/plain.html', { content });
    for (const [accepted, coding] of [
      ['gzip;q=0.2, identity;q=0.5', undefined],
      ['gzip;q=0.5, identity;q=0.5', 'gzip'],
      ['gzip, identity;q=0', 'gzip'],
      ['*', 'gzip'],
      ['*;q=0.1, identity;q=0.2', undefined],
      ['x-gzip', 'gzip'],
      ['gzip;q=1.5', undefined],
      ['identity;q=0, gzip;q=0', undefined],
      ['br, identity;q=0', undefined],
      ['', undefined],
    ] as const) {
      const answer = await get('/choice.html', { 'accept-encoding': accepted });
      expect([accepted, answer.headers['content-encoding']]).toEqual([accepted, coding]);
      expect(answer.body.equals(coding ? coded : content)).toBe(true);
      const plain = await get('/plain.html', { 'accept-encoding': accepted });
      expect([plain.status, plain.headers['content-encoding'], plain.body.equals(content)]).toEqual([
        200,
        undefined,
        true,
      ]);
    }
  });

  it('ends visibly incomplete where the content breaks off', async () => {
    const coded = gzipSync(content).subarray(0, 500);
    await rig.publisher.publish(rig.host.files, '/broken.html', {
      content: coded,
      metadata: { contentCoding: 'gzip' },
    });
    expect((await get('/broken.html')).complete).toBe(false);
  });
});

describe('conditions', () => {
  it('answer 304 to who has this version', async () => {
    await rig.publisher.publish(rig.host.files, '/condition.html', {
      content: 'one',
      metadata: { lastModified: 1_700_000_000 },
    });
    const { headers } = await get('/condition.html');
    const etag = headers.etag ?? '';
    for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await get('/condition.html', { 'if-none-match': condition });
      expect([answer.status, answer.body.length, answer.headers.etag]).toEqual([304, 0, etag]);
    }
    expect((await get('/condition.html', { 'if-none-match': '"other"' })).status).toBe(200);
    rig.host.requests.length = 0;
    expect((await get('/condition.html', { 'if-none-match': etag })).status).toBe(304);
    expect(rig.host.requests.filter(({ url }) => url.includes('condition'))).toEqual([]); // the publication says it all
    expect((await get('/condition.html', { 'if-modified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' })).status).toBe(304);
    expect((await get('/condition.html', { 'if-modified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' })).status).toBe(200);
  });

  it('are answered 412 where they demand another version, before those that ask for a newer one', async () => {
    const metadata = { lastModified: 1_700_000_000 }; // Tue, 14 Nov 2023 22:13:20 GMT
    await rig.publisher.publish(rig.host.files, '/match.html', { content: 'one', metadata });
    await rig.publisher.publish(rig.host.files, '/undated.html', { content: 'two' });
    const etag = (await get('/match.html')).headers.etag ?? '';
    const cases: [Record<string, string>, number][] = [
      [{ 'if-match': etag }, 200],
      [{ 'if-match': '*' }, 200],
      [{ 'if-match': `"other", ${etag}` }, 200],
      [{ 'if-match': '"other"' }, 412],
      [{ 'if-match': `W/${etag}` }, 412], // compared strongly
      [{ 'if-match': '' }, 412],
      [{ 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' }, 200],
      [{ 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' }, 412],
      [{ 'if-unmodified-since': 'Tuesday, 14-Nov-23 22:13:19 GMT' }, 412],
      [{ 'if-unmodified-since': 'Tue Nov 14 22:13:19 2023' }, 412],
      [{ 'if-unmodified-since': '2023-11-14' }, 200], // no date of HTTP
      [{ 'if-match': etag, 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' }, 200],
      [{ 'if-match': '"other"', 'if-none-match': etag }, 412],
      [{ 'if-match': etag, 'if-none-match': etag }, 304],
      [{ 'if-none-match': '"other"', 'if-modified-since': 'Tue, 14 Nov 2023 22:13:20 GMT' }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ 'if-match': '"other"', range: 'bytes=0-0' }, 412],
    ];
    for (const [headers, status] of cases)
      for (const method of ['GET', 'HEAD']) {
        const answer = await get('/match.html', headers, method);
        const expected = headers.range && method === 'GET' && status === 200 ? 206 : status;
        expect([headers, method, answer.status]).toEqual([headers, method, expected]);
        expect([answer.headers.etag, status !== 200 && answer.body.length > 0]).toEqual([etag, false]);
      }
    const undated = await get('/undated.html', { 'if-unmodified-since': 'Tue, 14 Nov 2000 22:13:20 GMT' });
    expect(undated.status).toBe(200); // it has no time of modification
  });
});

describe('ranges', () => {
  const content = randomBytes(3_000_000);
  const cases: [string, number, number][] = [
    ['bytes=0-0', 0, 1],
    ['bytes=100-', 100, 3_000_000],
    ['bytes=-5', 2_999_995, 3_000_000],
    ['bytes=65530-65600', 65_530, 65_601],
    ['bytes=2500000-2500999', 2_500_000, 2_501_000],
    ['bytes=2999999-9999999', 2_999_999, 3_000_000],
    ['bytes=0-2999999', 0, 3_000_000],
  ];

  beforeAll(async () => {
    await rig.publisher.publish(rig.host.files, '/film.mp4', {
      content,
      metadata: { mediaType: 'video/mp4', lastModified: 1_700_000_000 },
    });
    await rig.publisher.publishSigned(rig.host.files, '/public/film.mp4', {
      content,
      metadata: { mediaType: 'video/mp4' },
    });
  });

  it.each(['/film.mp4', '/public/film.mp4'])('are the bytes of the content of %s', async (path) => {
    for (const [range, start, end] of cases) {
      const answer = await get(path, { range });
      expect([range, answer.status, answer.headers['content-range']]).toEqual([
        range,
        206,
        `bytes ${start}-${end - 1}/3000000`,
      ]);
      expect(answer.headers['content-length']).toBe(String(end - start));
      expect(answer.body.equals(content.subarray(start, end))).toBe(true);
    }
  });

  it('fetch the blocks that they need, and no more', async () => {
    await get('/film.mp4', { range: 'bytes=0-0' });
    rig.host.requests.length = 0;
    await get('/film.mp4', { range: 'bytes=2000000-2000001' });
    expect(rig.host.requests).toHaveLength(1);
    const [, first, last] = /bytes=(\d+)-(\d+)/.exec(rig.host.requests[0]?.headers.range ?? '') ?? [];
    expect(Number(last) - Number(first)).toBeLessThan(70_000);
  });

  it('outside the content are refused; several, other units and nonsense get the whole', async () => {
    for (const range of ['bytes=3000000-', 'bytes=-0']) {
      const answer = await get('/film.mp4', { range });
      expect([answer.status, answer.headers['content-range']]).toEqual([416, 'bytes */3000000']);
    }
    for (const range of ['bytes=0-1,5-6', 'items=0-1', 'bytes=5-1', 'bytes=a-b', 'bytes=']) {
      const answer = await get('/film.mp4', { range });
      expect([range, answer.status, answer.body.length]).toEqual([range, 200, 3_000_000]);
    }
  });

  it('are served only of the version that If-Range names', async () => {
    const { headers } = await get('/film.mp4', {}, 'HEAD');
    const range = 'bytes=0-9';
    for (const condition of [headers.etag ?? '', headers['last-modified'] ?? '']) {
      expect((await get('/film.mp4', { range, 'if-range': condition })).status).toBe(206);
    }
    for (const condition of ['"other"', `W/${headers.etag}`, 'Tue, 14 Nov 2023 22:13:21 GMT']) {
      expect((await get('/film.mp4', { range, 'if-range': condition })).status).toBe(200);
    }
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

  it('release nothing of a block that was changed on the way', async () => {
    const path = '/sliced.bin';
    const object = await rig.publisher.publish(rig.host.files, path, { content });
    await get(path, { range: 'bytes=0-0' });
    const damaged = Uint8Array.from(object);
    damaged[1_700_000] = (damaged[1_700_000] ?? 0) ^ 1;
    rig.host.files.set(rig.publisher.fileOf(path), damaged);
    const answer = await get(path, { range: 'bytes=1600000-1800000' });
    expect(answer.complete).toBe(false);
    expect(content.subarray(1_600_000).subarray(0, answer.body.length).equals(answer.body)).toBe(true);
    expect(answer.body.length).toBeLessThan(100_000);
  });
});
