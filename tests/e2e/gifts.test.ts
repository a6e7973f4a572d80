/** A page that is given away, in Chromium: from the giver's window to a stranger's. docs/spec/web-reader.md, "Gifts" */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { forFile } from '../support/for-file.ts';
import { CONTENT, heading, startVault, VAULT, type Vault } from '../support/pages/vault.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';
import { IS_RELEASE } from '../support/tier.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const STORY = '<!doctype html><title>Story</title><h1>Story</h1><img src="boat.png" alt="A boat">';

async function startGiving(firstPage: 'browser' | 'server'): Promise<Vault> {
  const vault = await startVault(firstPage);
  const { publisher, host } = vault.rig;
  publisher.publication.setSettings({ ...TEST_SETTINGS, gifts: { days: 14, openings: 10, perMonth: 5 } });
  const [html, png] = [{ mediaType: 'text/html' }, { mediaType: 'image/png' }];
  await publish(publisher, host, { ...png, path: '/boat.png', content: Buffer.from(PIXEL, 'base64'), set: 'day-1' });
  await publish(publisher, host, { ...html, path: '/story.html', content: STORY, set: 'day-1' });
  return vault;
}

const MODES = IS_RELEASE ? (['server', 'browser'] as const) : (['server'] as const);
const vaults = new Map(MODES.map((firstPage) => [firstPage, forFile(() => startGiving(firstPage))]));

/** A page whose sheet can be reached. */
async function openedUp(page: Page): Promise<Page> {
  await page.addInitScript(() => {
    const { attachShadow } = Element.prototype;
    Element.prototype.attachShadow = function open(init) {
      return attachShadow.call(this, { ...init, mode: 'open' });
    };
  });
  return page;
}

/** Makes a link as a reader does, beginning with the page that is read. */
async function linkFrom(vault: Vault, name: string): Promise<string> {
  const page = await openedUp(await vault.newPage());
  await vault.joinAs(page, name);
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

it.each(MODES)(
  'attack 149: a gift opens its page for a stranger, again after a reload, and no other page: first pages by the %s',
  async (firstPage) => {
    const vault = vaults.get(firstPage) as Vault;
    const link = await linkFrom(vault, 'anna');
    expect(link).toMatch(new RegExp(`^${VAULT}/-/gift\\?to=/story\\.html#[\\w-]{43}$`));
    const [secret = ''] = link.split('#').slice(1);
    const stranger = await vault.newPage();
    const sent: string[] = [];
    stranger.on('request', (request) => sent.push(JSON.stringify([request.url(), request.headers()])));
    await openAndReload(stranger, link);
    expect(sent.filter((line) => line.includes(secret) && !line.startsWith(`["${link}`))).toEqual([]);
    await refuses(stranger, '/letter.html');

    // A stranger who has read the front page has the reader.
    const visitor = await vault.newPage();
    await expect.poll(async () => (await visitor.goto(`${CONTENT}/`))?.fromServiceWorker()).toBe(true);
    await openAndReload(visitor, link);
    await refuses(visitor, '/letter.html');
  },
);
