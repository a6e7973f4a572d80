/** Rules of HTTP for a document, whoever reads it: GET and HEAD, codings, conditions, ranges (RFC 9110). */
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { urlPathOf } from '../../core/site/path.ts';
import { type Holds, type ReadingRig, textOf } from './rig.ts';
import { CODED, EMPTY, FILM, PUBLIC, TEXT } from './site.ts';

const TAG = 'Tue, 14 Nov 2023 22:13:20 GMT';
const EARLIER = 'Tue, 14 Nov 2023 22:13:19 GMT';
/** Conditions of a request for {@link TEXT}, with `ETAG` for its entity tag; and the status. Lists of tags are in validators.test.ts. */
const CONDITIONS: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
  [{ 'if-none-match': 'ETAG' }, 304],
  [{ 'if-none-match': '"other"' }, 200],
  [{ 'if-none-match': '"other"', 'if-modified-since': TAG }, 200],
  [{ 'if-modified-since': TAG }, 304],
  [{ 'if-modified-since': EARLIER }, 200],
  [{ 'if-modified-since': 'yesterday' }, 200],
  [{ 'if-match': 'ETAG' }, 200],
  [{ 'if-match': '"other"' }, 412],
  [{ 'if-match': '"other"', 'if-none-match': 'ETAG' }, 412],
  [{ 'if-match': 'ETAG', 'if-none-match': 'ETAG' }, 304],
  [{ 'if-match': 'ETAG', 'if-unmodified-since': EARLIER }, 200],
  [{ 'if-match': '"other"', range: 'bytes=0-0' }, 412],
  [{ 'if-unmodified-since': TAG }, 200],
  [{ 'if-unmodified-since': EARLIER }, 412],
  [{ 'if-unmodified-since': 'Tuesday, 14-Nov-23 22:13:19 GMT' }, 412],
  [{ 'if-unmodified-since': 'Tue Nov 14 22:13:19 2023' }, 412],
  [{ 'if-unmodified-since': '2023-11-14' }, 200], // ISO 8601, not HTTP
];
const ACCEPTED: readonly (readonly [string, 'gzip' | undefined])[] = [
  ['br, gzip;q=0.5', 'gzip'],
  ['gzip;q=0.5, identity;q=0.5', 'gzip'],
  ['gzip, identity;q=0', 'gzip'],
  ['*', 'gzip'],
  ['x-gzip', 'gzip'],
  ['gzip;q=0.2, identity;q=0.5', undefined],
  ['*;q=0.1, identity;q=0.2', undefined],
  ['gzip;q=1.5', undefined],
  ['gzip;q=0, identity;q=0', undefined],
  ['br, identity;q=0', undefined],
  ['', undefined],
];
const RANGES: readonly (readonly [string, number, number])[] = [
  ['bytes=0-0', 0, 1],
  ['bytes=70000-140000', 70_000, 140_001],
  ['bytes=299999-', 299_999, 300_000],
  ['bytes=-500', 299_500, 300_000],
  ['bytes=0-999999', 0, 300_000],
];

/** Ranges in the order of the content, whichever order was asked for. */
const SEVERAL_RANGES: Readonly<Record<string, readonly (readonly [number, number])[]>> = {
  'bytes=0-0,299999-': pairs(0, 1, 299_999, 300_000),
  'bytes=200000-200099, 10-19,-5': pairs(10, 20, 200_000, 200_100, 299_995, 300_000),
  'bytes=70000-140000,400000-,0-9': pairs(0, 10, 70_000, 140_001),
  'bytes=1-1,3-3,5-5': pairs(1, 2, 3, 4, 5, 6),
};

