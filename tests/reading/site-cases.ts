/** Answers of a site, whoever reads it: what there is at an address, what is refused and why, and what follows from newer publications. */
import { expect } from 'vitest';
import type { TestDocument } from '../support/publisher-with-sets.ts';
import { type Holds, type ReadingRig, refusalOf, textOf } from './rig.ts';
import {
  CORS,
  cutting,
  DAY,
  dripping,
  FILM,
  type Handler,
  LONG,
  PAGE,
  PUBLIC,
  serving,
  TEXT,
  TOMORROW,
} from './site.ts';

/** Registers cases of the publication at hand. @param reader - is there once tests run */
export function siteCases(holds: Holds, reader: ReadingRig): void {
  holds('follows signed redirects: inside the site by their paths, elsewhere as they stand', async () => {
    for (const [path, status, location] of [
      ['/old', 301, '/a.txt?x#y'],
      ['/own', 302, '/a.txt'],
      ['/away', 308, 'https://elsewhere.example/'],
      ['/folder?q=1', 308, '/folder/?q=1'],
    ] as const) {
      const { headers, ...answer } = await reader.open(path);
      expect([answer.status, headers.location]).toEqual([status, location]);
      expect(headers['cache-control']).toBe('private, no-cache');
    }
  });

  holds('sends the index of a folder', async () => {
    for (const path of ['/folder/', '/folder/?query', '/folder/index.html'])
      expect((await reader.get(path)).headers['content-type']).toBe(PAGE.mediaType);
  });

  holds('attack 76: refuses what the publication does not name, whatever a host has there', async () => {
    for (const { files } of reader.site.hosts) files.set('/unsigned.html', Buffer.from('unsigned'));
    for (const path of ['/unsigned.html', '/A.txt', '/constructor', '/.well-known/wispr-site']) {
      const answer = await reader.get(path);
      expect([path, ...refusalOf(answer)]).toEqual([path, 404, 'no-such-document']);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  holds('attack 151: shows nothing of a fallback page, to whom the document is shown or refused', async () => {
    const paths = [TEXT.path, TOMORROW.path];
    for (const { files } of reader.site.hosts)
      for (const path of paths)
        files.set(path, Buffer.from('<title>Changed by a host</title><script src="//evil.example"></script>'));
    for (const path of paths)
      for (const answer of [await reader.get(path), await reader.open(path)])
        expect(answer.body.toString('latin1')).not.toMatch(/Changed by a host|evil\.example/);
  });

  holds('attack 88: refuses an address that no document can have', async () => {
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
}

/** Registers cases in which hosts or readers fail, each with documents that nobody has read. @param reader - is there once tests run */
export function failureCases(holds: Holds, reader: ReadingRig): void {
  holds('attack 6, attack 8: refuses a document whose head or first block was changed on all hosts', async () => {
    for (const [path, at, code] of [
      ['/head.txt', 20, 'head-unexpected'],
      ['/block.txt', -3, 'block-digest'],
    ] as const) {
      reader.site.answer(path, serving(reader.site.changed(path, at)));
      const answer = await reader.get(path);
      expect(refusalOf(answer)).toEqual([502, code]);
      expect(textOf(answer)).not.toContain('Ships');
    }
  });

  holds('attack 9: ends visibly incomplete where a later block was changed, and shows nothing of it', async () => {
    const path = '/cut.bin';
    reader.site.answer(path, serving(reader.site.changed(path, -3)));
    const { isWhole, body } = await reader.get(path);
    expect([isWhole, body.equals(FILM.content.subarray(0, body.length))]).toEqual([false, true]);
    const part = await reader.get(path, { headers: { range: 'bytes=299000-' } });
    expect(part.isWhole ? refusalOf(part) : part.body.length).toEqual(part.isWhole ? [502, 'block-digest'] : 0);
  });

  holds('attack 18, attack 23: refuses what a host answers in place of a document, by what it is', async () => {
    for (const [code, handler] of [
      ['head-unexpected', (_request, response) => response.writeHead(200, CORS).end('<h1>Ships, says the cache</h1>')],
      ['head-unexpected', serving(reader.site.object(FILM.path))],
      ['content-host-answer', (_request, response) => response.writeHead(503, CORS).end()],
      ['object-missing', (_request, response) => response.writeHead(404, CORS).end()],
    ] as const satisfies [string, Handler][]) {
      reader.site.answer('/odd.txt', handler);
      expect(refusalOf(await reader.get('/odd.txt'))).toEqual([502, code]);
    }
  });

  holds('attack 23: follows no redirect of a host', async () => {
    reader.site.answer('/moved.txt', (_request, response) =>
      response.writeHead(302, { ...CORS, location: reader.site.fileOf(PUBLIC.path) }).end(),
    );
    expect(refusalOf(await reader.get('/moved.txt'))).toEqual([502, 'content-host-answer']);
  });

  holds('goes on from the second host where the first one fails in the middle', async () => {
    const failures = {
      changed: () => serving(reader.site.changed('/changed.bin', 250_000)),
      cut: () => cutting(reader.site.object('/cut-off.bin'), 250_000),
    };
    for (const [path, failing] of [
      ['/changed.bin', failures.changed],
      ['/cut-off.bin', failures.cut],
    ] as const) {
      reader.site.answerOnce(path, failing());
      const { status, isWhole, body } = await reader.get(path);
      expect([path, status, isWhole, body.equals(FILM.content)]).toEqual([path, 200, true, true]);
    }
  });

  holds('refuses a document while no host can be reached', async () => {
    reader.site.answer('*', ({ socket }) => void socket.destroy());
    expect(refusalOf(await reader.get('/far.txt'))).toEqual([502, 'content-host-unreachable']);
  });

  holds('ends the transfer when its reader goes away', async () => {
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
    expect((await reader.readSlowly('/slow.bin')).equals(LONG)).toBe(true);
  });
}

/** Registers cases with newer publications, and as time passes. */
export function changeCases(holds: Holds, reader: ReadingRig): void {
  const newer = { ...TEXT, content: 'Ships have come in.' };

  /** Publishes documents, and lets the reader find them. */
  const publish = async (...documents: readonly TestDocument[]) => {
    await reader.site.publish(...documents);
    await reader.look();
  };
  const set = async (changes: Parameters<ReadingRig['site']['set']>[0]) => {
    await reader.site.set(changes);
    await reader.look();
  };

  holds("attack 23: shows the publisher's page for what does not exist whole, with 404 and without a tag", async () => {
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
    await set({ notFound: TEXT.path }); // a document not for everybody
    expect(refusalOf(await reader.get('/none'))).toEqual([404, 'no-such-document']);
    await set({});
  });

  holds('finds a document without its ending where the publisher says so', async () => {
    expect(refusalOf(await reader.get('/page'))).toEqual([404, 'no-such-document']);
    await set({ cleanUrls: true });
    expect((await reader.get('/page?query')).headers['content-type']).toBe(PAGE.mediaType);
    await set({});
  });

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

  holds('attack 80: says first that the publication is stale, and shows the document then', async () => {
    await reader.aged(3 * DAY, async () => {
      const notice = await reader.open(`${PUBLIC.path}?q=%22"><script>`);
      expect([notice.status, notice.headers['wispr-notice']]).toEqual([503, 'stale']);
      expect(textOf(notice)).toContain('was last checked 3 days ago');
      expect(textOf(notice)).not.toContain('"><script');
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

  holds('attack 30: shows what is kept here of an expired publication after a word, and nothing else', async () => {
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
        const [status, code] = refusalOf(await reader.goOn());
        expect(status).toBe(502);
        expect(code).toBeOneOf(['content-host-unreachable', 'metadata-missing']); // the bin may not be here, either
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
}
