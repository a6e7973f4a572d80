/** People who may not read a page in Chromium, with the in-browser reader and without it: the teaser at the reading site, the way from it to the page, and pages that are given to them (docs/spec/web-reader.md, "Gifts"). */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { forFile } from '../support/for-file.ts';
import { openShadows, PIXEL } from '../support/pages/browser.ts';
import {
  CONTENT,
  clearKeys,
  heading,
  read,
  readerHasCome,
  startVault,
  VAULT,
  type Vault,
} from '../support/pages/vault.ts';
import { createPublisher, publish } from '../support/publisher-with-sets.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';
import { IS_RELEASE, inRelease } from '../support/tier.ts';

const TIDE = `<!doctype html><html lang="en"><title>The great tide</title><meta property="og:image" content="/tide.svg">
<script src="/spy.js"></script><h1>The great tide</h1><p data-wispr-excerpt>It came on Tuesday.</p><p id="paid">And it left.</p>`;
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="360"><rect width="640" height="360" fill="#246"/><circle cx="500" cy="90" r="40" fill="#fe9"/></svg>';
const PLANS = [{ name: 'all', title: 'Every day', price: '€6 a month', buy: 'https://pay.example/' }];
const TITLES = [
  { set: 'day-{dd}', title: 'Day {dd}' },
  { set: 'day-1', title: 'The issue of Monday' },
];
const STORY = '<!doctype html><title>Story</title><h1>Story</h1><img src="boat.png" alt="A boat">';

async function startSelling(firstPage: 'browser' | 'server'): Promise<Vault> {
  const selling = await startVault(firstPage);
  const { publisher, host, server } = selling.rig;
  const gifts = { days: 14, openings: 10, perMonth: 5 };
  publisher.publication.setSettings({ ...TEST_SETTINGS, plans: PLANS, titles: TITLES, gifts });
  await publish(
    publisher,
    host,
    { path: '/tide.svg', content: PICTURE, mediaType: 'image/svg+xml' },
    { path: '/tide.html', content: TIDE, mediaType: 'text/html', set: 'day-1' },
    { path: '/boat.png', content: PIXEL, mediaType: 'image/png', set: 'day-1' },
    { path: '/story.html', content: STORY, mediaType: 'text/html', set: 'day-1' },
  );
  await definePlan(server.state, { name: 'all', title: 'Every day', sets: ['day-*'] });
  return selling;
}

const vault = forFile(() => startSelling('server'));
/** Starts the same where the browser itself opens first pages, in the release tier. */
const other = IS_RELEASE ? forFile(() => startSelling('browser')) : vault;

/** Waits for the teaser, at the address of the page on the reading site. */
async function expectTeaser(page: Page, title: string): Promise<void> {
  await page.waitForURL(`${VAULT}/tide.html?q=1#end`);
  await page.waitForSelector(`#offer:text-is("${title}")`);
  expect(await page.locator('#paid').count()).toBe(0);
  await expect.poll(() => page.evaluate('document.querySelector(".picture").naturalWidth')).toBeGreaterThan(0);
}

/** Opens a browser of somebody who has joined, and has the in-browser reader. @param sets - all, if left out */
async function joined(name: string, sets?: readonly string[]): Promise<Page> {
  const page = await vault.newPage();
  await vault.joinAs(page, name, sets);
  await readerHasCome(page);
  return page;
}

/** Counts how often a window goes anywhere. */
function countMoves(page: Page): () => number {
  let moves = 0;
  page.on('request', (request) => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) moves++;
  });
  return () => moves;
}

it('a link out of the address bar shows a stranger the teaser, before the in-browser reader is there and after', async () => {
  const page = await vault.newPage();
  await page.goto(`${VAULT}/tide.html?q=1#end`);
  await expectTeaser(page, 'Read on with a subscription');
  await read(page, '/', 'Front');
  await readerHasCome(page);
  const moves = countMoves(page);
  await page.goto(`${CONTENT}/tide.html?q=1#end`);
  await expectTeaser(page, 'Read on with a subscription');
  expect(moves()).toBeLessThan(5);
});

