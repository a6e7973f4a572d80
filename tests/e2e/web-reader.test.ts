/** The in-browser reader in Chromium: real key server, real content hosts, the real worker, a hostile host and a hostile page. The release tier adds pages with scripts of their own, keys that are no good, and browsers that lack something. */
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { forFile } from '../support/for-file.ts';
import { ISOLATED, isolationOf } from '../support/isolated.ts';
import { takePictures } from '../support/pages/browser.ts';
import { expectRefusal, expectStory, putState, readerWith, startStories } from '../support/pages/stories.ts';
import { publish, setOf, type TestDocument } from '../support/publisher-with-sets.ts';
import { inRelease } from '../support/tier.ts';
import { visit } from '../support/web-reader-rig.ts';

const HTML = 'text/html; charset=utf-8';

/** Acts as scripts that take away workers of earlier days; has an embedded page that comes later, and a link. */
const APP = `<script>
  const { serviceWorker: workers } = navigator;
  workers.ready.then((registration) => registration.unregister());
  (async () => {
    const registrations = await workers.getRegistrations();
    for (const each of registrations) await each.unregister();
    const found = { caches: await caches.keys(), databases: await indexedDB.databases() };
    for (const name of found.caches) await caches.delete(name);
    for (const { name } of found.databases) indexedDB.deleteDatabase(name);
    const refused = await workers.register('/sw.js').catch(({ name }) => name);
    document.body.append(Object.assign(document.createElement('embed'), { src: 'part.html' }));
    window.seen = { before: workers.controller, registrations: registrations.length, refused, ...found };
  })();
</script><a href="tides.csv" download="the tide’s (1).csv">Tides</a>`;

const ASK_SYNCHRONOUSLY = `(() => {
  const request = new XMLHttpRequest();
  request.open('GET', '/20/film.webm', false);
  try { request.send(); } catch ({ name }) { return name; }
})()`;

const rig = forFile(startStories);
let page: Page;
afterEach(async () => {
  rig.host.handlers.clear();
  await page?.context().close();
});

const open = (path: string) => page.goto(rig.documents + path);

describe('a reader', () => {
  it('reads a page with picture, style and script, which the server neither carries nor sees', async () => {
    page = await readerWith(rig, 'day-1');
    const before = rig.log().length;
    const response = await open('/20/story.html?edition=2#quay');
    await expectStory(page);
    expect(response?.fromServiceWorker()).toBe(true);
    expect(await page.evaluate('scrollY')).toBeGreaterThan(1000);
    expect(rig.log().slice(before)).not.toContain('"route":"document"');
    await page.goBack();
    await page.waitForSelector('h1:text("Front")');
    await page.goForward();
    await expectStory(page);
    await page.reload();
    await expectStory(page);
  });

  inRelease(() => {
    it('has pages isolated, their workers and frames whose publisher signed that, with the button of the reader', async () => {
      await publish(rig.publisher, rig.host, ...ISOLATED);
      page = await readerWith(rig);
      await open('/isolated.html');
      const frames = ['Frame', expect.stringMatching(/./)];
      expect(await isolationOf(page)).toEqual({ page: true, memory: 'function', worker: true, frames });
      await page.waitForFunction('document.documentElement.lastElementChild.localName === "div"');
    });

    it('sees a feed by its style sheet in XSLT, whose scripts do not run', async () => {
      const feed = '<?xml-stylesheet type="text/xsl" href="feed.xsl"?><rss><title>Tides</title></rss>';
      const style = `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="html"/>
        <xsl:template match="/"><body><h1><xsl:value-of select="rss/title"/></h1><script>document.title = "ran"</script>
        <script src="/script.js"/></body></xsl:template></xsl:stylesheet>`;
      await publish(
        rig.publisher,
        rig.host,
        { path: '/feed.xml', content: feed, mediaType: 'application/xml' },
        { path: '/feed.xsl', content: style, mediaType: 'text/xsl' },
      );
      page = await readerWith(rig);
      await open('/feed.xml');
      expect([await page.textContent('h1'), await page.title()]).toEqual(['Tides', '']);
    });

    it('is led to the vault for a key, and told that there is no key for the page where it gave none', async () => {
      page = await readerWith(rig, 'day-1');
      const [id, wanted] = [setOf(rig.publisher, 'day-2').id, '/21/story.html?a=b#c'];
      const asked: string[] = [];
      page.on('framenavigated', (frame) => asked.push(frame.url()));
      await open(wanted).catch(() => undefined); // the way to the vault interrupts it
      await page.waitForSelector('#sign-in');
      const [, fragment] = asked.find((url) => url.startsWith(`${rig.account}/-/keys#`))?.split('#') ?? [];
      const members = new URLSearchParams(fragment);
      expect([members.get('sets'), members.get('to')]).toEqual([id, wanted]);
      await open('/');
      const answered = { at: Date.now(), isAnswered: true };
      await putState(page, `asked ${id}`, answered);
      await expectRefusal(page, await open('/21/story.html'), 403, 'key-missing');
      expect(await page.title()).toBe('You have no key for this page');
      // Reasons that the vault gave are the page's, too.
      await open('/');
      await putState(page, `asked ${id}`, { ...answered, reason: 'lapsed' });
      await expectRefusal(page, await open('/21/story.html'), 403, 'lapsed', 'Your account');
      expect(await page.getAttribute('a.b', 'href')).toBe(`${rig.account}/-/account`);
      await takePictures(page, 'web-reader-lapsed');
      await open('/');
      await putState(page, `asked ${id}`, { ...answered, reason: '<b>' });
      const answer = await page.evaluate(async () => {
        const refused = await fetch('/21/story.html');
        return [refused.status, refused.headers.get('wispr-refusal'), await refused.text()];
      });
      expect(answer).toEqual([403, 'key-missing', '']); // a script finds no data there
    });
  });
});

