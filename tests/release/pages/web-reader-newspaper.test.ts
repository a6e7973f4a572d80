/** The example newspaper in the in-browser reader: published by the publisher's program, carried by nginx and Varnish, with nothing installed. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stopAll } from '../../../cache-config/servers.ts';
import type { RunningKeyServer } from '../../../keyserver/server.ts';
import { verifyUrl } from '../../../publisher/verify/verify.ts';
import { writeWebReader } from '../../../scripts/build-web-reader.ts';
import type { DishonestCache } from '../../../serve/dishonest-cache.ts';
import { chooseSite } from '../../../serve/site.ts';
import { type Person, World } from '../../../serve/world.ts';
import { forFile } from '../../support/for-file.ts';
import {
  openBrowser,
  openPage,
  pictures,
  playFilm,
  takePictures,
  type WatchedPage,
} from '../../support/pages/browser.ts';

const ARTICLE_URL = '/2026/11/17/the%20great%20tide.html';
const HEADLINE = 'The great tide comes in, is thanked, goes out';

const world = forFile(async () => World.create(await chooseSite()));
let ada: Person;
let keyServer: RunningKeyServer;
let cache: DishonestCache;
const browser = forFile(openBrowser);
let watched: WatchedPage;
let page: Page;
beforeAll(async () => {
  await writeWebReader();
  keyServer = await world.startKeyServer();
  const host = await world.startContentHost(keyServer.readingUrl);
  const shared = await world.startSharedCache(host);
  cache = await world.startDishonestCache(shared?.kind === 'reverse' ? shared.url : host.url); // honest, until the last test
  await world.publish(keyServer, cache.url);
  ada = await world.addReader('ada', keyServer, shared);
  watched = await openPage(browser);
  page = watched.page;
});
afterAll(() => stopAll());

test('a link leads by the sign-in to the article, and everything in it is there', async () => {
  const rest = '?from=newsletter#high-water';
  await page.goto(keyServer.readingUrl + ARTICLE_URL + rest);
  await page.waitForSelector('#sign-in');
  await page.fill('#name', ada.name);
  await page.fill('#password', ada.password);
  await page.click('#sign-in button');
  await page.waitForURL(keyServer.documentsUrl + ARTICLE_URL + rest);
  await page.waitForSelector('html[data-reader="ready"]');
  expect(await page.textContent('h1')).toBe(HEADLINE);
  const shown = await pictures(page);
  expect(shown.length).toBeGreaterThan(0);
  expect(shown.filter(({ width }) => width === 0)).toEqual([]);
  await page.waitForSelector('[data-chart-state="drawn"] svg');
  const film = await playFilm(page, '#high-water');
  expect(film).toMatchObject({ played: true });
  expect(Math.abs(film.at)).toBeLessThan(0.5); // it may have played on
  await takePictures(page, 'article-in-browser');
});

test('the program that did it is the one that the publisher signed', async () => {
  const report = await verifyUrl(new URL(`${cache.url}/`), { sample: 1 });
  expect(report.findings).toEqual([]);
  const note = report.notes.find((each) => each.includes(keyServer.readingUrl)) ?? '';
  const [, version] = /gives browsers the program that the publication names \((\w{12})\)$/.exec(note) ?? [];
  await page.goto(`${keyServer.readingUrl}/-/account`);
  expect(await page.textContent('#program')).toBe(
    `Pages are opened by program version ${version}, as the publisher signed it.`,
  );
  await takePictures(page, 'account-program');
});

test('the reader goes on from page to page, and the key server carries none of it', async () => {
  const { trouble } = await openPageIn();
  await page.goto(`${keyServer.documentsUrl}/`);
  expect((await pictures(page)).filter(({ width }) => width === 0)).toEqual([]);
  await page.click('nav a:text("Tuesday")');
  await page.waitForSelector(`h2 a:text("${HEADLINE}")`);
  expect((await pictures(page)).filter(({ width }) => width === 0)).toEqual([]);
  await page.goto(`${keyServer.documentsUrl}/2026/11/18/winter-timetable.html`);
  const types = await page.evaluate(async () => {
    const pdf = (document.querySelector('#timetable-pdf') as HTMLAnchorElement).href;
    const answers = await Promise.all([pdf, '/2026/11/17/data/tides.csv'].map((url) => fetch(url)));
    return answers.map(({ status, headers }) => [status, headers.get('content-type')]);
  });
  expect(types).toEqual([
    [200, 'application/pdf'],
    [200, expect.stringContaining('text/csv')],
  ]);
  expect(trouble).toEqual([]);
});

test('a whole issue is kept from one of its pages, under the name that the publisher gave it', async () => {
  await page.goto(keyServer.documentsUrl + ARTICLE_URL);
  await page.waitForSelector('html[data-reader="ready"]');
  await page.evaluate(`fetch('/-/kept?keep=' + encodeURIComponent(location.pathname), { method: 'POST' })`);
  await page.goto(`${keyServer.documentsUrl}/-/library`);
  await page.waitForSelector('article p:has-text("whole issue")', { timeout: 30_000 });
  expect(await page.textContent('article h2')).toBe('The issue of 2026-11-17');
  await takePictures(page, 'library-in-browser');
});

test('of an article that a cache has changed, nothing is shown', async () => {
  const path = '/2026/11/16/fog-signed-for.html';
  cache.tamperWith(world.objects().get(path) ?? '');
  const answer = await page.goto(keyServer.documentsUrl + path);
  expect(answer?.status()).toBe(502);
  expect(await page.textContent('code')).toBe('block-digest');
  await takePictures(page, 'refusal-in-browser');
});

/** A record of what goes wrong from now on, in the page that is there. */
async function openPageIn(): Promise<{ trouble: string[] }> {
  const trouble: string[] = [];
  page.on('pageerror', (error) => trouble.push(error.message));
  page.on('response', (response) => response.status() < 400 || trouble.push(`${response.url()}: ${response.status()}`));
  return { trouble };
}
