/** People who may not read a page in Chromium, with the in-browser reader and without it: the teaser at the reading site, and the way from it to the page. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { forFile } from '../support/for-file.ts';
import { CONTENT, clearKeys, read, readerHasCome, startVault, VAULT } from '../support/pages/vault.ts';
import { createPublisher, publish } from '../support/publisher-with-sets.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const TIDE = `<!doctype html><html lang="en"><title>The great tide</title><meta property="og:image" content="/tide.svg">
<script src="/spy.js"></script><h1>The great tide</h1><p data-wispr-excerpt>It came on Tuesday.</p><p id="paid">And it left.</p>`;
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="360"><rect width="640" height="360" fill="#246"/><circle cx="500" cy="90" r="40" fill="#fe9"/></svg>';
const PLANS = [{ name: 'all', title: 'Every day', price: '€6 a month', buy: 'https://pay.example/' }];

const vault = forFile(() => startVault('server'));
beforeAll(async () => {
  const { publisher, host, server } = vault.rig;
  const titles = [
    { set: 'day-{dd}', title: 'Day {dd}' },
    { set: 'day-1', title: 'The issue of Monday' },
  ];
  publisher.publication.setSettings({ ...TEST_SETTINGS, plans: PLANS, titles });
  await publish(publisher, host, { path: '/tide.svg', content: PICTURE, mediaType: 'image/svg+xml' });
  await publish(publisher, host, { path: '/tide.html', content: TIDE, mediaType: 'text/html', set: 'day-1' });
  await definePlan(server.state, { name: 'all', title: 'Every day', sets: ['day-*'] });
});

/** Waits for the teaser, at the address of the page on the reading site. */
async function expectTeaser(page: Page, title: string): Promise<void> {
  await page.waitForURL(`${VAULT}/tide.html?q=1#end`);
  await page.waitForSelector(`#offer:text-is("${title}")`);
  expect(await page.locator('#paid').count()).toBe(0);
  await expect.poll(() => page.evaluate('document.querySelector(".picture").naturalWidth')).toBeGreaterThan(0);
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
  const page = await vault.newPage();
  await vault.joinAs(page, 'berta', ['day-2']);
  await readerHasCome(page);
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
  const page = await vault.newPage();
  await vault.joinAs(page, 'carla', ['day-2']);
  await readerHasCome(page);
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
  const { sets } = await createPublisher(['day-9']);
  const set = 'day-9';
  await publish({ ...publisher, sets }, host, { path: '/new.html', content: TIDE, mediaType: 'text/html', set });
  const page = await vault.newPage();
  await vault.joinAs(page, 'dora');
  await readerHasCome(page);
  const moves = countMoves(page);
  await page.goto(`${CONTENT}/new.html`);
  await page.waitForSelector('#offer:text-is("You have no key for this page")');
  expect(moves()).toBeLessThan(5);
});