inRelease(() => {
  describe('a page with scripts of its own', () => {
    /** Polls from outside: the page's policy may forbid to evaluate texts. */
    const becomes = (expression: string, value: unknown) =>
      expect.poll(() => page.evaluate(expression).catch(String)).toBe(value);

    it('removes and registers no worker, empties its storage, shows what it embeds, and saves files', async () => {
      const html = (path: string, content: string, policy: string) => ({
        ...{ path, content, mediaType: HTML },
        headers: { 'content-security-policy': policy },
      });
      const own = "default-src 'self' 'unsafe-inline'";
      const framed = `<iframe srcdoc="<object data='/20/boat.png'></object>"></iframe>`;
      const embedding = '<object data="20/boat.png"><p>Missing</p></object>';
      const running = `<script>document.title = "run"</script>${embedding}`;
      const documents: TestDocument[] = [
        html('/app.html', `<!doctype html><title>App</title>${APP}${embedding}${framed}`, "script-src 'unsafe-inline'"),
        html('/strict.html', running, `${own}; script-src; connect-src 'self'; img-src 'self'`),
        html('/inline.html', running, own),
        { path: '/part.html', content: '<h1>Part</h1>', mediaType: HTML },
        { path: '/sw.js', content: 'addEventListener("fetch", () => {})', mediaType: 'text/javascript' },
        { path: '/tides.csv', content: 'hour,height', mediaType: 'text/csv' },
      ];
      await publish(rig.publisher, rig.host, ...documents);
      page = await readerWith(rig, 'day-1');
      for (let time = 0; time < 5; time++) expect((await open('/app.html'))?.fromServiceWorker()).toBe(true);
      await becomes('Boolean(window.seen)', true);
      expect(await page.evaluate('[seen, document.compatMode, document.scripts.length]')).toEqual([
        { before: null, registrations: 0, refused: 'TypeError', caches: [], databases: [] },
        'CSS1Compat',
        1 + 1, // the second is the sheet's, which the policy blocks
      ]);
      await becomes('document.images[0]?.naturalWidth', 1);
      await page.frameLocator('iframe[src]').locator('h1:text("Part")').waitFor();
      expect(await page.evaluate('document.querySelectorAll("object, embed").length')).toBe(0);
      await becomes('frames[0].document.images[0]?.naturalWidth', 1);
      expect(await page.evaluate(ASK_SYNCHRONOUSLY)).toBe('NetworkError');
      for (const save of ['document.querySelector("a").click()', 'document.querySelector("a").cloneNode().click()']) {
        const [saved] = await Promise.all([page.waitForEvent('download'), page.evaluate(save)]);
        expect(saved.suggestedFilename()).toBe('the tide’s (1).csv');
        expect(await readFile(await saved.path(), 'utf8')).toBe('hour,height');
      }
      await open('/strict.html');
      await becomes('document.images[0]?.naturalWidth', 1);
      expect(await page.title()).toBe('');
      await open('/inline.html');
      await becomes('document.images[0]?.naturalWidth', 1);
      expect(await page.title()).toBe('run');
    });
  });
});

