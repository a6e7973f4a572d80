/** The Reader's own pages as a reader meets them, in Chromium without scripts: from an invitation to a site that is read, and away from it again. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nowInSeconds } from '../../node-support/clock.ts';
import { accessibilityProblems } from '../support/axe.ts';
import { launchChromium } from '../support/chromium.ts';
import { send } from '../support/http-client.ts';
import { type InvitedReader, startInvitedReader, twoSites } from '../support/invited-reader.ts';
import { inRelease } from '../support/tier.ts';
import { takePictures } from './browser.ts';

let reader: InvitedReader;
let browser: Browser;
let page: Page;
beforeAll(async () => {
  reader = await startInvitedReader();
  const { publisher, host } = reader;
  await publisher.publish(host.files, '/index.html', { content: '<title>Paper</title><h1>Front page</h1>' });
  await publisher.publish(host.files, '/fog.html', { content: '<title>Fog</title><h1>Fog</h1>' });
  await publisher.publish(host.files, '/style.css', { content: 'h1 { color: red }' });
  browser = await launchChromium();
  page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
});
afterAll(async () => {
  await browser.close();
  await reader.close();
});

const open = (path = '/', on = page) => on.goto(reader.proxy.page + path.slice(1));
const heading = () => page.textContent('h1');
const status = () => page.textContent('[role=status]');
const alert = () => page.textContent('[role=alert]');
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

/** What every page owes its reader. */
async function look(name: string): Promise<void> {
  await takePictures(page, `reader-${name}`);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await page.locator('h1').count()).toBe(1);
  expect(await page.locator('script').count()).toBe(0);
}

async function invite(link: string): Promise<void> {
  await open('/connect');
  await page.getByLabel('Link or code of your invitation').fill(link);
  await press('Continue');
}

describe('a reader with an invitation', () => {
  inRelease(() => {
    it('says what is wrong with a link, on the page and with the focus on it', async () => {
      await open();
      await look('empty');
      for (const [link, code] of [
        ['what is this', 'link-malformed'],
        [reader.keyServer.origin, 'link-malformed'],
        [`${reader.keyServer.origin}#AAAA-BBBB`, 'code-refused'],
        ['http://127.0.0.1:9/#0000-1111-2222-3333', 'key-server-unreachable'],
        ['0000-1111-2222-3333', 'link-malformed'],
      ] as const) {
        await invite(link);
        expect(await alert()).toContain(code);
        const focused = () => page.evaluate(() => document.activeElement?.getAttribute('role'));
        await expect.poll(focused).toBe('alert'); // autofocus comes with what is drawn next
        expect(await page.getByLabel('Link or code of your invitation').inputValue()).toBe(link);
      }
      await look('wrong');
    });

    it('is refused where the site does not name this publisher, and nothing is connected', async () => {
      reader.proofs.delete('news.example');
      await invite(await reader.keyServer.invite());
      expect(await alert()).toContain('host-proof');
      reader.proofs.set('news.example', `wispr/1 root=${reader.publisher.root.id}`);
      expect(reader.keyServer.bodies).toEqual([]);
    });
  });

  it('is shown who is behind it, and what that means, before anything is connected', async () => {
    const link = await reader.keyServer.invite();
    await open();
    await page.getByLabel('Link or code of your invitation').fill(link);
    await press('Continue');
    expect(await heading()).toBe('Connect with The Morning Paper?');
    expect(await page.textContent('main')).toContain('It can show you pages under news.example');
    expect(await page.locator('details').getAttribute('open')).toBeNull();
    await page.locator('summary').click();
    expect(await page.textContent('dl')).toContain(reader.publisher.root.id);
    expect(page.url() + (await page.content())).not.toContain(link.split('#')[1]);
    expect(reader.keyServer.bodies).toEqual([]);
    await look('confirm');
  });

  it('connects with one button, and reads', async () => {
    await press('Connect');
    expect(await status()).toContain('Connected');
    expect(reader.keyServer.devices.size).toBe(1);
    await look('connected');
    await page.getByRole('link', { name: /^news\.example/ }).click();
    expect(await heading()).toBe('Front page');
    await page.goto(new URL('/fog.html?who=ada', page.url()).href);
    expect(await heading()).toBe('Fog');
  });

  inRelease(() => {
    it('uses an invitation once: the page says what became of it', async () => {
      await page.goBack();
      await page.goBack();
      await page.goBack();
      expect(await heading()).toBe('Connect with a publisher');
      expect(await alert()).toContain('has been used');
    });
  });
});

