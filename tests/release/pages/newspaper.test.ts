/** The example newspaper in a real browser: through the gateway, through the forward proxy, without a Reader, and altered on the way. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { stopAll } from '../../../cache-config/servers.ts';
import type { RunningKeyServer } from '../../../keyserver/server.ts';
import type { DishonestCache } from '../../../serve/dishonest-cache.ts';
import type { SharedCache } from '../../../serve/hosts.ts';
import { chooseSite } from '../../../serve/site.ts';
import { type Person, World } from '../../../serve/world.ts';
import { accessibilityProblems } from '../../support/axe.ts';
import { forFile } from '../../support/for-file.ts';
import { openBrowser, openPage, pictures, playFilm, takePictures } from '../../support/pages/browser.ts';

const ARTICLE = '/2026/11/17/the great tide.html';
const ARTICLE_URL = '/2026/11/17/the%20great%20tide.html';
const HEADLINE = 'The great tide comes in, is thanked, goes out';
/** Text further down in the article, which the fallback page must not show. */
const FURTHER_DOWN = 'bathing machine';

let world: World;
let ada: Person;
let keyServer: RunningKeyServer;
let shared: SharedCache | undefined;
let reading: string;
let documents: string;
let content: string;
let gateway: string;
let cache: DishonestCache;
const browser = forFile(openBrowser);

beforeAll(async () => {
  const settings = await chooseSite();
  world = await World.create(settings);
  keyServer = await world.startKeyServer(false);
  const host = await world.startContentHost(keyServer.readingUrl);
  shared = await world.startSharedCache(host);
  // The cache is honest at first.
  cache = await world.startDishonestCache(shared?.kind === 'reverse' ? shared.url : host.url);
  content = cache.url;
  reading = keyServer.readingUrl;
  documents = keyServer.documentsUrl;
  await world.publish(keyServer, content);
  ada = await world.addReader('ada', keyServer, shared);
  gateway = ((await ada.proxy.gatewayUrl(settings.site)) ?? '').slice(0, -1);
});
afterAll(async () => {
  await world?.close();
  await stopAll();
});

/** The article with everything in it: pictures, style, script, chart, film. */
async function expectWholeArticle(page: Page): Promise<void> {
  await page.waitForSelector('html[data-reader="ready"]');
  expect(await page.textContent('h1')).toBe(HEADLINE);
  const shown = await pictures(page);
  expect(shown.length).toBeGreaterThan(0);
  expect(shown.filter(({ width }) => width === 0)).toEqual([]);
  const styles = await page.evaluate(() => [...document.styleSheets].map((sheet) => sheet.cssRules.length));
  expect(styles.length).toBe(1);
  expect(styles[0]).toBeGreaterThan(10);
  await page.waitForSelector('[data-chart-state="drawn"] svg');
  const film = await playFilm(page, '#high-water');
  expect(film).toMatchObject({ played: true });
  expect(film.duration).toBeCloseTo(6, 0);
  expect(Math.abs(film.at)).toBeLessThan(0.5); // the film may have played on
}

/** Fills in the form and presses its button; the status of the answer. */
async function signIn(page: Page, name: string, password: string): Promise<number | undefined> {
  await page.fill('#name', name);
  await page.fill('#password', password);
  // People press it only when the page has been painted. Pressed before, a button once had no effect.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const sent = page.waitForRequest((request) => request.method() === 'POST');
  const [request] = await Promise.all([sent, page.click('#sign-in button')]);
  return (await request.response())?.status();
}

async function expectAllPictures(page: Page, least: number): Promise<void> {
  const shown = await pictures(page);
  expect(shown.filter(({ width }) => width === 0)).toEqual([]);
  expect(shown.length).toBeGreaterThanOrEqual(least);
}

describe('through the gateway', () => {
  test('a reader goes from the front page to an article, and everything in it is there', async () => {
    const { page, trouble, origins } = await openPage(browser);
    await page.goto(`${gateway}/`);
    await expectAllPictures(page, 2);
    await takePictures(page, 'front-page');
    await page.click('nav a:text("Tuesday")');
    await page.waitForURL(`${gateway}/2026/11/17/index.html`);
    await expectAllPictures(page, 3);
    await takePictures(page, 'issue');
    await page.click('.more a');
    await page.waitForURL(`${gateway}${ARTICLE_URL}#high-water`);
    await expectWholeArticle(page);
    await takePictures(page, 'article');
    expect(await page.evaluate(() => isSecureContext)).toBe(true);
    expect(trouble).toEqual([]);
    expect([...origins]).toEqual([gateway]);
    await page.close();
  });
});