inRelease(() => {
  it('attack 92: takes nothing from the reading site, at its first visit either, that the publisher did not sign', async () => {
    const { publications } = rig.server;
    const honest = publications.bundleOf;
    const file = (name: string) => `/.well-known/wispr/${name}`;
    const textOf = (path: string) => Buffer.from(rig.host.files.get(path) ?? '').toString();
    const newer = (text: string) => text.replace(/"version":(\d+)/, (_, version) => `"version":${Number(version) + 1}`);
    const files = [...rig.host.files.keys()].filter((path) => path.startsWith(file('')));
    const altered = Object.fromEntries(files.map((path) => [path, newer(textOf(path))]));
    for (const forged of [altered, { ...altered, [file('1.root.json')]: textOf(file('1.root.json')) }, [1], 'x']) {
      publications.bundleOf = async () => gzipSync(JSON.stringify(forged));
      page = await rig.newPage();
      const before = rig.host.requests.length;
      await visit(page, `${rig.documents}/`, 'h1:text("Front")');
      const asked = rig.host.requests.slice(before).map(({ url }) => url);
      expect(asked).toContain(file('timestamp.json'));
      await page.context().close();
    }
    publications.bundleOf = honest;
  });
});

describe('a published page that is hostile', () => {
  const refused = `const refused = async (attempt) => { try { return Boolean(await attempt()); } catch { return false; } };`;

  it('attack 77, attack 95, attack 96: installs no worker, gets no key out, and reaches neither vault nor account', async () => {
    const page$ = { path: '/evil.html', content: '<h1>Evil</h1>', mediaType: HTML };
    await publish(rig.publisher, rig.host, page$, { path: '/evil.js', content: '1', mediaType: 'text/javascript' });
    page = await readerWith(rig, 'day-1');
    await page.addInitScript('window.register = navigator.serviceWorker.register.bind(navigator.serviceWorker)');
    await open('/evil.html');
    await page.waitForSelector('h1:text("Evil")');
    const got = (await page.evaluate(`(async () => {
      ${refused}
      const account = ${JSON.stringify(rig.account)};
      const installs = (url, options) => refused(() => window.register(url, options));
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
});

inRelease(() => {
  describe('a reader', () => {
    it('reads nothing with a key that has expired, or of another set under its name', async () => {
      page = await readerWith(rig);
      await rig.giveKeys(page, ['day-1'], { notAfter: 1_000_000_000 });
      const { id } = setOf(rig.publisher, 'day-1');
      await putState(page, `asked ${id}`, { at: Date.now(), isAnswered: true });
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
      await expectRefusal(page, await open('/20/story.html'), 502, 'payload-invalid');
    });
  });

  it('a hostile content host cannot bring in what is kept either: a changed copy is fetched anew', async () => {
    page = await readerWith(rig, 'day-1');
    await open('/20/story.html');
    await expectStory(page);
    const kept = `caches.open('wispr-objects').then((cache) => cache.keys())`;
    await expect.poll(() => page.evaluate(`${kept}.then((names) => names.length)`)).toBeGreaterThan(2);
    await page.evaluate(`${kept}.then(async (names) => {
      const cache = await caches.open('wispr-objects');
      for (const name of names) await cache.put(name, new Response('<h1>Forged</h1>'));
    })`);
    await open('/20/story.html');
    await expectStory(page);
  });

  describe('a published page that is hostile', () => {
    it('can remove the worker and all that is stored, which the next page brings back, however often', async () => {
      page = await readerWith(rig);
      for (let time = 0; time < 6; time++) {
        await open('/-/style.css');
        await page.evaluate(`(async () => {
          for (const each of await navigator.serviceWorker.getRegistrations()) await each.unregister();
          for (const name of await caches.keys()) await caches.delete(name);
          for (const { name } of await indexedDB.databases()) indexedDB.deleteDatabase(name);
        })()`);
        await visit(page, `${rig.documents}/?${time}`, 'h1:text("Front")');
      }
      const session = await page.context().newCDPSession(page);
      await session.send('Storage.clearDataForOrigin', { origin: rig.documents, storageTypes: 'all' });
      await visit(page, `${rig.documents}/`, 'h1:text("Front")');
    });

    it('cannot take back what was seen: nothing older than what the vault knows is shown', async () => {
      page = await readerWith(rig, 'day-1');
      await putState(page, 'vault-pair', { snapshot: 1_000_000, timestamp: 0 });
      await expectRefusal(page, await open('/20/story.html'), 502, 'metadata-rollback');
    });
  });

  describe('the documents’ origin', () => {
    it.each([
      ['service workers', 'delete Navigator.prototype.serviceWorker'],
      ['key pairs of X25519', 'SubtleCrypto.prototype.generateKey = () => Promise.reject(new Error("no such thing"))'],
      ['storage', 'Object.defineProperty(globalThis, "indexedDB", { value: undefined })'],
    ])('leads a browser without %s to what the server decrypts', async (_what, remove) => {
      page = await rig.newPage();
      await page.addInitScript(remove);
      await visit(page, `${rig.documents}/20/story.html?a=b`, '#offer');
      await page.goto(`${rig.documents}/`);
      expect(await page.textContent('h1')).toBe('Front');
    });
  });
});