describe('the first page', () => {
  it('says what may be read until when, how fresh it is, and what was verified: without queries', async () => {
    await open();
    const main = (await page.textContent('main')) ?? '';
    expect(main).toMatch(/One collection, with keys until \d+ \w+ 20\d\d/);
    expect(main).toContain('Up to date 1 hour ago.');
    expect(main).toContain('news.example/fog.html');
    expect(main).not.toContain('who=');
    await page.goto(new URL('/style.css', (await reader.proxy.gatewayUrl('news.example')) ?? '').href);
    await open();
    const read = await page.locator('.log a').allTextContents();
    expect(read.sort()).toEqual(['Fog', 'Paper']); // by their titles, and without what pages load
    reader.passTime(7200);
    await open();
    expect(await page.textContent('main')).toContain('Up to date 3 hours ago');
    reader.passTime(-7200);
    await look('home');
  });

  inRelease(() => {
    it('says where each document came from, and forgets the list on demand', async () => {
      const link = page.getByRole('link', { name: 'Fog', exact: true });
      const how = () => page.locator('.log li', { has: link }).locator('span').textContent();
      expect(await how()).toContain('fetched');
      const { headers } = await send(reader.proxy.port, 'http://news.example/fog.html');
      await open();
      expect(await how()).toContain('from this computer’s store');
      const kept = { 'if-none-match': headers.etag ?? '' };
      expect((await send(reader.proxy.port, 'http://news.example/fog.html', { headers: kept })).status).toBe(304);
      await open();
      expect(await how()).toContain('kept by the browser');
      await press('Clear this list');
      expect(await status()).toContain('cleared');
      expect(await page.textContent('main')).not.toContain('fog.html');
      await link.waitFor({ state: 'detached' });
    });

    it('knows a browser that uses the Reader as its proxy, and explains what it does with https://', async () => {
      expect(await page.textContent('#browser + p')).toContain('needs no settings');
      const other = await launchChromium(`--proxy-server=${reader.proxy.url}`);
      try {
        const visitor = await other.newPage();
        await visitor.goto('http://news.example/fog.html');
        await visitor.goto('https://news.example/fog.html').catch(() => undefined); // a certificate that it does not know
        const tab = await other.newPage();
        await open('/', tab);
        const section = (await tab.textContent('section:has(#browser)')) ?? '';
        expect(section).toContain('used the Reader as its proxy just now');
        expect(section).toContain('news.example was opened with https:// just now');
      } finally {
        await other.close();
      }
    });

    it('offers to connect a site with protected content that passed through, and leaves what passes alone', async () => {
      reader.host.files.set('/a.protected', Buffer.from('an object'));
      const other = await launchChromium(`--proxy-server=${reader.proxy.url}`);
      try {
        const visitor = await other.newPage();
        await visitor.goto('http://unknown.example/fog.html').catch(() => undefined);
        await open();
        expect(await page.locator('#seen').count()).toBe(0);
        const download = visitor.waitForEvent('download');
        await visitor.goto('http://unknown.example/a.protected').catch(() => undefined);
        await download;
      } finally {
        await other.close();
      }
      await open();
      await look('seen');
      await page.getByRole('link', { name: 'Connect unknown.example' }).click();
      expect(await page.textContent('main')).toContain('To read unknown.example in the Reader');
    });
  });
});

describe('attack 71: a site that the publisher adds', () => {
  it('is asked about on the first page, and not served before the reader agrees', async () => {
    const { publisher, keyServer, host } = reader;
    const wish = { sites: twoSites(publisher), issued: nowInSeconds() };
    keyServer.descriptor = publisher.descriptor(keyServer.origin, wish);
    publisher.setDescriptor(keyServer.descriptor);
    await publisher.sign(host.files);
    await open();
    expect(await page.textContent('.box h3')).toBe('The Morning Paper would like to show you second.example as well');
    expect((await reader.proxy.sites()).map(({ site }) => site)).toEqual(['news.example']);
    await look('asks');
  });

  inRelease(() => {
    it('can be declined: the question does not return, and can be accepted later', async () => {
      await press('No, thank you');
      expect(await status()).toContain('will not be asked');
      expect(await page.locator('.box h3').count()).toBe(0);
      await reader.restart();
      await open();
      expect(await page.locator('.box h3').count()).toBe(0);
      await page.locator('summary', { hasText: 'Details' }).click();
      await press('Connect second.example after all');
      expect(await alert()).toContain('host-proof');
      expect((await reader.proxy.sites()).map(({ site }) => site)).toEqual(['news.example']);
    });

    it('is connected after a look at what it means, where it names this publisher', async () => {
      reader.proofs.set('second.example', `wispr/1 root=${reader.publisher.root.id}`);
      await open();
      await page.locator('summary', { hasText: 'Details' }).click();
      await press('Connect second.example after all');
      expect(await heading()).toBe('More sites of The Morning Paper?');
      await look('more');
      await press('Connect');
      expect((await reader.proxy.sites()).map(({ site }) => site)).toEqual(['news.example', 'second.example']);
      expect(reader.keyServer.devices.size).toBe(1);
    });
  });
});

