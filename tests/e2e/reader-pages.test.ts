/** The Reader's own pages as a reader meets them, in Chromium without scripts: from an invitation to a site that is read, and away from it again. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { nowInSeconds } from '../../node-support/clock.ts';
import { forFile } from '../support/for-file.ts';
import { type InvitedReader, twoSites } from '../support/invited-reader.ts';
import { ReaderPages } from '../support/pages/reader-pages.ts';
import { inRelease } from '../support/tier.ts';

const pages = forFile(() => ReaderPages.start());
let reader: InvitedReader;
let page: Page;
beforeAll(async () => {
  ({ reader, page } = pages);
});

describe('a reader with an invitation', () => {
  inRelease(() => {
    it('says what is wrong with a link, on the page and with the focus on it', async () => {
      await pages.open();
      await pages.look('empty');
      for (const [link, code] of [
        ['what is this', 'link-malformed'],
        [reader.keyServer.origin, 'link-malformed'],
        [`${reader.keyServer.origin}#AAAA-BBBB`, 'code-refused'],
        ['http://127.0.0.1:9/#0000-1111-2222-3333', 'key-server-unreachable'],
        ['0000-1111-2222-3333', 'link-malformed'],
      ] as const) {
        await pages.invite(link);
        expect(await pages.alert()).toContain(code);
        const focused = () => page.evaluate(() => document.activeElement?.getAttribute('role'));
        await expect.poll(focused).toBe('alert'); // autofocus comes with what is drawn next
        expect(await page.getByLabel('Link or code of your invitation').inputValue()).toBe(link);
      }
      await pages.look('wrong');
    });
  });

  it('is refused where the site does not name this publisher, and nothing is connected', async () => {
    reader.proofs.delete('news.example');
    await pages.invite(await reader.keyServer.invite());
    expect(await pages.alert()).toContain('host-proof');
    reader.proofs.set('news.example', `wispr/1 root=${reader.publisher.root.id}`);
    expect(reader.keyServer.bodies).toEqual([]);
  });

  it('is shown who is behind it, and what that means, before anything is connected', async () => {
    const link = await reader.keyServer.invite();
    await pages.open();
    await page.getByLabel('Link or code of your invitation').fill(link);
    await pages.press('Continue');
    expect(await pages.heading()).toBe('Connect with The Morning Paper?');
    expect(await page.textContent('main')).toContain('It can show you pages under news.example');
    expect(await page.locator('details').getAttribute('open')).toBeNull();
    await page.locator('summary').click();
    expect(await page.textContent('dl')).toContain(reader.publisher.root.id);
    expect(page.url() + (await page.content())).not.toContain(link.split('#')[1]);
    expect(reader.keyServer.bodies).toEqual([]);
    await pages.look('confirm');
  });

  it('connects with one button, and reads', async () => {
    await pages.press('Connect');
    expect(await pages.status()).toContain('Connected');
    expect(reader.keyServer.devices.size).toBe(1);
    await pages.look('connected');
    await page.getByRole('link', { name: /^news\.example/ }).click();
    expect(await pages.heading()).toBe('Front page');
    await page.goto(new URL('/fog.html?who=ada', page.url()).href);
    expect(await pages.heading()).toBe('Fog');
  });

  inRelease(() => {
    it('uses an invitation once: the page says what became of it', async () => {
      await page.goBack();
      await page.goBack();
      await page.goBack();
      expect(await pages.heading()).toBe('Connect with a publisher');
      expect(await pages.alert()).toContain('has been used');
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
    await pages.open();
    expect(await page.textContent('.box h3')).toBe('The Morning Paper would like to show you second.example as well');
    expect((await reader.proxy.sites()).map(({ site }) => site)).toEqual(['news.example']);
    await pages.look('asks');
  });

  inRelease(() => {
    it('can be declined: the question does not return, and can be accepted later', async () => {
      await pages.press('No, thank you');
      expect(await pages.status()).toContain('will not be asked');
      expect(await page.locator('.box h3').count()).toBe(0);
      await reader.restart();
      await pages.open();
      expect(await page.locator('.box h3').count()).toBe(0);
      await page.locator('summary', { hasText: 'Details' }).click();
      await pages.press('Connect second.example after all');
      expect(await pages.alert()).toContain('host-proof');
      expect((await reader.proxy.sites()).map(({ site }) => site)).toEqual(['news.example']);
    });

    it('is connected after a look at what it means, where it names this publisher', async () => {
      reader.proofs.set('second.example', `wispr/1 root=${reader.publisher.root.id}`);
      await pages.open();
      await page.locator('summary', { hasText: 'Details' }).click();
      await pages.press('Connect second.example after all');
      expect(await pages.heading()).toBe('More sites of The Morning Paper?');
      await pages.look('more');
      await pages.press('Connect');
      expect((await reader.proxy.sites()).map(({ site }) => site)).toEqual(['news.example', 'second.example']);
      expect(reader.keyServer.devices.size).toBe(1);
    });
  });
});

it('an error page says what it means and what to do, and has the public link to copy', async () => {
  const gateway = await pages.gateway();
  await reader.publisher.publish(reader.host.files, '/rain.html', { content: '<h1>Rain</h1>' });
  const file = reader.publisher.fileOf('/rain.html');
  const good = reader.host.files.get(file);
  reader.host.files.set(file, Buffer.from('not it'));
  await page.goto(`${gateway}rain.html?q=1`);
  expect(await pages.heading()).toBe('This page arrived damaged');
  const links = await page.locator('a').evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
  expect(links).toEqual([`${gateway}rain.html?q=1`]);
  const publicLink = page.getByText('http://news.example/rain.html?q=1');
  expect(await publicLink.isVisible()).toBe(false); // the link folds away with the code
  await page.locator('summary', { hasText: 'For the publisher' }).click();
  expect(await publicLink.isVisible()).toBe(true);
  expect(await page.textContent('code')).toBe('head-unexpected');
  await pages.look('refused');
  reader.host.files.set(file, good ?? Buffer.alloc(0));
});

inRelease(() => {
  it('a keyboard alone is enough to disconnect a publisher, who goes with everything', async () => {
    await pages.open();
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
    expect(await pages.heading()).toBe('Disconnect The Morning Paper?');
    await pages.look('disconnect');
    await tabTo('Disconnect');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/?done=disconnected');
    expect(await pages.heading()).toBe('No site is connected yet');
    expect(await reader.proxy.sites()).toEqual([]);
  });
});