inRelease(() => {
  it('the same link opens the page for who is signed in, whose keys have run out, and who signs in on the way', async () => {
    const page = await vault.newPage();
    await vault.joinAs(page, 'anna');
    await page.goto(`${VAULT}/tide.html?q=1#end`);
    await page.waitForURL(`${CONTENT}/tide.html?q=1#end`);
    await page.waitForSelector('#paid');
    await readerHasCome(page);
    await page.goto(`${CONTENT}/`);
    await clearKeys(page);
    await page.goto(`${CONTENT}/tide.html?q=1#end`);
    await page.waitForSelector('#paid');
    await page.goto(`${CONTENT}/`);
    await clearKeys(page);
    await page.goto(`${VAULT}/tide.html?q=1#end`);
    await page.waitForSelector('#paid');
    expect(page.url()).toBe(`${CONTENT}/tide.html?q=1#end`);
  });

  it('a reader whose rights leave the page out sees what would open it, and reads as soon as that is had', async () => {
    const page = await joined('berta', ['day-2']);
    const moves = countMoves(page);
    await page.goto(`${CONTENT}/tide.html?q=1#end`);
    await expectTeaser(page, 'This is in “The issue of Monday”');
    expect(moves()).toBeLessThan(5);
    expect(await page.textContent('aside')).toContain('Every day has it, for €6 a month.');
    await vault.rig.invite({ name: 'berta', plan: 'all' });
    await page.reload();
    await page.waitForSelector('#paid');
    expect(page.url()).toBe(`${CONTENT}/tide.html?q=1#end`);
  });

  it('a window ends at words, and is not led round and round, where account and vault do not agree', async () => {
    const page = await joined('carla', ['day-2']);
    const body = `<form method="post" action="${CONTENT}/tide.html"></form><script>document.forms[0].submit()</script>`;
    const headers = { 'referrer-policy': 'strict-origin' };
    await page.route(`${VAULT}/tide.html`, (route) => route.fulfill({ body, headers, contentType: 'text/html' }));
    const moves = countMoves(page);
    await page.goto(`${CONTENT}/tide.html`);
    await page.waitForSelector('h1:text-is("Your subscription does not include this page")');
    expect(moves()).toBeLessThan(10);
  });

  it('a page whose set the key server does not know ends at words too', async () => {
    const { publisher, host } = vault.rig;
    const set = 'day-9';
    const { sets } = await createPublisher([set]);
    await publish({ ...publisher, sets }, host, { path: '/new.html', content: TIDE, mediaType: 'text/html', set });
    const page = await joined('dora');
    const moves = countMoves(page);
    await page.goto(`${CONTENT}/new.html`);
    await page.waitForSelector('#offer:text-is("You have no key for this page")');
    expect(moves()).toBeLessThan(5);
  });
});

/** Makes a link as a reader does, beginning with the page that is read. */
async function linkFrom(giving: Vault): Promise<string> {
  const page = await giving.newPage();
  await openShadows(page);
  await giving.joinAs(page, 'gerda');
  await page.goto(`${CONTENT}/story.html`);
  await heading(page, 'Story');
  await page.click('[aria-label="About this page"]');
  await page.click('text=Give this article');
  await page.click('text=Make the link');
  return page.inputValue('#link');
}

async function expectStory(page: Page): Promise<void> {
  await heading(page, 'Story');
  await expect.poll(() => page.evaluate('document.images[0].naturalWidth')).toBe(1);
}

async function openAndReload(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.click('button');
  await expectStory(page);
  await page.reload();
  await expectStory(page);
}

/** The way to a page that was not given ends where people sign in. */
async function refuses(page: Page, path: string): Promise<void> {
  await page.goto(CONTENT + path).catch(() => undefined); // leads on meanwhile
  await expect.poll(() => page.url().startsWith(VAULT)).toBe(true);
}

inRelease(() => {
  it.each(['server', 'browser'])(
    'attack 149: a gift opens its page for a stranger, again after a reload, and no other page: first pages by the %s',
    async (firstPage) => {
      const giving = firstPage === 'server' ? vault : other;
      const link = await linkFrom(giving);
      expect(link).toMatch(new RegExp(`^${VAULT}/-/gift\\?to=/story\\.html#[\\w-]{43}$`));
      const [secret = ''] = link.split('#').slice(1);
      const stranger = await giving.newPage();
      const sent: string[] = [];
      stranger.on('request', (request) => sent.push(JSON.stringify([request.url(), request.headers()])));
      await openAndReload(stranger, link);
      expect(sent.filter((line) => line.includes(secret) && !line.startsWith(`["${link}`))).toEqual([]);
      await refuses(stranger, '/letter.html');

      // A stranger who has read the front page has the reader.
      const visitor = await giving.newPage();
      await expect.poll(async () => (await visitor.goto(`${CONTENT}/`))?.fromServiceWorker()).toBe(true);
      await openAndReload(visitor, link);
      await refuses(visitor, '/letter.html');
    },
  );
});
