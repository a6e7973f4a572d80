/** Rows 9 and 57 to 59 of the attack list through the running proxy: what HTTP lets a client or a host ask and say. What hosts serve in place of objects: tests/core/attacks.test.ts and tests/reading. */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { forFile } from '../support/for-file.ts';
import { refusalCode, send, sendRaw } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const LENGTH = 1_000_000;

const rig = forFile(startHostileReaderRig);
const content = randomBytes(LENGTH);
let object: Uint8Array;
beforeAll(async () => {
  object = await rig.publisher.publish(rig.host.files, '/film.mp4', { content });
});

beforeEach(() => {
  rig.host.handlers.clear();
  rig.host.requests.length = 0;
});

const get = (path: string, headers: Record<string, string> = {}) => send(rig.proxy.port, rig.url(path), { headers });
const asked = () => rig.host.requests.filter(({ url }) => !url.startsWith('/.well-known/'));

it('attack 57: a range of a document is plaintext with 206, 416 or 200, never a slice of ciphertext, whatever the host does with ranges', async () => {
  const file = rig.publisher.fileOf('/film.mp4');
  const slices: (() => void)[] = [
    () => undefined,
    () => rig.host.handlers.set(file, (_, response) => response.end(object)), // ignores them
    // Gives the range of ciphertext that was asked of the plaintext.
    () =>
      rig.host.handlers.set(file, (request, response) => {
        if (request.headers.range === undefined) return response.end(object);
        response.writeHead(206, { 'content-range': `bytes 0-99/${object.length}` }).end(object.subarray(0, 100));
      }),
    () => rig.host.handlers.set(file, (_, response) => response.writeHead(416).end()),
  ];
  for (const serve of slices) {
    serve();
    for (const [range, start, end] of [
      ['bytes=0-99', 0, 100],
      ['bytes=900000-900099', 900_000, 900_100],
      ['bytes=-100', LENGTH - 100, LENGTH],
    ] as const) {
      const answer = await get('/film.mp4', { range });
      const wanted = { 200: content, 206: content.subarray(start, end) }[answer.status] ?? Buffer.of();
      if (answer.complete && answer.status < 400) expect(answer.body.equals(wanted)).toBe(true);
      else expect([502, 206]).toContain(answer.status);
      for (const at of [0, 500, 100_000]) expect(answer.body.includes(object.subarray(at, at + 50))).toBe(false);
    }
    expect((await get('/film.mp4', { range: `bytes=${LENGTH}-` })).status).toBeOneOf([416, 502]);
  }
});

describe('attack 58: a thousand ranges', () => {
  it.each([
    ['that overlap', Array.from({ length: 1000 }, (_, index) => `0-${index}`)],
    ['one behind the other', Array.from({ length: 1000 }, (_, index) => `${index}-${index}`)],
    ['of everything', Array.from({ length: 1000 }, () => '0-')],
  ])('%s are one answer with the whole, and one request', async (_, ranges) => {
    const answer = await get('/film.mp4', { range: `bytes=${ranges.join(',')}` });
    expect([answer.status, answer.body.equals(content), asked().length]).toEqual([200, true, 1]);
  });

  it('in a thousand fields, or beyond the bound of all fields, are answered or refused, and the proxy lives on', async () => {
    const fields = 'Range: bytes=0-1\r\n'.repeat(1000);
    const ask = (ranges: string) =>
      sendRaw(rig.proxy.port, `GET ${rig.url('/film.mp4')} HTTP/1.0\r\nHost: news.example\r\n${ranges}\r\n`);
    expect(await ask(fields)).toMatch(/^HTTP\/1\.1 (?:200|206|400|431) /);
    // A head refused before all of it was taken: the reset of the connection may overtake the answer.
    const refused = await ask(`Range: bytes=${'0-1,'.repeat(20_000)}\r\n`).catch(
      (error: { code?: string }) => error.code,
    );
    expect(refused).toMatch(/^(?:HTTP\/1\.1 (?:400|431) |ECONNRESET$)/);
    expect((await get('/film.mp4', { range: 'bytes=5-9' })).body.equals(content.subarray(5, 10))).toBe(true);
  });

  it('at the same time are served from the blocks that they need', async () => {
    const ranges = Array.from({ length: 1000 }, (_, index) => [index * 900, index * 900 + 50] as const);
    const read = async ([start, end]: readonly [number, number]) => {
      const answer = await get('/film.mp4', { range: `bytes=${start}-${end}` });
      expect([answer.status, answer.body.equals(content.subarray(start, end + 1))]).toEqual([206, true]);
    };
    for (let at = 0; at < ranges.length; at += 50) await Promise.all(ranges.slice(at, at + 50).map(read));
  });
});

