/** The in-browser reader in Chromium: real key server, real content hosts, the real worker. */
import { readFile } from 'node:fs/promises';
import type { Page, Response } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { fileOf, publish, setOf } from '../support/publisher-with-sets.ts';
import { signOnto } from '../support/signed-publication.ts';
import { inRelease } from '../support/tier.ts';
import { startWebReaderRig, visit, type WebReaderRig } from '../support/web-reader-rig.ts';
import { playFilm, takePictures } from './browser.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const FILM = 'examples/newspaper/site/2026/11/17/film/high-water.webm';
const HTML = 'text/html; charset=utf-8';
const STORY = `<!doctype html><title>The harbour</title><link rel="stylesheet" href="../style.css">
  <h1>The harbour</h1><img src="boat.png" alt="A boat"><p style="height: 3000px">Ships</p><h2 id="quay">The quay</h2>
  <script src="/script.js"></script>`;

let rig: WebReaderRig;
let page: Page;
beforeAll(async () => {
  rig = await startWebReaderRig();
  await publishAll(rig);
});
afterEach(async () => {
  rig.host.handlers.clear();
  await page?.context().close();
});
afterAll(() => rig?.closeAll());

async function publishAll({ publisher, host }: WebReaderRig): Promise<void> {
  const headers = { 'content-language': 'en-GB', 'content-security-policy': "default-src 'self' 'unsafe-inline'" };
  for (const document of [
    { path: '/index.html', content: '<h1>Front</h1><a href="20/story.html">Story</a>', mediaType: HTML },
    { path: '/20/story.html', content: STORY, mediaType: HTML, set: 'day-1', gzip: true, headers },
    { path: '/20/boat.png', content: Buffer.from(PIXEL, 'base64'), mediaType: 'image/png', set: 'day-1' },
    { path: '/style.css', content: 'h1 { color: rgb(1, 2, 3) }', mediaType: 'text/css' },
    { path: '/script.js', content: 'document.title += " (script)"', mediaType: 'text/javascript' },
    { path: '/20/film.html', content: '<h1>Film</h1><video src="film.webm"></video>', mediaType: HTML, set: 'day-1' },
    { path: '/20/film.webm', content: await readFile(FILM), mediaType: 'video/webm', set: 'day-1' },
    { path: '/20/long.txt', content: 'Ships come in. '.repeat(40_000), mediaType: 'text/plain', set: 'day-1' },
    { path: '/21/story.html', content: '<h1>Tomorrow</h1>', mediaType: HTML, set: 'day-2' },
  ])
    await publish(publisher, host, document);
}

/** A reader who has been here, and has the keys of these sets. */
async function readerWith(...sets: string[]): Promise<Page> {
  page = await rig.newPage();
  await visit(page, `${rig.documents}/`, 'h1:text("Front")');
  await rig.giveKeys(page, sets);
  return page;
}

/** Writes into the store of the documents' origin, as pages of it can. */
function putState(name: string, value: unknown): Promise<unknown> {
  return page.evaluate(`new Promise((resolve) => {
    const opening = indexedDB.open('wispr');
    opening.onsuccess = () => {
      const rows = opening.result.transaction('state', 'readwrite').objectStore('state');
      rows.put(${JSON.stringify(value)}, '${name}').onsuccess = () => resolve();
    };
  })`);
}

async function expectStory(): Promise<void> {
  await expect.poll(() => page.title()).toBe('The harbour (script)');
  expect(await page.evaluate('document.querySelector("img").naturalWidth')).toBe(1);
  expect(await page.evaluate('getComputedStyle(document.querySelector("h1")).color')).toBe('rgb(1, 2, 3)');
}

/** Insists on a page of one sentence that names the code, and holds nothing of a document. */
async function expectRefusal(
  response: Response | null,
  status: number,
  code: string,
  button: string = 'Try again',
): Promise<void> {
  expect([response?.status(), response?.headers()['wispr-refusal']]).toEqual([status, code]);
  expect(await page.textContent('code')).toBe(code);
  expect(await page.isVisible('code')).toBe(false);
  expect(await page.locator('a.b').allTextContents()).toEqual([button]);
  expect(await page.textContent('header')).toBe('The Harbour News');
  expect(await page.content()).not.toContain('Ships');
}

const open = (path: string) => page.goto(rig.documents + path);