inRelease(() => {
  describe('the settings', () => {
    it('are refused where they cannot be, beside the field, and saved where they can', async () => {
      await open('/settings');
      await page.getByLabel('Another proxy to go through').fill('socks://proxy.example');
      await press('Save');
      expect(await alert()).toContain('nothing was saved');
      const field = page.getByLabel('Another proxy to go through');
      expect(await field.getAttribute('aria-invalid')).toBe('true');
      expect(await field.inputValue()).toBe('socks://proxy.example');
      await look('settings-wrong');
      await field.fill('');
      await page.getByLabel(/List what I read/).uncheck();
      await press('Save');
      expect(await status()).toBe('Saved.');
      await look('settings');
      await reader.restart();
      await open();
      expect(await page.textContent('main')).toContain('turned off in the settings');
    });

    it('that the command line has given cannot be changed, and the page says so', async () => {
      await reader.restart({ parentProxy: 'http://ada:secret@127.0.0.1:9' });
      await open('/settings');
      const field = page.getByLabel('Another proxy to go through');
      expect(await field.isDisabled()).toBe(true);
      expect(await field.inputValue()).toBe('http://127.0.0.1:9');
      expect(await page.textContent('main')).toContain('Set on the command line');
      await press('Save');
      await reader.restart();
      await open('/settings');
      expect(await field.inputValue()).toBe('');
    });
  });
});

describe('an error page', () => {
  it('says what it means and what to do, and has the public link to copy', async () => {
    const gateway = (await reader.proxy.gatewayUrl('news.example')) ?? '';
    await reader.publisher.publish(reader.host.files, '/rain.html', { content: '<h1>Rain</h1>' });
    const file = reader.publisher.fileOf('/rain.html');
    const good = reader.host.files.get(file);
    reader.host.files.set(file, Buffer.from('not it'));
    await page.goto(`${gateway}rain.html?q=1`);
    expect(await heading()).toBe('A server on the way sent something else');
    expect(await page.getByLabel('Public link').inputValue()).toBe('http://news.example/rain.html?q=1');
    const links = await page.locator('a').evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
    expect(links).toEqual([`${gateway}rain.html?q=1`, 'https://read.news.example/rain.html?q=1']);
    expect(await page.getByLabel('Public link').isVisible()).toBe(false); // folded away, with the code
    await page.locator('summary', { hasText: 'For the publisher' }).click();
    expect(await page.textContent('dl')).toContain('head-unexpected');
    await look('refused');
    reader.host.files.set(file, good ?? Buffer.alloc(0));
  });

  inRelease(() => {
    it('comes with the reason where the reader is offline, and the Reader’s own pages work', async () => {
      const gateway = (await reader.proxy.gatewayUrl('news.example')) ?? '';
      await reader.host.close();
      await page.goto(`${gateway}fog.html`);
      expect(await heading()).toBe('Fog'); // read before
      await page.goto(`${gateway}rain.html`);
      expect(await heading()).toBe('The server with this page does not answer');
      await look('offline');
      await open();
      expect(await heading()).toBe('Your sites');
    });

    it('of the Reader itself leads back to its first page', async () => {
      await open('/nothing');
      expect(await heading()).toBe('The Reader has no such page');
      await look('unknown');
      await page.getByRole('link', { name: 'Back to your sites' }).click();
      expect(await heading()).toBe('Your sites');
    });
  });
});

inRelease(() => {
  describe('a keyboard alone', () => {
    it('is enough to disconnect a publisher, who goes with everything', async () => {
      await open();
      const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
      const tabTo = async (wanted: string) => {
        for (let turn = 0; turn < 40 && !(await focused()).startsWith(wanted); turn++) await page.keyboard.press('Tab');
        expect(await focused()).toContain(wanted);
      };
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Skip to the content');
      await page.keyboard.press('Enter');
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('main');
      await tabTo('Details');
      await page.keyboard.press('Enter');
      await tabTo('Disconnect …');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/disconnect');
      expect(await heading()).toBe('Disconnect The Morning Paper?');
      await look('disconnect');
      await tabTo('Disconnect');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/?done=disconnected');
      expect(await heading()).toBe('No site is connected yet');
      expect(await reader.proxy.sites()).toEqual([]);
    });
  });
});