describe('attack 59: 304 for a version that is not held', () => {
  it('of a document: it is fetched again, past the cache that said it', async () => {
    await rig.publisher.publish(rig.host.files, '/new.html', { content: 'new' });
    const file = rig.publisher.fileOf('/new.html');
    const bytes = rig.host.files.get(file);
    rig.host.handlers.set(file, (request, response) =>
      request.headers['cache-control'] === 'no-cache' ? response.end(bytes) : response.writeHead(304).end(),
    );
    expect((await get('/new.html')).text).toBe('new');
    expect(asked()).toHaveLength(2);
    rig.host.handlers.set(file, (_, response) => response.writeHead(304).end());
    const stubborn = await get('/new.html');
    expect([stubborn.status, refusalCode(stubborn)]).toEqual([502, 'content-host-answer']);
  });

  it('of the timestamp: the same, also where it names another version than the one at hand', async () => {
    const file = '/.well-known/wispr/timestamp.json';
    const seen: (string | undefined)[] = [];
    /** Answers 304 in the name of a version, so many times. */
    const serve = (etag: string, named: string, times: number) => {
      let left = times;
      rig.host.handlers.set(file, ({ headers }, response) => {
        seen.push(headers['if-none-match']);
        if (left-- > 0) response.writeHead(304, { etag: named }).end();
        else response.writeHead(200, { etag }).end(rig.host.files.get(file));
      });
    };
    serve('"one"', '"one"', 1); // the request names no version
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'first' });
    expect((await get('/a.html')).text).toBe('first');
    expect(seen.splice(0)).toEqual([undefined, undefined]);
    serve('"two"', '"two"', 1);
    await rig.publisher.publish(rig.host.files, '/a.html', { content: 'second' });
    expect((await get('/a.html')).text).toBe('second');
    expect(seen.splice(0)).toEqual(['"one"', undefined]);
    serve('"two"', '"two"', 9);
    await rig.proxy.check();
    expect(seen.splice(0)).toEqual(['"two"']);
    expect((await get('/a.html')).text).toBe('second');
  });
});

it('attack 9: a bad block, where only the connection can tell so because a coding is undone for HTTP/1.0, ends it with a reset', async () => {
  const metadata = { contentCoding: 'gzip' as const };
  const changed = (bytes: Uint8Array) => bytes.with(-1000, (bytes.at(-1000) ?? 0) ^ 1);
  const coded = gzipSync(randomBytes(200_000));
  const sound = await rig.publisher.object('/coded.bin', { content: coded, metadata });
  const badCoding = await rig.publisher.object('/coded.bin', { content: changed(coded), metadata });
  const ask = () => sendRaw(rig.proxy.port, `GET ${rig.url('/coded.bin')} HTTP/1.0\r\nHost: news.example\r\n\r\n`);
  await rig.publisher.publishObject(rig.host.files, '/coded.bin', badCoding);
  await expect(ask()).rejects.toMatchObject({ code: 'ECONNRESET' });
  await rig.publisher.publishObject(rig.host.files, '/coded.bin', sound);
  const whole = await ask(); // the end of the connection ends it: no length, no chunks
  expect(whole).toMatch(/^HTTP\/1\.1 200 /);
  expect(whole.toLowerCase()).not.toMatch(/content-length|transfer-encoding|content-encoding/);
  expect(whole.length).toBeGreaterThan(200_000);
  rig.host.files.set(rig.publisher.fileOf('/coded.bin'), changed(sound));
  await expect(ask()).rejects.toMatchObject({ code: 'ECONNRESET' });
});