describe('a reader', () => {
  it('reads a page with picture, style and script, which the server neither carries nor sees', async () => {
    await readerWith('day-1');
    const before = rig.log().length;
    const response = await open('/20/story.html?edition=2#quay');
    await expectStory();
    expect(response?.fromServiceWorker()).toBe(true);
    expect(await page.evaluate('scrollY')).toBeGreaterThan(1000);
    expect(rig.log().slice(before)).not.toContain('"route":"document"');
    await page.goBack();
    await page.waitForSelector('h1:text("Front")');
    await page.goForward();
    await expectStory();
    await page.reload();
    await expectStory();
  });

  it('attack 76: gets the signed headers and no others, no unsigned path, and no cookie', async () => {
    await readerWith('day-1');
    rig.host.files.set('/unsigned.html', utf8('<h1>Unsigned</h1>'));
    const headers = (await open('/20/story.html'))?.headers() ?? {};
    expect(headers).toMatchObject({
      'content-type': HTML,
      'content-language': 'en-GB',
      'cache-control': 'private, no-cache',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
    expect(headers['content-security-policy']).toBe("default-src 'self' 'unsafe-inline', frame-ancestors 'self'");
    expect(headers).not.toHaveProperty('x-from-host');
    expect(headers).not.toHaveProperty('content-encoding');
    expect(await page.context().cookies()).toEqual([]);
    await expectRefusal(await open('/unsigned.html'), 404, 'no-such-document');
    await expectRefusal(await open('/a%00b.html'), 404, 'path-refused');
    rig.host.handlers.set(fileOf(rig.publisher, '/20/long.txt'), (_request, response) =>
      response.writeHead(302, { location: rig.host.origin, 'access-control-allow-origin': '*' }).end(),
    );
    await expectRefusal(await open('/20/long.txt'), 502, 'content-host-answer');
  });

  inRelease(() => {
    it('gets ranges as ranges, and a version that a page has is not sent again', async () => {
      await readerWith('day-1');
      const got = await page.evaluate(async () => {
        const ask = (headers: Record<string, string>, method = 'GET') => fetch('/20/long.txt', { headers, method });
        const told = async (answer: globalThis.Response) => ({
          status: answer.status,
          range: answer.headers.get('content-range'),
          length: (await answer.arrayBuffer()).byteLength,
        });
        const head = await ask({}, 'HEAD');
        const etag = head.headers.get('etag') ?? '';
        const text = await (await ask({ range: 'bytes=300000-300014' })).text();
        return {
          text,
          head: { length: head.headers.get('content-length'), ranges: head.headers.get('accept-ranges') },
          inside: await told(await ask({ range: 'bytes=300000-300014' })),
          end: await told(await ask({ range: 'bytes=-5' })),
          beyond: await told(await ask({ range: 'bytes=600000-' })),
          other: await told(await ask({ range: 'bytes=0-4', 'if-range': '"other"' })),
          same: await told(await ask({ 'if-none-match': etag })),
          demanded: await told(await ask({ 'if-match': '"other"' })),
        };
      });
      expect(got).toEqual({
        text: 'Ships come in. ',
        head: { length: '600000', ranges: 'bytes' },
        inside: { status: 206, range: 'bytes 300000-300014/600000', length: 15 },
        end: { status: 206, range: 'bytes 599995-599999/600000', length: 5 },
        beyond: { status: 416, range: 'bytes */600000', length: 0 },
        other: { status: 200, range: null, length: 600_000 },
        same: { status: 304, range: null, length: 0 },
        demanded: { status: 412, range: null, length: 0 },
      });
    });

    it('plays a film, and jumps in it', async () => {
      await readerWith('day-1');
      const statuses: number[] = [];
      page.on('response', (response) => {
        if (response.url().endsWith('/film.webm') && response.fromServiceWorker()) statuses.push(response.status());
      });
      await open('/20/film.html');
      const film = await playFilm(page, 'video');
      expect(film).toMatchObject({ played: true });
      expect(Math.abs(film.at)).toBeLessThan(0.5); // it may have played on
      expect(statuses.length).toBeGreaterThan(0);
      expect(new Set(statuses)).toEqual(new Set([206]));
    });

    it('is led to the vault for a key, and told that the subscription does not include the page where it gave none', async () => {
      await readerWith('day-1');
      const [id, wanted] = [setOf(rig.publisher, 'day-2').id, '/21/story.html?a=b#c'];
      const asked: string[] = [];
      page.on('framenavigated', (frame) => asked.push(frame.url()));
      await open(wanted).catch(() => undefined); // the way to the vault interrupts it
      await page.waitForSelector('#sign-in');
      const [, fragment] = asked.find((url) => url.startsWith(`${rig.account}/-/keys#`))?.split('#') ?? [];
      const members = new URLSearchParams(fragment);
      expect([members.get('sets'), members.get('to')]).toEqual([id, wanted]);
      await open('/');
      await putState('answered', { [id]: Date.now() });
      await expectRefusal(await open('/21/story.html'), 403, 'key-missing');
      expect(await page.title()).toBe('Your subscription does not include this page.');
      // Where the vault said why, so does the page.
      await open('/');
      await putState('refused', [{ id, reason: 'lapsed' }]);
      await expectRefusal(await open('/21/story.html'), 403, 'lapsed', 'Your account');
      expect(await page.getAttribute('a.b', 'href')).toBe(`${rig.account}/-/account`);
      await takePictures(page, 'web-reader-lapsed');
      await open('/');
      await putState('refused', [{ id, reason: '<b>' }, null, 1]);
      const answer = await page.evaluate(async () => {
        const { status, headers } = await fetch('/21/story.html');
        return [status, headers.get('wispr-refusal')];
      });
      expect(answer).toEqual([403, 'key-missing']);
    });

    it('reads nothing with a key that has expired, or of another set under its name', async () => {
      await readerWith();
      await rig.giveKeys(page, ['day-1'], { notAfter: 1_000_000_000 });
      await page
        .evaluate(`fetch('/20/boat.png').then(({ status, headers }) => [status, headers.get('wispr-refusal')])`)
        .then((answer) => expect(answer).toEqual([403, 'key-not-valid-now']));
      await rig.giveKeys(page, ['day-1', 'day-2']);
      const [one, other] = [setOf(rig.publisher, 'day-1').id, setOf(rig.publisher, 'day-2').id];
      await page.evaluate(`new Promise((resolve, reject) => {
        const opening = indexedDB.open('wispr');
        opening.onsuccess = () => {
          const rows = opening.result.transaction('keys', 'readwrite').objectStore('keys');
          rows.get('${other}').onsuccess = ({ target }) => {
            rows.put({ ...target.result, id: '${one}' }, '${one}').onsuccess = () => resolve();
          };
        };
      })`);
      await expectRefusal(await open('/20/story.html'), 502, 'payload-invalid');
    });
  });
});

describe('a hostile content host', () => {
  /** @param at - which byte, counted from the end where it is negative */
  const tamper = (path: string, at: number) => {
    const file = fileOf(rig.publisher, path);
    const bytes = Buffer.from(rig.host.files.get(file) ?? []);
    const index = at < 0 ? bytes.length + at : at;
    bytes.writeUInt8(bytes.readUInt8(index) ^ 1, index);
    rig.host.handlers.set(file, ({ headers }, response) => {
      const [, first = 0, last = bytes.length] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? [];
      const part = bytes.subarray(Number(first), Number(last) + 1);
      response.writeHead(headers.range ? 206 : 200, { 'access-control-allow-origin': '*' }).end(part);
    });
  };

  it('cannot change one byte, in the head, in the first block or behind it', async () => {
    await readerWith('day-1');
    tamper('/20/story.html', 20);
    await expectRefusal(await open('/20/story.html'), 502, 'head-unexpected');
    tamper('/20/story.html', -3);
    await expectRefusal(await open('/20/story.html'), 502, 'block-digest');
    tamper('/20/long.txt', -3);
    await open('/');
    const outcome = (headers: Record<string, string>) =>
      page.evaluate(async (sent) => {
        const answer = await fetch('/20/long.txt', { headers: sent });
        return answer.text().then(
          (text) => `${answer.status}, ${text.length}`,
          () => `${answer.status}, broken off`,
        );
      }, headers);
    expect(await outcome({})).toBe('200, broken off');
    expect(await outcome({ range: 'bytes=590000-' })).toBe('206, broken off');
    rig.host.handlers.clear();
    expect(await outcome({ range: 'bytes=590000-' })).toBe('206, 10000');
    expect(await outcome({})).toBe('200, 600000');
  });

  inRelease(() => {
    it('that fails in the middle is left for the next one, from the block on that failed', async () => {
      await readerWith('day-1');
      const { first, host, publisher } = rig;
      const outOfOrder = first.handlers.get('*');
      const file = fileOf(publisher, '/20/long.txt');
      const good = Buffer.from(host.files.get(file) ?? []);
      const altered = Buffer.from(good);
      altered.writeUInt8(altered.readUInt8(400_000) ^ 1, 400_000);
      const ask = (range?: string) =>
        page.evaluate(async (wanted) => {
          const answer = await fetch('/20/long.txt', { headers: wanted === undefined ? {} : { range: wanted } });
          return (await answer.text()).replaceAll('Ships come in. ', '').length;
        }, range);
      try {
        first.handlers.delete('*');
        for (const [path, bytes] of host.files) first.files.set(path, bytes);
        first.files.set(file, altered);
        await page.evaluate('navigator.serviceWorker.getRegistration().then((found) => found.unregister())');
        await visit(page, `${rig.documents}/`, 'h1:text("Front")'); // a worker that holds nothing against the first host
        const before = host.requests.length;
        expect(await ask('bytes=300000-599999')).toBe(0);
        expect(await ask()).toBe(0);
        const later = host.requests.slice(before).filter(({ url }) => url === file);
        expect(later.map(({ headers }) => /^bytes=[1-9]\d{5}-/.test(headers.range ?? ''))).toContain(true);
        expect(first.requests.some(({ url }) => url === file)).toBe(true);
      } finally {
        first.files.clear();
        if (outOfOrder) first.handlers.set('*', outOfOrder);
      }
    });

    it('cannot bring in what is kept either: a changed copy is fetched anew', async () => {
      await readerWith('day-1');
      await open('/20/story.html');
      await expectStory();
      const kept = `caches.open('wispr-objects').then((cache) => cache.keys())`;
      await expect.poll(() => page.evaluate(`${kept}.then((names) => names.length)`)).toBeGreaterThan(2);
      await page.evaluate(`${kept}.then(async (names) => {
        const cache = await caches.open('wispr-objects');
        for (const name of names) await cache.put(name, new Response('<h1>Forged</h1>'));
      })`);
      await open('/20/story.html');
      await expectStory();
    });

    it('attack 92: a correctly signed object that the current publication does not name is not shown', async () => {
      await readerWith('day-1');
      const { publisher, host } = rig;
      const draft = { path: '/20/draft.html', content: '<h1>Draft</h1>', mediaType: HTML };
      await publish(publisher, host, draft);
      const old = Buffer.from(host.files.get(fileOf(publisher, draft.path)) ?? []);
      await publish(publisher, host, { ...draft, content: '<h1>Corrected</h1>' });
      await page.waitForTimeout(1100); // a look a second
      host.handlers.set(fileOf(publisher, draft.path), (_request, response) =>
        response.writeHead(200, { 'access-control-allow-origin': '*' }).end(old),
      );
      await expectRefusal(await open('/20/draft.html'), 502, 'head-unexpected');
      publisher.publication.remove('/20/draft.html');
      await signOnto(publisher.publication, host.files);
      await page.waitForTimeout(1100); // a look a second
      await expectRefusal(await open('/20/draft.html'), 404, 'no-such-document');
    });
  });
});

describe('a published page that is hostile', () => {
  const refused = `const refused = async (attempt) => { try { return Boolean(await attempt()); } catch { return false; } };`;

  it('attack 77, attack 95, attack 96: installs no worker, gets no key out, and reaches neither vault nor account', async () => {
    await publish(rig.publisher, rig.host, { path: '/evil.html', content: '<h1>Evil</h1>', mediaType: HTML });
    await publish(rig.publisher, rig.host, { path: '/evil.js', content: '1', mediaType: 'text/javascript' });
    await readerWith('day-1');
    await open('/evil.html');
    await page.waitForSelector('h1:text("Evil")');
    const got = (await page.evaluate(`(async () => {
      ${refused}
      const account = ${JSON.stringify(rig.account)};
      const installs = (url, options) => refused(() => navigator.serviceWorker.register(url, options));
      const blob = URL.createObjectURL(new Blob(['1'], { type: 'text/javascript' }));
      const framed = (address) => new Promise((resolve) => {
        const frame = document.body.appendChild(document.createElement('iframe'));
        frame.onload = () => { try { resolve(frame.contentDocument.body.textContent !== ''); } catch { resolve(false); } };
        frame.src = address;
      });
      return {
        published: await installs('/evil.js'),
        start: await installs('/-/start.js'),
        style: await installs('/-/style.css'),
        blob: await installs(blob),
        data: await installs('data:text/javascript,1'),
        readsAccount: await refused(async () => (await fetch(account + '/-/account', { credentials: 'include' })).ok),
        framesAccount: await refused(() => framed(account + '/-/account')),
        framesKeys: await refused(() => framed(account + '/-/keys')),
        opensSocket: await refused(() => new Promise((resolve, reject) => {
          const socket = new WebSocket(account.replace('https', 'wss') + '/-/account');
          socket.onopen = () => resolve(true);
          socket.onerror = reject;
        })),
        reachesOpenedVault: await refused(() => new Promise((resolve, reject) => {
          const opened = window.open(account + '/-/account');
          setTimeout(() => { try { resolve(opened.document.body.textContent !== ''); } catch (error) { reject(error); } }, 1500);
        })),
        readsCookies: document.cookie !== '',
        setsHostCookie: await refused(() => {
          document.cookie = '__Host-wispr=x; Path=/; Secure; Domain=read.news.example';
          return document.cookie.includes('__Host-');
        }),
      };
    })()`)) as Record<string, boolean>;
    expect(Object.entries(got).filter(([, through]) => through)).toEqual([]);
    expect(Object.keys(got)).toHaveLength(12);
    const keys = await page.evaluate(`(async () => {
      const database = await new Promise((resolve) => {
        const opening = indexedDB.open('wispr');
        opening.onsuccess = () => resolve(opening.result);
      });
      const request = database.transaction('keys').objectStore('keys').getAll();
      await new Promise((resolve) => (request.onsuccess = resolve));
      const attempts = request.result.flatMap(({ key }) => ['raw', 'jwk'].map((form) =>
        crypto.subtle.exportKey(form, key).then(() => 'exported', ({ name }) => name)));
      return { extractable: request.result.map(({ key }) => key.extractable), tried: await Promise.all(attempts) };
    })()`);
    expect(keys).toEqual({ extractable: [false], tried: ['InvalidAccessError', 'InvalidAccessError'] });
  });

  inRelease(() => {
    it('can remove the worker, which the next page brings back', async () => {
      await readerWith('day-1');
      await page.evaluate('navigator.serviceWorker.getRegistration().then((found) => found.unregister())');
      await visit(page, `${rig.documents}/20/story.html`, 'h1:text("The harbour")');
      await expectStory();
    });

    it('cannot take back what was seen: nothing older than what the vault knows is shown', async () => {
      await readerWith('day-1');
      await putState('vault-pair', { snapshot: 1_000_000, timestamp: 0 });
      await expectRefusal(await open('/20/story.html'), 502, 'metadata-rollback');
    });
  });
});

inRelease(() => {
  describe('the documents’ origin', () => {
    it('reads what the server decrypts where no content host lets pages ask it', async () => {
      for (const host of [rig.first, rig.host])
        host.handlers.set('/.well-known/wispr/timestamp.json', (_request, response) => response.writeHead(404).end());
      page = await rig.newPage();
      await page.goto(`${rig.documents}/index.html`);
      await page.waitForSelector('h1:text("Front")');
      expect(await page.evaluate('navigator.serviceWorker.getRegistration().then((it) => it === undefined)')).toBe(
        true,
      );
      for (const host of [rig.first, rig.host]) host.handlers.delete('/.well-known/wispr/timestamp.json');
      await page.context().close();
    });

    it('gives a page that starts the reader, pinned by its digest, and installs nothing else', async () => {
      const context = await rig.browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled: false });
      page = await context.newPage();
      const response = await page.goto(`${rig.documents}/20/story.html?a=b`);
      expect(response?.status()).toBe(200);
      expect(await page.getAttribute('script', 'integrity')).toMatch(/^sha256-/);
      expect(await page.getAttribute('noscript a', 'href')).toBe('/-/plain?to=%2F20%2Fstory.html%3Fa%3Db');
      expect(response?.headers()['content-security-policy']).toContain("script-src 'self'");
      await page.goto(rig.documents + (await page.getAttribute('noscript a', 'href')));
      await page.waitForSelector('#sign-in');
    });

    it.each([
      ['service workers', 'delete Navigator.prototype.serviceWorker'],
      ['key pairs of X25519', 'SubtleCrypto.prototype.generateKey = () => Promise.reject(new Error("no such thing"))'],
      ['storage', 'Object.defineProperty(globalThis, "indexedDB", { value: undefined })'],
    ])('leads a browser without %s to what the server decrypts', async (_what, remove) => {
      page = await rig.newPage();
      await page.addInitScript(remove);
      await visit(page, `${rig.documents}/20/story.html?a=b`, '#sign-in');
      await page.goto(`${rig.documents}/`);
      expect(await page.textContent('h1')).toBe('Front');
    });
  });
});
