/** Keeping, in Chromium: the sheet on the publisher's pages, a whole issue without a network, the library, and what is read after the grace period. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { accessibilityProblems } from '../support/axe.ts';
import { launchWithProfile } from '../support/chromium.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { fileOf, publish } from '../support/publisher-with-sets.ts';
import { signOnto } from '../support/signed-publication.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';
import { inRelease } from '../support/tier.ts';
import { startWebReaderRig, visit, type WebReaderRig } from '../support/web-reader-rig.ts';
import { takePictures } from './browser.ts';

const DAY = 86_400;
const HTML = 'text/html; charset=utf-8';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200"><path d="M0 0h200v200H0z" fill="#a3301d"/></svg>';
const LOOK = { ...TEST_SETTINGS, accent: '#a3301d', logo: '/logo.svg' };
const page$ = (title: string, rest: string) =>
  `<!doctype html><html lang="en"><title>${title}</title><link rel="stylesheet" href="/style.css"><main><h1>${title}</h1>${rest}</main></html>`;

let rig: WebReaderRig;
let page: Page;
beforeAll(async () => {
  rig = await startWebReaderRig();
  rig.publisher.publication.setSettings(LOOK);
  const film = Buffer.alloc(17_000_000, 'film');
  for (const document of [
    { path: '/index.html', content: page$('Front', '<a href="1/story.html">Story</a>'), mediaType: HTML },
    { path: '/style.css', content: 'h1 { color: rgb(1, 2, 3) } @import "more.css";', mediaType: 'text/css' },
    { path: '/more.css', content: 'p { color: rgb(1, 2, 4) }', mediaType: 'text/css' },
    { path: '/logo.svg', content: LOGO, mediaType: 'image/svg+xml' },
    { path: '/unused.html', content: '<h1>Not of the issue</h1>', mediaType: HTML },
    {
      path: '/1/story.html',
      content: page$('Fish &amp; chips', '<img src="boat.png" alt="A boat">'),
      mediaType: HTML,
      set: 'day-1',
    },
    { path: '/1/boat.png', content: Buffer.from(PIXEL, 'base64'), mediaType: 'image/png', set: 'day-1' },
    { path: '/1/second page.html', content: page$('Second', ''), mediaType: HTML, set: 'day-1', gzip: true },
    { path: '/1/film.webm', content: film, mediaType: 'video/webm', set: 'day-1' },
    {
      path: '/1/strict.html',
      content: page$('Strict', ''),
      mediaType: HTML,
      set: 'day-1',
      headers: { 'content-security-policy': "default-src 'none'" },
    },
    { path: '/2/other.html', content: page$('Other', ''), mediaType: HTML, set: 'day-2' },
  ])
    await publish(rig.publisher, rig.host, document);
  const context = await rig.browser.newContext({
    ignoreHTTPSErrors: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  // What is drawn in a closed root is out of reach of axe, and of this test.
  await context.addInitScript(() => {
    const { attachShadow } = Element.prototype;
    Element.prototype.attachShadow = function open(init) {
      return attachShadow.call(this, { ...init, mode: 'open' });
    };
  });
  page = await context.newPage();
  await visit(page, `${rig.documents}/`, 'h1:text("Front")');
  await rig.giveKeys(page, ['day-1']);
});
afterAll(() => rig?.closeAll());

const now = () => Math.floor(Date.now() / 1000);
const open = (path: string) => page.goto(rig.documents + path);
const setOffline = (offline: boolean) => page.context().setOffline(offline);

/** Publishes anew, with a word that counts for so many seconds, and waits until the reader has it. @returns until when it counts */
async function publishFor(seconds: number, settings: SiteSettings): Promise<number> {
  const { publication } = rig.publisher;
  publication.setSettings(settings);
  await signOnto(publication, rig.host.files);
  const [version, expires] = [now(), now() + seconds];
  await publication.publishTimestamp(now(), { version, expires });
  putOnHost();
  await openUntil('/1/story.html', 'wispr-confirmed', new Date(version * 1000).toUTCString());
  await page.waitForFunction('document.querySelector("img").naturalWidth === 1');
  return expires;
}

