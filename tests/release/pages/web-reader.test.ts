/** The in-browser reader in Chromium: films, ranges, keys that are no good, hosts that fail, and browsers that lack something. */
import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { forFile } from '../../support/for-file.ts';
import { playFilm } from '../../support/pages/browser.ts';
import { expectRefusal, expectStory, putState, readerWith, startStories } from '../../support/pages/stories.ts';
import { setOf } from '../../support/publisher-with-sets.ts';
import { visit } from '../../support/web-reader-rig.ts';

const rig = forFile(startStories);
let page: Page;
afterEach(async () => {
  rig.host.handlers.clear();
  await page?.context().close();
});

const open = (path: string) => page.goto(rig.documents + path);

describe('a reader', () => {
  it('plays a film, and jumps in it', async () => {
    page = await readerWith(rig, 'day-1');
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

  it('reads nothing with a key that has expired, or of another set under its name', async () => {
    page = page = await readerWith(rig);
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
  it('can remove the worker, which the next page brings back', async () => {
    page = await readerWith(rig, 'day-1');
    await page.evaluate('navigator.serviceWorker.getRegistration().then((found) => found.unregister())');
    await visit(page, `${rig.documents}/20/story.html`, 'h1:text("The harbour")');
    await expectStory(page);
  });

  it('cannot take back what was seen: nothing older than what the vault knows is shown', async () => {
    page = await readerWith(rig, 'day-1');
    await putState(page, 'vault-pair', { snapshot: 1_000_000, timestamp: 0 });
    await expectRefusal(page, await open('/20/story.html'), 502, 'metadata-rollback');
  });
});

describe('the documents’ origin', () => {
  it('reads what the server decrypts where no content host lets pages ask it', async () => {
    for (const host of [rig.first, rig.host])
      host.handlers.set('/.well-known/wispr/timestamp.json', (_request, response) => response.writeHead(404).end());
    page = await rig.newPage();
    await page.goto(`${rig.documents}/index.html`);
    await page.waitForSelector('h1:text("Front")');
    expect(await page.evaluate('navigator.serviceWorker.getRegistration().then((it) => it === undefined)')).toBe(true);
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