test('through the forward proxy, the links of the newspaper are good as they stand', async () => {
  const withProxy = await openBrowser(ada.proxy.url);
  onTestFinished(() => withProxy.close());
  const { page, trouble, origins } = await openPage(withProxy);
  await page.goto('http://news.example/2026/11/17/index.html');
  await expectAllPictures(page, 3);
  await page.click('.more a');
  await page.waitForURL(`http://news.example${ARTICLE_URL}#high-water`);
  await expectWholeArticle(page);
  expect(trouble).toEqual([]);
  expect([...origins]).toEqual(['http://news.example']);
});

describe('without a Reader', () => {
  test('the content host shows a teaser, and none of the article', async () => {
    const { page, trouble } = await openPage(browser);
    await page.goto(content + ARTICLE_URL);
    expect(await page.title()).toContain(HEADLINE);
    expect(await page.textContent('h1')).toBe(HEADLINE);
    expect(await page.textContent('.fade')).toContain('as announced');
    await expectAllPictures(page, 2); // the nameplate, and the picture that is public for previews
    const preview = await page.getAttribute('meta[property="og:image"]', 'content');
    expect(preview).toBe(`${content}/2026/11/17/pictures/high-water.jpg`);
    expect((await page.request.get(preview ?? '')).headers()['content-type']).toBe('image/jpeg');
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await page.content()).not.toContain(FURTHER_DOWN);
    await takePictures(page, 'fallback-page');
    expect(trouble).toEqual([]);
    await page.close();
  });

  test('the teaser leads to the reading site, where the reader signs in and reads the same page', async () => {
    const { page, origins } = await openPage(browser);
    const rest = '?from=newsletter#high-water';
    await page.goto(content + ARTICLE_URL + rest);
    await page.click('#read');
    await page.waitForURL(reading + ARTICLE_URL + rest);
    await page.click('aside >> text=Sign in');
    await page.waitForURL(`${reading}/-/sign-in?**`);
    await page.waitForSelector('#sign-in');
    await takePictures(page, 'sign-in');
    expect(await signIn(page, ada.name, 'not the password')).toBe(403);
    await page.waitForSelector('#problem');
    await takePictures(page, 'sign-in-failed');
    expect(await signIn(page, ada.name, ada.password)).toBe(303);
    await page.waitForURL(`${documents}${ARTICLE_URL}?from=newsletter`);
    await expectWholeArticle(page);
    await takePictures(page, 'article-on-reading-site');
    expect([...origins].sort()).toEqual([content, documents, reading].sort());
    await page.close();
  });
});

describe('with a cache that changes one byte', () => {
  /** Gateway of a Reader that keeps nothing: the other one would show from disk what it has verified before. */
  let fetching: string;

  beforeAll(async () => {
    const ben = await world.addReader('ben', keyServer, shared, { cacheBytes: 0 });
    fetching = ((await ben.proxy.gatewayUrl(world.site)) ?? '').slice(0, -1);
  });

  test('nothing of the article is shown: a page names the failed check, and offers to try again alone', async () => {
    cache.tamperWith(world.objects().get(ARTICLE) ?? '');
    const { page } = await openPage(browser);
    expect((await page.goto(gateway + ARTICLE_URL))?.status()).toBe(200); // kept, and good
    const answer = await page.goto(fetching + ARTICLE_URL);
    expect(answer?.status()).toBe(502);
    expect(await page.textContent('code >> nth=0')).toBe('block-digest');
    const links = await page.evaluate(() => [...document.links].map(({ href }) => href));
    expect(links).toEqual([fetching + ARTICLE_URL]);
    // The logo comes from the host and is not trusted here: the name is shown.
    expect(await pictures(page)).toEqual([]);
    expect(await page.textContent('header')).toContain('The Saltmere Packet');
    expect(await page.content()).not.toContain(FURTHER_DOWN);
    await takePictures(page, 'refusal');
    await page.close();
  });
});
