/** Keeping, in Chromium: the sheet on the publisher's pages, a whole issue without a network, the library, and what is read after the grace period. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessibilityProblems } from '../support/axe.ts';
import { takePictures } from '../support/pages/browser.ts';
import { type Library, LOOK, openUntil, publishFor, startLibrary, withoutNetwork } from '../support/pages/library.ts';
import { inRelease } from '../support/tier.ts';
import type { WebReaderRig } from '../support/web-reader-rig.ts';

let library: Library;
let rig: WebReaderRig;
let page: Page;
beforeAll(async () => {
  library = await startLibrary();
  ({ rig, page } = library);
});
afterAll(() => rig?.close());

const open = (path: string) => page.goto(rig.documents + path);

it('has a button on pages, with a sheet that says who signed, and shares the public address', async () => {
  const answer = await open('/1/story.html');
  expect(answer?.headers()).not.toHaveProperty('content-length');
  await page.click('[aria-label="About this page"]');
  await page.waitForSelector('h2:text("Genuine and up to date")');
  expect(await page.textContent('dialog p')).toMatch(/^Signed by .The Harbour News.\. Last checked /);
  expect(await accessibilityProblems(page)).toEqual([]);
  await takePictures(page, 'sheet-in-browser');
  await page.click('dialog >> text=Share');
  await page.waitForSelector('text=The address is copied.');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('https://news.example/1/story.html');
  expect(await page.getAttribute('dialog >> a:has-text("Your account")', 'href')).toBe(`${rig.account}/-/account`);
  await page.keyboard.press('Escape');
  expect(await page.isVisible('dialog')).toBe(false);
  expect(await page.evaluate('document.activeElement.shadowRoot.activeElement.ariaLabel')).toBe('About this page');
});

it('keeps an issue: all of it but the film opens without a network, and the library says so', async () => {
  await page.click('[aria-label="About this page"]');
  await page.click('dialog >> text=Keep this issue');
  await page.waitForSelector('dialog [role=status]:text-is("7 of 8, film not kept (17 MB)")', { timeout: 20_000 });
  await takePictures(page, 'sheet-kept-in-browser');
  await withoutNetwork(library, async () => {
    for (const [path, title] of [
      ['/1/story.html', 'Fish & chips'],
      ['/1/second%20page.html', 'Second'],
      ['/1/strict.html', 'Strict'],
    ] as const) {
      expect((await open(path))?.status()).toBe(200);
      expect(await page.textContent('h1')).toBe(title);
    }
    await open('/1/story.html');
    expect(await page.evaluate('document.querySelector("img").naturalWidth')).toBe(1);
    expect(await page.evaluate('getComputedStyle(document.querySelector("h1")).color')).toBe('rgb(1, 2, 3)');
    const refusal = await open('/unused.html');
    expect(refusal?.status()).toBe(502);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'refusal-offline-in-browser');
    await page.click('a:text("Saved pages")');
    await page.waitForSelector('.offline p:text("No network. You can read what is on this device.")');
    expect(await page.textContent('article p')).toMatch(/^7 of 8, film not kept \(17 MB\) · 3 pages, [\d.]+ kB$/);
    expect(await page.locator('article li a').allTextContents()).toEqual(
      expect.arrayContaining(['Fish & chips', 'Second', 'Strict']),
    );
    expect(
      await page.locator('header img').evaluate((logo) => (logo as HTMLImageElement).naturalWidth),
    ).toBeGreaterThan(0);
    expect(await page.isVisible('text=Keep the rest')).toBe(false);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'library-offline-in-browser');
    await page.click('summary');
    await page.click('article li a:text("Second")');
    await page.waitForSelector('h1:text("Second")');
  });
});

it('attack 97: a published script puts no program into the library, and another site removes nothing that is kept', async () => {
  await open('/');
  await page.evaluate(`(async () => {
    const cache = await caches.open('wispr-own');
    const evil = () => new Response('document.title = "evil"', { headers: { 'content-type': 'text/javascript' } });
    for (const request of await cache.keys()) await cache.put(request, evil());
  })()`);
  await open('/-/library');
  await page.waitForSelector('h1:text("Saved pages")');
  await withoutNetwork(library, async () => {
    await open('/-/library'); // the browser may have the genuine one still
    expect(await page.title()).toMatch(/^Saved pages/);
  });
  await page.goto(
    `data:text/html,<form method="post" action="${rig.documents}/-/kept?remove="><button>Remove</button></form>`,
  );
  const [answer] = await Promise.all([page.waitForResponse(/kept/), page.click('button')]);
  expect(answer.status()).toBeGreaterThanOrEqual(400);
  await open('/-/library');
  await page.waitForSelector('h2:text("Only what you opened")');
});

/** Seconds for which a publication counts here, of the clock of Chromium. */
const SOON = 3;

inRelease(() => {
  it('attack 30: shows after the grace period only what is kept, behind one click, where the publisher permits it', async () => {
    await open('/-/library');
    await page.click('text=Remove everything kept');
    await page.waitForSelector('text=Nothing is saved here yet');
    const end = await publishFor(library, SOON, { ...LOOK, grace: 0, keptAfterGrace: true });
    await rig.giveKeys(page, ['day-1'], { notAfter: end }); // keys are judged by that moment too
    await openUntil(library, '/1/story.html', 'wispr-notice', 'past');
    const asked: string[] = [];
    for (const path of rig.host.files.keys())
      if (path.endsWith('.protected'))
        rig.host.handlers.set(path, (_request, response) => response.end(asked.push(path) ? '' : ''));
    expect(await page.textContent('h1')).toMatch(/^This is the page as of \d+ \w+ \d+$/);
    expect(await accessibilityProblems(page)).toEqual([]);
    await takePictures(page, 'as-of-in-browser');
    await page.click('text=Show it');
    await page.waitForSelector('h1:text("Fish & chips")');
    await page.waitForFunction('document.querySelector("img").naturalWidth === 1');
    expect((await open('/1/story.html'))?.headers()['wispr-notice']).toBe('past');
    await open('/1/second%20page.html');
    await page.click('text=Show it');
    await page.waitForSelector('code', { state: 'attached' });
    expect([await page.textContent('code'), asked]).toEqual(['content-host-unreachable', []]);
    rig.host.handlers.clear();
  });
});
