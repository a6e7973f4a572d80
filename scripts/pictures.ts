/**
 * `npm run pictures`: takes the pictures of README from the example newspaper, in Chromium, into docs/pictures/: the tour, dark and light; and, small,
 * a teaser, an article and an account. Needs Chromium and pngquant. The bytes in the tour are others each time, as encryption has it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { type Serving, startServing, withWorld } from '../serve/serving.ts';
import { chooseSite } from '../serve/site.ts';

const FOLDER = join(import.meta.dirname, '../docs/pictures');
const ARTICLE = '/2026/11/17/the%20great%20tide.html';
const WIDE = { width: 1200, height: 864 };
const SMALL = { width: 440, height: 1060 };

mkdirSync(FOLDER, { recursive: true });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  await withWorld(await chooseSite(), new AbortController().signal, async (world) => {
    const serving = await startServing(world, { port: 0, whole: true });
    for (const colorScheme of ['light', 'dark'] as const)
      await takeTour(await browser.newPage({ viewport: WIDE, colorScheme }), serving, `tour-${colorScheme}`);
    const { name, password } = await world.addReader('ada', serving.server, undefined);
    await takePages(await browser.newPage({ viewport: SMALL, colorScheme: 'light' }), serving, { name, password });
  });
} finally {
  await browser.close();
}

/** Takes the tour with an article that has a picture, to which the frame is led as by a link. */
async function takeTour(page: Page, { views }: Serving, name: string): Promise<void> {
  await page.goto(views.tour);
  const frame = page.locator('#page[src]');
  const first = new URL((await frame.getAttribute('src')) ?? '');
  await frame.evaluate((element, src) => element.setAttribute('src', src), first.origin + ARTICLE);
  await page.waitForSelector('#length:has-text("great tide")');
  await page.frameLocator('#page').locator('html[data-reader="ready"]').waitFor();
  await take(page, name);
}

async function takePages(page: Page, { cache, server }: Serving, person: Record<'name' | 'password', string>) {
  await page.goto(cache.url + ARTICLE);
  await take(page, 'teaser');
  await page.goto(server.readingUrl + ARTICLE);
  await page.fill('#name', person.name);
  await page.fill('#password', person.password);
  await page.click('#sign-in button');
  await page.waitForSelector('html[data-reader="ready"]');
  await page.evaluate(() => document.querySelector('video')?.removeAttribute('controls')); // controls turn while it loads
  await take(page, 'article');
  await page.goto(`${server.readingUrl}/-/account`);
  await page.waitForSelector('#program', { state: 'attached' });
  await take(page, 'account');
}

/** Takes 128 colours, without dithering: flat areas compress, and the same page is the same file. */
async function take(page: Page, name: string): Promise<void> {
  const frames = page.frames().map((frame) => frame.evaluate(() => document.fonts.ready.then(() => undefined)));
  await Promise.all(frames);
  const picture = await page.screenshot({ animations: 'disabled' });
  const small = execFileSync('pngquant', ['--nofs', '--speed', '1', '--strip', '128', '-'], { input: picture });
  writeFileSync(join(FOLDER, `${name}.png`), small);
}
