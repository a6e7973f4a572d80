/** Fallback pages in a real browser: where they lead, with and without scripts. */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { urlPathOf } from '../../../core/site/path.ts';
import { fallbackPageOf } from '../../../teaser/fallback-page.ts';
import { readPage } from '../../../teaser/page.ts';
import { builtInTemplate } from '../../../teaser/render.ts';
import { launchChromium } from '../../support/chromium.ts';
import { type ContentHost, startContentHost } from '../../support/content-host.ts';

const PATH = '/2026/caf\u00e9 & co/100% "it".html';

let content: ContentHost;
let reading: ContentHost;
let browser: Browser;

beforeAll(async () => {
  [content, reading, browser] = await Promise.all([startContentHost(), startContentHost(), launchChromium()]);
  reading.files.set(urlPathOf(PATH), Buffer.from('<title>read here</title>'));
});
afterAll(async () => {
  await browser.close();
  await Promise.all([content.close(), reading.close()]);
});

function publish(): void {
  const { teaser } = readPage(
    Buffer.from(
      '<title>"A" &amp; &lt;b&gt;</title><script type="application/ld+json">{"@type":"Article",' +
        '"keywords":"\\u003c/script>\\u003cscript>alert(1)"}</script>' +
        '<p data-wispr-excerpt>Teaser &lt;script>alert(1)&lt;/script>',
    ),
  );
  const settings = { publisher: 'The News', site: 'news.example', content: content.origin, reading: reading.origin };
  const html = builtInTemplate.render(fallbackPageOf(PATH, teaser, settings));
  content.handlers.set(urlPathOf(PATH), (_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
  });
}

const url = () => `${content.origin}${urlPathOf(PATH)}?q=1&r=%C3%A9#part`;

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

describe('a fallback page in a browser', () => {
  it('attack 24: leads to the same document by its link, with query and fragment, and never by itself', async () => {
    publish();
    const { page, context, problems } = await open();
    await page.clock.install();
    await page.goto(url());
    expect(await page.title()).toBe('"A" & <b>');
    expect(await page.textContent('.excerpt')).toContain('Teaser <script>alert(1)</script>');
    await page.clock.runFor(60_000); // once, it left after a second
    expect(page.url()).toBe(url());
    await page.getByRole('link', { name: 'Read', exact: true }).click();
    await page.waitForURL((at) => at.origin === reading.origin);
    expect(page.url()).toBe(`${reading.origin}${urlPathOf(PATH)}?q=1&r=%C3%A9#part`);
    expect(problems).toEqual([]);
    await context.close();
  });

  it('works without scripts', async () => {
    publish();
    const { page, context } = await open({ javaScriptEnabled: false });
    await page.goto(url());
    await page.getByRole('link', { name: 'Read', exact: true }).click();
    await page.waitForURL((at) => at.origin === reading.origin);
    expect(page.url()).toBe(reading.origin + urlPathOf(PATH));
    await context.close();
  });
});