/** @param reader - is there once tests run */
export function documentCases(holds: Holds, reader: ReadingRig): void {
  holds('sends a document with its signed header fields and none of the host', async () => {
    const answer = await reader.get(TEXT.path);
    expect([answer.status, textOf(answer), answer.isWhole]).toEqual([200, TEXT.content, true]);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain',
      'content-language': 'en-GB',
      'last-modified': TAG,
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      'accept-ranges': 'bytes',
      etag: expect.stringMatching(/^"/),
      'wispr-confirmed': expect.stringMatching(/GMT$/),
    });
    expect(answer.headers).not.toHaveProperty('x-from-host');
    expect(answer.headers).not.toHaveProperty('set-cookie');
  });

  holds('sends an empty document, and finds one by any spelling of its letters', async () => {
    for (const path of [urlPathOf(EMPTY.path), '/pilot%20b%6Fat%20%c3%a9.txt?query']) {
      const { status, headers, body, isWhole } = await reader.get(path);
      expect([status, headers['content-length'], body.length, isWhole]).toEqual([200, '0', 0, true]);
    }
  });

  holds('answers HEAD as GET, without the content', async () => {
    for (const { path, content } of [TEXT, FILM, PUBLIC]) {
      const [head, whole] = [await reader.get(path, { method: 'HEAD' }), await reader.get(path)];
      expect([head.status, head.body.length, whole.body.length]).toEqual([200, 0, content.length]);
      for (const field of ['etag', 'content-length', 'content-type', 'accept-ranges'])
        expect(head.headers[field]).toBe(whole.headers[field]);
    }
  });

  holds('passes a content coding to readers that accept it, and undoes it for others', async () => {
    for (const [accepted, coding] of ACCEPTED) {
      const sent = { headers: { 'accept-encoding': accepted } };
      const { headers, body } = await reader.get(CODED.path, sent);
      expect([accepted, headers['content-encoding'], headers.vary]).toEqual([accepted, coding, 'accept-encoding']);
      expect((coding ? gunzipSync(body) : body).toString()).toBe(CODED.content);
      expect(headers.etag === (await reader.get(CODED.path)).headers.etag).toBe(coding === undefined);
      expect(textOf(await reader.get(TEXT.path, sent))).toBe(TEXT.content); // the plain text where nothing is acceptable
    }
  });

  holds('answers conditions with 304 and 412, to GET and HEAD', async () => {
    const etag = String((await reader.get(TEXT.path)).headers.etag);
    for (const [conditions, status] of CONDITIONS)
      for (const method of ['GET', 'HEAD']) {
        const fields = Object.entries(conditions).map(([field, value]) => [field, value.replace('ETAG', etag)]);
        const answer = await reader.get(TEXT.path, { method, headers: Object.fromEntries(fields) });
        expect([conditions, method, answer.status, answer.headers.etag]).toEqual([conditions, method, status, etag]);
        expect(answer.body.length).toBe(status === 200 && method === 'GET' ? TEXT.content.length : 0);
      }
  });

  holds('answers one range with 206', async () => {
    for (const [range, from, to] of RANGES) {
      const { status, headers, body } = await reader.get(FILM.path, { headers: { range } });
      expect([status, headers['content-range']]).toEqual([206, `bytes ${from}-${to - 1}/300000`]);
      expect([headers['content-length'], body.equals(FILM.content.subarray(from, to))]).toEqual([`${to - from}`, true]);
    }
  });

  holds('answers a range outside the content with 416', async () => {
    for (const range of ['bytes=300000-', 'bytes=-0', 'bytes=999999999999999-']) {
      const { status, headers, body } = await reader.get(FILM.path, { headers: { range } });
      expect([status, headers['content-range'], body.length]).toEqual([416, 'bytes */300000', 0]);
    }
  });

  holds('answers several ranges with 206 and a part for each', async () => {
    for (const [range, expected] of Object.entries(SEVERAL_RANGES)) {
      const { status, headers, body } = await reader.get(FILM.path, { headers: { range } });
      const [, boundary = ''] =
        /^multipart\/byteranges; boundary=([\w-]+)$/.exec(String(headers['content-type'])) ?? [];
      const parts = expected.map(([from, to]) => {
        const fields = `Content-Type: ${FILM.mediaType}\r\nContent-Range: bytes ${from}-${to - 1}/300000\r\n\r\n`;
        return [`\r\n--${boundary}\r\n${fields}`, FILM.content.subarray(from, to)] as const;
      });
      const whole = [
        ...parts.flatMap(([front, part]) => [Buffer.from(front), part]),
        Buffer.from(`\r\n--${boundary}--\r\n`),
      ];
      expect([range, status, body.equals(Buffer.concat(whole))]).toEqual([range, 206, true]);
      expect([headers['content-length'], headers['content-range']]).toEqual([`${body.length}`, undefined]);
    }
  });

  holds('sends ranges that overlap or touch as one, and leaves out those outside the content', async () => {
    for (const range of [
      'bytes=0-99,50-149',
      'bytes=100-149, 0-99',
      'bytes=0-149,10-19,,20-29',
      'bytes=0-149,300000-',
    ]) {
      const { status, headers, body } = await reader.get(FILM.path, { headers: { range } });
      expect([range, status, headers['content-range']]).toEqual([range, 206, 'bytes 0-149/300000']);
      expect(body.equals(FILM.content.subarray(0, 150))).toBe(true);
    }
    const { status, headers } = await reader.get(FILM.path, { headers: { range: 'bytes=300000-,-0' } });
    expect([status, headers['content-range']]).toEqual([416, 'bytes */300000']);
  });

  holds('attack 58: asks a host once for all that up to 32 ranges need', async () => {
    const ranges = Array.from({ length: 32 }, (_, index) => `${index * 9_000}-${index * 9_000}`);
    const { hosts } = reader.site;
    for (const { requests } of hosts) requests.length = 0;
    const { status, headers } = await reader.get('/ranges.bin', { headers: { range: `bytes=${ranges.join()}` } });
    expect([status, headers['content-type']]).toEqual([206, expect.stringMatching(/^multipart/)]);
    const asked = hosts.flatMap(({ requests }) => requests).filter(({ url }) => url.includes('ranges.bin'));
    expect(asked).not.toEqual([]);
    expect(asked.length).toBeLessThanOrEqual(3); // head, first block, and blocks from the first range to the last
  });

  holds('ignores too many ranges, other units, malformed ranges, and those of HEAD', async () => {
    const many = Array.from({ length: 33 }, (_, index) => `${index * 10}-${index * 10 + 1}`).join();
    for (const range of [`bytes=${many}`, 'bytes=0-1,5-x', 'lines=1-2', 'bytes=5-1', 'bytes=-', 'bytes=a-b']) {
      const { status, body } = await reader.get(FILM.path, { headers: { range } });
      expect([range, status, body.length]).toEqual([range, 200, 300_000]);
    }
    expect((await reader.get(FILM.path, { method: 'HEAD', headers: { range: 'bytes=0-1' } })).status).toBe(200);
  });

  holds('sends a range only of the version that If-Range names', async () => {
    const { headers } = await reader.get(FILM.path, { method: 'HEAD' });
    const ask = async (version: string) =>
      (await reader.get(FILM.path, { headers: { range: 'bytes=0-9', 'if-range': version } })).status;
    for (const same of [String(headers.etag), TAG]) expect([same, await ask(same)]).toEqual([same, 206]);
    for (const other of ['"other"', `W/${headers.etag}`, 'Tue, 14 Nov 2023 22:13:21 GMT'])
      expect([other, await ask(other)]).toEqual([other, 200]);
  });
}

function pairs(...bounds: readonly number[]): (readonly [number, number])[] {
  return bounds.flatMap((start, index) => (index % 2 === 0 ? [[start, bounds[index + 1] ?? 0] as const] : []));
}
