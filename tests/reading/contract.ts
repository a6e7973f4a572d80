/** What every reader answers, the same for all: one suite over real HTTP. Where one differs, {@link DIFFERENCES} says why. */
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import type { TestDocument } from '../support/publisher-with-sets.ts';
import type { Answer, ReadingRig } from './rig.ts';
import { CODED, CORS, cutting, DAY, dripping, FILM, PUBLIC, serving, TEXT, TOMORROW } from './site.ts';

export type ReaderName = 'the forward proxy' | 'the gateway' | 'the in-browser reader' | 'the reading site';

/** What does not hold for a reader, by the name of the case. */
const DIFFERENCES: Readonly<Record<string, Partial<Record<ReaderName, string>>>> = {
  'passes a content coding to readers that accept it, and undoes it for others': {
    'the in-browser reader': 'a page cannot say which codings it accepts: the worker always undoes them',
  },
  'says only once that the publication is stale': {
    'the reading site': 'it remembers nothing of its visitors, and says it whenever somebody enters the site',
  },
  'shows what is kept here of an expired publication after a word, and nothing else': {
    'the reading site': 'it keeps nothing of what was read',
  },
  'goes on from the second host where the first one fails in the middle': {
    'the reading site': 'it goes on from no other host once a document has begun: the transfer breaks off',
  },
};

const TAG = 'Tue, 14 Nov 2023 22:13:20 GMT';
const EARLIER = 'Tue, 14 Nov 2023 22:13:19 GMT';
/** What a request for {@link TEXT} demands, with `TAG` for its entity tag; and the status. */
const CONDITIONS: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
  [{ 'if-none-match': 'ETAG' }, 304],
  [{ 'if-none-match': 'W/ETAG' }, 304],
  [{ 'if-none-match': '"other", ETAG' }, 304],
  [{ 'if-none-match': '*' }, 304],
  [{ 'if-none-match': '"other"' }, 200],
  [{ 'if-none-match': '"other"', 'if-modified-since': TAG }, 200],
  [{ 'if-modified-since': TAG }, 304],
  [{ 'if-modified-since': EARLIER }, 200],
  [{ 'if-modified-since': 'yesterday' }, 200],
  [{ 'if-match': 'ETAG' }, 200],
  [{ 'if-match': '*' }, 200],
  [{ 'if-match': '"other"' }, 412],
  [{ 'if-match': 'W/ETAG' }, 412], // compared strongly
  [{ 'if-match': '"other"', 'if-none-match': 'ETAG' }, 412],
  [{ 'if-match': 'ETAG', 'if-none-match': 'ETAG' }, 304],
  [{ 'if-match': 'ETAG', 'if-unmodified-since': EARLIER }, 200],
  [{ 'if-match': '"other"', range: 'bytes=0-0' }, 412],
  [{ 'if-unmodified-since': TAG }, 200],
  [{ 'if-unmodified-since': EARLIER }, 412],
  [{ 'if-unmodified-since': '2023-11-14' }, 200], // no date of HTTP
];
const RANGES: readonly (readonly [string, number, number])[] = [
  ['bytes=0-0', 0, 1],
  ['bytes=70000-140000', 70_000, 140_001],
  ['bytes=299999-', 299_999, 300_000],
  ['bytes=-500', 299_500, 300_000],
  ['bytes=0-999999', 0, 300_000],
];

/** Answers that name a code do so in a header field. */
const refusalOf = ({ status, headers }: Answer) => [status, headers['wispr-refusal']];
const textOf = ({ body }: Answer) => body.toString();

/**
 * @param start - a reader of a site with the documents of `site.ts`
 * @param later - registers the cases with more than one publication, which cost some readers seconds
 */