function putOnHost(): void {
  for (const [path, bytes] of rig.publisher.publication.files) rig.host.files.set(path, bytes);
}

/** Opens a page again until it is shown, or refused, as is wanted. */
async function openUntil(path: string, header: string, value: string | undefined): Promise<void> {
  await open(path);
  const reload = async () => (await page.reload())?.headers()[header];
  await expect.poll(reload, { interval: 300, timeout: 15_000 }).toBe(value);
}

/** Nothing answers: neither content hosts nor this origin. */
async function withoutNetwork(work: () => Promise<void>): Promise<void> {
  const { files, handlers } = rig.host;
  for (const path of files.keys()) handlers.set(path, ({ socket }) => void socket.destroy());
  await setOffline(true);
  try {
    await work();
  } finally {
    handlers.clear();
    await setOffline(false);
  }
}

inRelease(() => {
  it('has a button on pages, with a sheet that says who signed, and shares the public address', async () => {
    const answer = await open('/1/story.html');
    expect(answer?.headers()).not.toHaveProperty('content-length');
    await page.click('[aria-label="About this page"]');
    await page.waitForSelector('h2:text("Genuine and up to date")');
    expect(await page.textContent('dialog p')).toMatch(/^Signed by The Harbour News\. Up to date /);
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
});

it('keeps an issue: all of it but the film opens without a network, and the library says so', async () => {
  await open('/1/story.html');
  await page.click('[aria-label="About this page"]');
  await page.click('dialog >> text=Keep this issue');
  await page.waitForSelector('dialog [role=status]:text-is("7 of 8, film not kept (17 MB)")', { timeout: 20_000 });
  await takePictures(page, 'sheet-kept-in-browser');
  await withoutNetwork(async () => {
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
    await page.waitForSelector('.offline p:text("No network. You can read what is on this phone.")');
    expect(await page.textContent('article p')).toMatch(/^7 of 8, film not kept \(17 MB\) · 3 pages, \d+ kB$/);
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

inRelease(() => {
  it('can be put onto the home screen', async () => {
    const context = await launchWithProfile(temporaryFolder(), ...rig.settings);
    const [library = await context.newPage()] = context.pages();
    await visit(library, `${rig.documents}/`, 'h1:text("Front")');
    await library.goto(`${rig.documents}/-/library`);
    await library.waitForSelector('h1:text("Saved pages")');
    const devtools = await context.newCDPSession(library);
    expect(await devtools.send('Page.getInstallabilityErrors')).toEqual({ installabilityErrors: [] });
    const { url, data = '', errors } = await devtools.send('Page.getAppManifest');
    expect([url, errors]).toEqual([`${rig.documents}/-/app.webmanifest`, []]);
    expect(JSON.parse(data)).toMatchObject({ name: 'The Harbour News', start_url: '/', theme_color: '#a3301d' });
    expect(JSON.parse(data).icons[0]).toMatchObject({ src: '/logo.svg' });
    await library.waitForSelector('button:text("Add to home screen")');
    await context.close();
  });

  it('has no button where the publisher wants none, on nothing but whole pages, and where the policy of a page forbids it', async () => {
    const scripts = () => page.locator('script[src^="/-/sheet.js"]').count();
    await open('/1/strict.html');
    expect([await scripts(), await page.locator('[aria-label="About this page"]').count()]).toEqual([1, 0]);
    const fetched = await page.goto(`${rig.documents}/1/boat.png`);
    expect((await fetched?.body())?.length).toBe(Buffer.from(PIXEL, 'base64').length);
    await open('/1/story.html');
    const inPage = await page.evaluate(`fetch('/1/story.html').then((answer) => answer.text())`);
    expect(inPage).not.toContain('sheet.js');
    rig.publisher.publication.setSettings({ ...LOOK, sheet: false });
    await signOnto(rig.publisher.publication, rig.host.files);
    await page.waitForTimeout(1100); // a look a second
    await page.reload();
    expect(await scripts()).toBe(0);
  });

  it('removes one issue, or everything', async () => {
    const names = () => page.evaluate('caches.keys()') as Promise<string[]>;
    await open('/-/library');
    await page.click('article >> text=Remove');
    await page.waitForSelector('article', { state: 'detached' });
    expect((await names()).filter((name) => name.startsWith('wispr-issue'))).toEqual([]);
    await page.waitForSelector('h2:text("Only what you opened")');
    await page.click('text=Remove everything kept');
    await page.waitForSelector('text=Nothing is saved here yet');
    expect(await names()).toEqual(['wispr-own']);
  });

  it('says where there is no room, and keeps all but a document that is no good', async () => {
    const keep = async () => {
      await open('/1/story.html');
      await page.evaluate(`fetch('/-/kept?keep=/1/story.html&title=One', { method: 'POST' })`);
      await open('/-/library');
    };
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: rig.documents, quotaSize: 1_000 });
    await keep();
    await page.waitForSelector('article p:has-text("there is no room on this device")');
    await devtools.send('Storage.overrideQuotaForOrigin', { origin: rig.documents });
    rig.host.handlers.set(fileOf(rig.publisher, '/1/second page.html'), (_request, response) =>
      response.writeHead(200, { 'access-control-allow-origin': '*' }).end('no'),
    );
    await keep();
    await page.waitForSelector('article p:has-text("6 of 8, film not kept (17 MB)")');
    rig.host.handlers.clear();
    await page.click('text=Keep the rest');
    await page.waitForSelector('article p:has-text("7 of 8, film not kept (17 MB)")');
    await page.click('text=Remove everything kept');
    await page.waitForSelector('text=Nothing is saved here yet');
  });
});

it('attack 97: a published script puts no program into the library, and another site removes nothing that is kept', async () => {
  await open('/1/story.html'); // what was opened is kept
  await page.evaluate(`(async () => {
    const cache = await caches.open('wispr-own');
    const evil = () => new Response('document.title = "evil"', { headers: { 'content-type': 'text/javascript' } });
    for (const request of await cache.keys()) await cache.put(request, evil());
  })()`);
  await open('/-/library');
  await page.waitForSelector('h1:text("Saved pages")');
  await withoutNetwork(async () => {
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

inRelease(() => {
  it('attack 30: shows after the grace period only what is kept, behind one click, where the publisher permits it', async () => {
    const SOON = 3;
    await publishFor(SOON, { ...LOOK, grace: 0 });
    await openUntil('/1/story.html', 'wispr-refusal', 'publication-expired');
    const end = await publishFor(SOON, { ...LOOK, grace: 0, keptAfterGrace: true });
    await rig.giveKeys(page, ['day-1'], { notAfter: end }); // also a key is judged by that moment
    await openUntil('/1/story.html', 'wispr-notice', 'past');
    const asked: string[] = [];
    for (const path of rig.host.files.keys())
      if (path.endsWith('.protected'))
        rig.host.handlers.set(path, (_request, response) => response.end(asked.push(path) ? '' : ''));
    expect(await page.textContent('h1')).toMatch(/^This is the page as of \d+ \w+; nothing newer could be checked\.$/);
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
    await rig.publisher.publication.close(now(), { version: now(), expires: now() + DAY });
    putOnHost();
    await openUntil('/1/story.html', 'wispr-refusal', 'publication-withdrawn');
    await withoutNetwork(async () => {
      expect((await open('/1/story.html'))?.headers()['wispr-refusal']).toBe('publication-withdrawn');
    });
  });
});
