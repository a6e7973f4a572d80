import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { startRig } from '../../support/keyserver-rig.ts';
import { publish } from '../../support/publisher-with-sets.ts';

const PASSWORD = 'correct horse battery';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const ARTICLE = `<!doctype html><title>The harbour</title><link rel="stylesheet" href="../style.css">
  <h1>The harbour</h1><img src="boat.png" alt="A boat"><p style="height: 3000px">Ships</p><h2 id="quay">The quay</h2>
  <script src="/script.js"></script>`;

const rig = forFile(startRig);
const browser = forFile(launchChromium);
beforeAll(async () => {
  const { publisher, host } = rig;
  await publish(publisher, host, {
    path: '/20/harbour.html',
    content: ARTICLE,
    mediaType: 'text/html; charset=utf-8',
    set: 'day-1',
  });
  await publish(publisher, host, {
    path: '/20/boat.png',
    content: Buffer.from(PIXEL, 'base64'),
    mediaType: 'image/png',
    set: 'day-1',
  });
  await publish(publisher, host, { path: '/style.css', content: 'h1 { color: rgb(1, 2, 3) }', mediaType: 'text/css' });
  await publish(publisher, host, {
    path: '/script.js',
    content: 'document.title += " (script)"',
    mediaType: 'text/javascript',
  });
  await publish(publisher, host, {
    path: '/index.html',
    content: '<a href="20/harbour.html">Harbour</a>',
    mediaType: 'text/html',
  });
});

/** A page of a browser that has never been here; whatever its console or its policies complain about is collected. */
async function openPage(): Promise<{ page: Page; complaints: string[] }> {
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    // A refused page is a 401 or a 403, which the console reports by itself.
    if (message.type() === 'error' && !message.text().includes('status of 40')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, complaints };
}

async function joinBy(page: Page, name: string): Promise<void> {
  await page.goto(`${rig.server.readingUrl}/-/join`);
  await page.fill('#code', (await rig.invite({ name })).code);
  await page.fill('#password', PASSWORD);
  await page.click('form#join button');
  await page.waitForURL('**/-/account');
}

async function expectArticle(page: Page): Promise<void> {
  await page.waitForFunction('document.title === "The harbour (script)"');
  expect(await page.evaluate('document.querySelector("img").naturalWidth')).toBe(1);
  expect(await page.evaluate('getComputedStyle(document.querySelector("h1")).color')).toBe('rgb(1, 2, 3)');
}

describe('in Chromium', () => {
  it('a second invitation link in the same tab takes the place of the first', async () => {
    const { page } = await openPage();
    await page.goto(`${rig.server.readingUrl}/-/join#0000-0000-0000-0000`);
    await page.waitForSelector('#refused:not([hidden])');
    await page.goto(`${rig.server.readingUrl}/-/join#${(await rig.invite({ name: 'second try' })).code}`);
    await page.waitForSelector('#as:not([hidden])');
    expect(await page.textContent('#name')).toBe('second try');
    await page.context().close();
  });

  it('a code that is typed takes a password, which can be looked at', async () => {
    const { page, complaints } = await openPage();
    await page.goto(`${rig.server.readingUrl}/-/join`);
    await page.fill('#code', (await rig.invite({ name: 'agnes' })).code);
    await page.fill('#password', PASSWORD);
    await page.check('#show');
    expect(await page.getAttribute('#password', 'type')).toBe('text');
    await page.click('form#join button');
    await page.waitForURL('**/-/account');
    expect(await page.textContent('.lead')).toContain('agnes');
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('attack 50: a page elsewhere can neither sign the reader out nor load a document into itself', async () => {
    const { page } = await openPage();
    await joinBy(page, 'carla');
    const { readingUrl: reading, documentsUrl: documents } = rig.server;
    rig.host.handlers.set('/evil.html', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<form method="post" action="${reading}/-/sign-out"><button>Win</button></form>
        <img id="stolen" src="${documents}/20/boat.png"><iframe src="${documents}/20/harbour.html"></iframe>`);
    });
    const evil = rig.host.origin.replace('127.0.0.1', 'localhost');
    await page.goto(`${evil}/evil.html`, { waitUntil: 'load' });
    expect(await page.evaluate('document.querySelector("#stolen").naturalWidth')).toBe(0);
    for (const frame of page.frames().slice(1)) expect(await frame.content()).not.toContain('The quay');
    await page.click('button');
    await page.waitForSelector('text=cross-site', { state: 'attached' }); // the text is folded away
    await page.goto(`${reading}/20/harbour.html`);
    await expectArticle(page);
    await page.context().close();
  });

  it('needs no script: the code is typed, and forms work', async () => {
    const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
    await page.goto(`${rig.server.readingUrl}/-/join`);
    await page.fill('#code', (await rig.invite({ name: 'dora' })).code.toLowerCase());
    await page.fill('#password', PASSWORD);
    await page.click('form#join button');
    await page.waitForURL('**/-/account');
    await page.goto(`${rig.server.readingUrl}/20/harbour.html`);
    await page.click('text=Go on');
    expect(await page.textContent('h2')).toBe('The quay');
    await page.context().close();
  });
});