export function describeReading(
  name: ReaderName,
  start: () => Promise<ReadingRig>,
  later: (register: () => void) => void = (register) => register(),
): void {
  let reader: ReadingRig;
  const holds = (title: string, work: () => Promise<void>) => {
    if (DIFFERENCES[title]?.[name] === undefined) it(title, work);
  };

  describe(`reading by ${name}`, () => {
    beforeAll(async () => {
      reader = await start();
    });
    afterEach(() => reader.site.repair());
    afterAll(() => reader?.close());

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

    holds('answers HEAD as GET, without the content', async () => {
      for (const { path, content } of [TEXT, FILM, PUBLIC]) {
        const [head, whole] = [await reader.get(path, { method: 'HEAD' }), await reader.get(path)];
        expect([head.status, head.body.length, whole.body.length]).toEqual([200, 0, content.length]);
        for (const field of ['etag', 'content-length', 'content-type', 'accept-ranges'])
          expect(head.headers[field]).toBe(whole.headers[field]);
      }
    });

    holds('passes a content coding to readers that accept it, and undoes it for others', async () => {
      const ask = (accepted: string) => reader.get(CODED.path, { headers: { 'accept-encoding': accepted } });
      const coded = await ask('br, gzip;q=0.5');
      expect(coded.headers['content-encoding']).toBe('gzip');
      expect(gunzipSync(coded.body).toString()).toBe(CODED.content);
      for (const accepted of ['identity', 'gzip;q=0, br', '']) {
        const plain = await ask(accepted);
        expect([plain.headers['content-encoding'], textOf(plain)]).toEqual([undefined, CODED.content]);
        expect([plain.headers.vary, plain.headers.etag === coded.headers.etag]).toEqual(['accept-encoding', false]);
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
        expect([headers['content-length'], body.equals(FILM.content.subarray(from, to))]).toEqual([
          `${to - from}`,
          true,
        ]);
      }
    });

    holds('answers a range outside the content with 416', async () => {
      for (const range of ['bytes=300000-', 'bytes=-0', 'bytes=999999999999999-']) {
        const { status, headers, body } = await reader.get(FILM.path, { headers: { range } });
        expect([status, headers['content-range'], body.length]).toEqual([416, 'bytes */300000', 0]);
      }
    });

    holds('ignores several ranges, other units, malformed ranges, and those of HEAD', async () => {
      for (const range of ['bytes=0-1,5-6', 'lines=1-2', 'bytes=5-1', 'bytes=-', 'bytes=a-b']) {
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

    holds('follows signed redirects: inside the site by their paths, elsewhere as they stand', async () => {
      for (const [path, status, location] of [
        ['/old', 301, '/a.txt?x#y'],
        ['/own', 302, '/a.txt'],
        ['/away', 308, 'https://elsewhere.example/'],
      ] as const) {
        const { headers, ...answer } = await reader.open(path);
        expect([answer.status, headers.location]).toEqual([status, location]);
        expect(headers['cache-control']).toBe('private, no-cache');
      }
    });

    holds('refuses what the publication does not name, whatever a host has there', async () => {
      for (const { files } of reader.site.hosts) files.set('/unsigned.html', Buffer.from('unsigned'));
      for (const path of ['/unsigned.html', '/A.txt', '/constructor', '/.well-known/wispr-site']) {
        const answer = await reader.get(path);
        expect([path, ...refusalOf(answer)]).toEqual([path, 404, 'no-such-document']);
        expect(answer.headers['cache-control']).toBe('no-store');
      }
    });

    holds('refuses an address that no document can have', async () => {
      for (const path of ['/a%00b.txt', '/x//a.txt', '/x%2Fa.txt', '/%C3', '/%zz'])
        expect([path, ...refusalOf(await reader.get(path))]).toEqual([path, 404, 'path-refused']);
    });

    holds('refuses a document of a set that the reader may not have', async () => {
      for (const method of ['GET', 'HEAD'])
        expect(refusalOf(await reader.get(TOMORROW.path, { method }))).toEqual([403, 'not-entitled']);
    });

    holds('refuses other methods than GET and HEAD', async () => {
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const { status, headers } = await reader.get(TEXT.path, { method });
        expect([method, status, headers.allow]).toEqual([method, 405, 'GET, HEAD']);
      }
    });

    later(() => {
      const newer = { ...TEXT, content: 'Ships have come in.' };

      /** Documents of a publication that the reader knows. */
      const publish = async (...documents: readonly TestDocument[]) => {
        await reader.site.publish(...documents);
        await reader.look();
      };
      const set = async (changes: Parameters<ReadingRig['site']['set']>[0]) => {
        await reader.site.set(changes);
        await reader.look();
      };

      holds(
        "shows the publisher's own page for what does not exist whole, with status 404 and without a tag",
        async () => {
          const content = 'Not here. '.repeat(1000);
          await reader.site.publish({ path: '/404.txt', content, mediaType: 'text/plain' });
          await set({ notFound: '/404.txt' });
          const etag = String((await reader.get('/404.txt')).headers.etag);
          for (const headers of [{}, { range: 'bytes=0-3' }, { 'if-none-match': etag }, { 'if-match': '"other"' }]) {
            const answer = await reader.get('/none', { headers });
            expect([headers, answer.status, textOf(answer) === content]).toEqual([headers, 404, true]);
            expect([answer.headers.etag, answer.headers['wispr-refusal']]).toEqual([undefined, undefined]);
          }
          const head = await reader.get('/none', { method: 'HEAD' });
          expect([head.status, head.headers['content-length'], head.body.length]).toEqual([404, '10000', 0]);
          await set({});
        },
      );

      holds('finds a page at once when a link leads to it a moment after it was published', async () => {
        await reader.site.publish({ ...PUBLIC, path: '/new.txt' });
        expect((await reader.get('/new.txt')).status).toBe(404);
        await expect.poll(async () => (await reader.open('/new.txt')).status).toBe(200);
      });

      holds('looks again where the files of a document were replaced', async () => {
        await publish({ ...TEXT, path: '/replaced.txt' });
        const before = reader.site.fileOf('/replaced.txt');
        await reader.site.publish({ ...newer, path: '/replaced.txt' });
        reader.site.answerFile(before, (_request, response) => response.writeHead(404, CORS).end());
        await expect.poll(async () => textOf(await reader.get('/replaced.txt'))).toBe(newer.content);
      });

      holds('answers conditions by the publication in use, not by what was read before', async () => {
        await publish({ ...TEXT, path: '/edited.txt' });
        const { headers } = await reader.get('/edited.txt');
        await publish({ ...newer, path: '/edited.txt' });
        const answer = await reader.get('/edited.txt', { headers: { 'if-none-match': String(headers.etag) } });
        expect([answer.status, textOf(answer)]).toEqual([200, newer.content]);
      });

      holds('refuses a document whose head or first block was changed on all hosts', async () => {
        for (const [path, at, code] of [
          ['/head.txt', 20, 'head-unexpected'],
          ['/block.txt', -3, 'block-digest'],
        ] as const) {
          await publish({ ...TEXT, path });
          reader.site.answer(path, serving(reader.site.changed(path, at)));
          const answer = await reader.get(path);
          expect(refusalOf(answer)).toEqual([502, code]);
          expect(textOf(answer)).not.toContain('Ships');
        }
      });

      holds(
        'ends visibly incomplete where a later block was changed on all hosts, and shows nothing of it',
        async () => {
          const path = '/cut.bin';
          await publish({ ...FILM, path });
          reader.site.answer(path, serving(reader.site.changed(path, -3)));
          const { isWhole, body } = await reader.get(path);
          expect([isWhole, body.equals(FILM.content.subarray(0, body.length))]).toEqual([false, true]);
          const part = await reader.get(path, { headers: { range: 'bytes=299000-' } });
          expect(part.isWhole ? refusalOf(part) : part.body.length).toEqual(part.isWhole ? [502, 'block-digest'] : 0);
        },
      );

      holds('goes on from the second host where the first one fails in the middle', async () => {
        const failures = {
          changed: () => serving(reader.site.changed('/changed.bin', 250_000)),
          cut: () => cutting(reader.site.object('/cut-off.bin'), 250_000),
        };
        for (const [path, failing] of [
          ['/changed.bin', failures.changed],
          ['/cut-off.bin', failures.cut],
        ] as const) {
          await publish({ ...FILM, path });
          reader.site.answerOnce(path, failing());
          const { status, isWhole, body } = await reader.get(path);
          expect([path, status, isWhole, body.equals(FILM.content)]).toEqual([path, 200, true, true]);
        }
      });

      holds('refuses a document while no host can be reached', async () => {
        await publish({ ...TEXT, path: '/far.txt' });
        reader.site.answer('*', ({ socket }) => void socket.destroy());
        expect(refusalOf(await reader.get('/far.txt'))).toEqual([502, 'content-host-unreachable']);
      });

      holds('ends the transfer when its reader goes away', async () => {
        await publish({ ...FILM, path: '/left.bin', content: randomBytes(2_000_000) });
        const finished: boolean[] = [];
        reader.site.answer(
          '/left.bin',
          dripping(reader.site.object('/left.bin'), (whole) => finished.push(whole)),
        );
        await reader.leave('/left.bin');
        await expect.poll(() => reader.site.hosts.map((host) => host.open())).toEqual([0, 0]);
        expect(finished).toEqual([false]);
      });

      holds('sends a document whole to a reader who is slow', async () => {
        const content = randomBytes(2_000_000);
        await publish({ ...FILM, path: '/slow.bin', content });
        expect((await reader.readSlowly('/slow.bin')).equals(content)).toBe(true);
      });

      holds('says first that the publication is stale, and shows the document then', async () => {
        await reader.aged(3 * DAY, async () => {
          const notice = await reader.open(PUBLIC.path);
          expect([notice.status, notice.headers['wispr-notice']]).toEqual([503, 'stale']);
          expect(textOf(notice)).toContain('was up to date 3 days ago');
          const shown = await reader.goOn();
          expect([shown.status, textOf(shown)]).toEqual([200, PUBLIC.content]);
          expect((await reader.get(PUBLIC.path)).status).toBe(200);
        });
      });

      holds('says only once that the publication is stale', async () => {
        await reader.aged(3 * DAY, async () => {
          await reader.open(PUBLIC.path);
          expect((await reader.open(PUBLIC.path)).status).toBe(200);
        });
      });

      holds('refuses everything where the publication was not confirmed within its grace', async () => {
        await reader.aged(10 * DAY, async () => {
          expect(refusalOf(await reader.open(PUBLIC.path))).toEqual([502, 'publication-expired']);
        });
      });

      holds('shows what is kept here of an expired publication after a word, and nothing else', async () => {
        await publish({ ...PUBLIC, path: '/kept.txt' }, { ...PUBLIC, path: '/unread.txt' });
        await set({ grace: 0, keptAfterGrace: true });
        await reader.aged(
          10 * DAY,
          async () => {
            const notice = await reader.open('/kept.txt');
            expect([notice.status, notice.headers['wispr-notice']]).toEqual([503, 'past']);
            const shown = await reader.goOn();
            expect([shown.status, textOf(shown)]).toEqual([200, PUBLIC.content]);
            await reader.open('/unread.txt');
            expect(refusalOf(await reader.goOn())).toEqual([502, 'content-host-unreachable']);
          },
          '/kept.txt',
        );
        await set({});
      });

      holds('refuses everything of a publication that was withdrawn, until there is another one', async () => {
        await reader.site.withdraw();
        await reader.look();
        expect(refusalOf(await reader.get(PUBLIC.path))).toEqual([502, 'publication-withdrawn']);
        await publish(PUBLIC);
        expect((await reader.get(PUBLIC.path)).status).toBe(200);
      });
    });
  });
}
