/** Fallback pages in a real browser: how they look, where they lead, and whom at once; with and without scripts. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { renderFiles } from '../../../cache-config/render.ts';
import { urlPathOf } from '../../../core/site/path.ts';
import { barOf } from '../../../teaser/bar.ts';
import { type FallbackSettings, fallbackPageOf } from '../../../teaser/fallback-page.ts';
import { readPage } from '../../../teaser/page.ts';
import { renderTeaser } from '../../../teaser/render.ts';
import { accessibilityProblems } from '../../support/axe.ts';
import { launchChromium } from '../../support/chromium.ts';
import { type ContentHost, startContentHost } from '../../support/content-host.ts';
import { takePictures } from '../../support/pages/browser.ts';

const PATH = '/2026/caf\u00e9 & co/100% "it".html';
const REST = '?q=1&r=%C3%A9#part';
const PLANS = [{ name: 'daily', title: 'Weekday paper', price: '€6 a month', trial: 14 }];
const EXCERPT = `<div data-wispr-excerpt>${'<p>It rose until the boats could look over the wall at the street.'.repeat(9)}</div>`;

let content: ContentHost;
let reading: ContentHost;
let browser: Browser;

beforeAll(async () => {
  [content, reading, browser] = await Promise.all([startContentHost(), startContentHost(), launchChromium()]);
  reading.handlers.set('*', (_, response) => {
    response.setHeader('referrer-policy', 'no-referrer').end('<!doctype html><title>read here</title>');
  });
});
afterAll(async () => {
  await browser.close();
  await Promise.all([content.close(), reading.close()]);
});
beforeEach(() => content.handlers.clear());

function publish(html: string, given: Partial<FallbackSettings> = {}): string {
  const settings = {
    ...{ publisher: 'The News', site: 'news.example', content: content.origin, reading: reading.origin, plans: PLANS },
    ...given,
  };
  const page = fallbackPageOf(PATH, readPage(Buffer.from(html)).teaser, settings);
  const made = renderTeaser(page, barOf(page, settings), { script: true });
  content.handlers.set(urlPathOf(PATH), (_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8').end(made);
  });
  return content.origin + urlPathOf(PATH) + REST;
}

async function open(options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => {
    problems.push('a script of the excerpt ran');
    void dialog.dismiss();
  });
  return { page, context, problems };
}

const atReading = (page: Page) => page.waitForURL((at) => at.origin === reading.origin);
const read = (page: Page) => page.getByRole('link', { name: 'Start reading' }).click();
const there = () => reading.origin + urlPathOf(PATH);

describe('a fallback page in a browser', () => {
  it('attack 24: leads to the same document by its links, with query and fragment, and a stranger never by itself', async () => {
    const url = publish(
      '<title>"A" &amp; &lt;b&gt;</title><script type="application/ld+json">{"@type":"Article",' +
        '"keywords":"\\u003c/script>\\u003cscript>alert(1)"}</script>' +
        '<p data-wispr-excerpt>Teaser &lt;script>alert(1)&lt;/script>',
    );
    const { page, context, problems } = await open();
    await page.clock.install();
    await page.goto(url);
    expect(await page.title()).toBe('"A" & <b>');
    expect(await page.textContent('.excerpt')).toContain('Teaser <script>alert(1)</script>');
    await page.clock.runFor(60_000); // the page once left after a second
    expect(page.url()).toBe(url);
    const signIn = (await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')) ?? '';
    expect(new URL(signIn).searchParams.get('to')).toBe(urlPathOf(PATH) + REST);
    await read(page);
    await atReading(page);
    expect(page.url()).toBe(there() + REST);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('works without scripts', async () => {
    const { page, context } = await open({ javaScriptEnabled: false });
    await page.goto(publish('<title>A</title>'));
    await read(page);
    await atReading(page);
    expect(page.url()).toBe(there());
    await context.close();
  });

  it.each([
    ['phone', 'en', '', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
    ['phone-rtl', 'ar', 'rtl', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
    ['wide', 'de', '', { viewport: { width: 1280, height: 800 } }],
  ])(
    'shows offer, price and button without scrolling, and nothing wrong to axe: %s',
    async (name, lang, dir, options) => {
      const url = publish(
        `<html lang="${lang}" dir="${dir}"><title>The great tide comes in</title><meta name="author" content="Tam">
      <meta property="article:section" content="The sea"><meta property="article:published_time" content="2026-11-17">${EXCERPT}`,
      );
      const { page, context } = await open(options);
      await page.goto(url);
      for (const part of ['#offer', '.go', '.kicker', 'time'])
        expect(await page.locator(part).evaluate((each) => each.getBoundingClientRect().bottom <= innerHeight)).toBe(
          true,
        );
      expect(await page.locator('aside').textContent()).toContain('€6 a month');
      expect(await page.locator('#reader').isVisible()).toBe(!('hasTouch' in options));
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
      const edge = (selector: string, side: 'top' | 'bottom') =>
        page.locator(selector).evaluate((each, of) => each.getBoundingClientRect()[of], side);
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
      expect(await edge('.excerpt', 'bottom')).toBeLessThanOrEqual(await edge('aside', 'top'));
      await page.evaluate(() => scrollTo(0, 0));
      expect(await accessibilityProblems(page)).toEqual([]);
      await takePictures(page, `teaser-${name}`);
      await context.close();
    },
  );
});

describe('"redirect"', () => {
  it('"readers": leads on whoever followed a link to the reading site before, and not whom it leads back', async () => {
    const url = publish('<title>A</title>');
    const { page, context } = await open();
    await page.goto(url);
    await read(page);
    await atReading(page);
    await page.goBack();
    expect(page.url()).toBe(url); // a step back is none forward
    /** Makes what the browser remembers a minute old. */
    const wait = () =>
      page.evaluate(() => {
        for (const [key, value] of Object.entries(localStorage))
          localStorage[key] = value.replace(/^\d+/, String(Date.now() - 60_000));
      });
    const again = await context.newPage();
    const visit = async (options?: { referer: string }) => {
      await again.goto('about:blank'); // an address with a fragment that stands there already would load nothing
      await again.goto(url, options);
    };
    await wait();
    await visit();
    await atReading(again);
    expect(again.url()).toBe(there() + REST);
    await visit(); // comes at once, as if it had been led back
    expect(again.url()).toBe(url);
    await wait();
    await visit({ referer: `${reading.origin}/` });
    expect(again.url()).toBe(url);
    await visit();
    await atReading(again);
    await context.close();
  });

  it('"always": leads everybody on, without scripts too', async () => {
    const url = publish('<title>A</title>', { redirect: 'always' });
    for (const javaScriptEnabled of [true, false]) {
      const { page, context } = await open({ javaScriptEnabled });
      await page.goto(url, { waitUntil: 'commit' });
      await atReading(page);
      expect(page.url()).toBe(there() + (javaScriptEnabled ? REST : ''));
      await context.close();
    }
  });

  it('"never": leads nobody on by itself', async () => {
    const url = publish('<title>A</title>', { redirect: 'never' });
    const { page, context } = await open();
    await page.goto(url);
    await read(page);
    await atReading(page);
    await page.goto(url);
    expect(page.url()).toBe(url);
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
    await context.close();
  });
});

it('the page for missing files leads to the reading site, and not what programs ask for', async () => {
  const files = renderFiles('github-pages', { readingOrigin: reading.origin, host: 'news.example' });
  content.handlers.set('*', (_, response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end(files.get('404.html'));
  });
  const { page, context } = await open();
  await page.goto(`${content.origin}/2026/film.mp4?t=1`);
  await atReading(page);
  expect(page.url()).toBe(`${reading.origin}/2026/film.mp4?t=1`);
  const metadata = `${content.origin}/.well-known/wispr/2.root.json`;
  await page.goto(metadata);
  expect(page.url()).toBe(metadata);
  await context.close();
});
