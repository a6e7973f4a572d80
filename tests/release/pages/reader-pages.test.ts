/** The Reader's own pages for one who is connected: the first page, the settings, and pages of errors. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { send } from '../../support/http-client.ts';
import type { InvitedReader } from '../../support/invited-reader.ts';
import { ReaderPages } from '../../support/pages/reader-pages.ts';

const pages = forFile(() => ReaderPages.start());
let reader: InvitedReader;
let page: Page;
beforeAll(async () => {
  ({ reader, page } = pages);
  await pages.connect();
  for (const path of ['', 'fog.html?who=ada']) await page.goto((await pages.gateway()) + path);
});

describe('the first page', () => {
  it('says what may be read until when, how fresh it is, and what was verified: without queries', async () => {
    await pages.open();
    const main = (await page.textContent('main')) ?? '';
    expect(main).toMatch(/One collection, with keys until \d+ \w+ 20\d\d/);
    expect(main).toMatch(/Up to date (?:59 minutes|1 hour) ago\./); // publications before took a second of it each
    expect(main).toContain('news.example/fog.html');
    expect(main).not.toContain('who=');
    await page.goto(new URL('/style.css', await pages.gateway()).href);
    await pages.open();
    const read = await page.locator('.log a').allTextContents();
    expect(read.sort()).toEqual(['Fog', 'Paper']); // titles of pages, without what they load
    reader.passTime(7500);
    await pages.open();
    expect(await page.textContent('main')).toContain('Up to date 3 hours ago');
    reader.passTime(-7500);
    await pages.look('home');
  });

  it('says where each document came from, and forgets the list on demand', async () => {
    const link = page.getByRole('link', { name: 'Fog', exact: true });
    const how = () => page.locator('.log li', { has: link }).locator('span').textContent();
    expect(await how()).toContain('fetched');
    const { headers } = await send(reader.proxy.port, 'http://news.example/fog.html');
    await pages.open();
    expect(await how()).toContain('from this computer’s store');
    const kept = { 'if-none-match': headers.etag ?? '' };
    expect((await send(reader.proxy.port, 'http://news.example/fog.html', { headers: kept })).status).toBe(304);
    await pages.open();
    expect(await how()).toContain('kept by the browser');
    await pages.press('Clear this list');
    expect(await pages.status()).toContain('cleared');
    expect(await page.textContent('main')).not.toContain('fog.html');
    await link.waitFor({ state: 'detached' });
  });

  it('knows a browser that uses the Reader as its proxy, and explains what it does with https://', async () => {
    expect(await page.textContent('#browser + p')).toContain('needs no settings');
    const other = await launchChromium(`--proxy-server=${reader.proxy.url}`);
    onTestFinished(() => other.close());
    const visitor = await other.newPage();
    await visitor.goto('http://news.example/fog.html');
    await visitor.goto('https://news.example/fog.html').catch(() => undefined); // a certificate that it does not know
    const tab = await other.newPage();
    await pages.open('/', tab);
    const section = (await tab.textContent('section:has(#browser)')) ?? '';
    expect(section).toContain('used the Reader as its proxy just now');
    expect(section).toContain('news.example was opened with https:// just now');
  });

  it('offers to connect a site with protected content that passed through, and leaves what passes alone', async () => {
    reader.host.files.set('/a.protected', Buffer.from('an object'));
    const other = await launchChromium(`--proxy-server=${reader.proxy.url}`);
    try {
      const visitor = await other.newPage();
      await visitor.goto('http://unknown.example/fog.html').catch(() => undefined);
      await pages.open();
      expect(await page.locator('#seen').count()).toBe(0);
      const download = visitor.waitForEvent('download');
      await visitor.goto('http://unknown.example/a.protected').catch(() => undefined);
      await download;
    } finally {
      await other.close();
    }
    await pages.open();
    await pages.look('seen');
    await page.getByRole('link', { name: 'Connect unknown.example' }).click();
    expect(await page.textContent('main')).toContain('To read unknown.example in the Reader');
  });
});

describe('the settings', () => {
  it('are refused where they cannot be, beside the field, and saved where they can', async () => {
    await pages.open('/settings');
    await page.getByLabel('Another proxy to go through').fill('socks://proxy.example');
    await pages.press('Save');
    expect(await pages.alert()).toContain('nothing was saved');
    const field = page.getByLabel('Another proxy to go through');
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await field.inputValue()).toBe('socks://proxy.example');
    await pages.look('settings-wrong');
    await field.fill('');
    await page.getByLabel(/List what I read/).uncheck();
    await pages.press('Save');
    expect(await pages.status()).toBe('Saved.');
    await pages.look('settings');
    await reader.restart();
    await pages.open();
    expect(await page.textContent('main')).toContain('turned off in the settings');
  });

  it('that the command line has given cannot be changed, and the page says so', async () => {
    await reader.restart({ parentProxy: 'http://ada:secret@127.0.0.1:9' });
    await pages.open('/settings');
    const field = page.getByLabel('Another proxy to go through');
    expect(await field.isDisabled()).toBe(true);
    expect(await field.inputValue()).toBe('http://127.0.0.1:9');
    expect(await page.textContent('main')).toContain('Set on the command line');
    await pages.press('Save');
    await reader.restart();
    await pages.open('/settings');
    expect(await field.inputValue()).toBe('');
  });
});

describe('an error page', () => {
  it('comes with the reason where the reader is offline, and the Reader’s own pages work', async () => {
    const gateway = await pages.gateway();
    await reader.host.close();
    await page.goto(`${gateway}fog.html`);
    expect(await pages.heading()).toBe('Fog'); // read before
    await page.goto(`${gateway}rain.html`);
    expect(await pages.heading()).toBe('This page could not be loaded');
    await pages.look('offline');
    await pages.open();
    expect(await pages.heading()).toBe('Your sites');
  });

  it('of the Reader itself leads back to its first page', async () => {
    await pages.open('/nothing');
    expect(await pages.heading()).toBe('The Reader has no such page');
    await pages.look('unknown');
    await page.getByRole('link', { name: 'Back to your sites' }).click();
    expect(await pages.heading()).toBe('Your sites');
  });
});
