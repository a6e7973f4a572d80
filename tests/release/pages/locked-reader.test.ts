/** A locked Reader in Chromium: its own pages ask for the passphrase, and nothing of a connected site is shown before. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { protectIdentity } from '../../../client-proxy/index.ts';
import { LIMITS } from '../../../client-proxy/limits.ts';
import { accessibilityProblems } from '../../support/axe.ts';
import { forFile } from '../../support/for-file.ts';
import { refusalCode, send } from '../../support/http-client.ts';
import type { InvitedReader } from '../../support/invited-reader.ts';
import { takePictures } from '../../support/pages/browser.ts';
import { ReaderPages } from '../../support/pages/reader-pages.ts';

const PASSPHRASE = 'right horse & 100% "battery"';

const pages = forFile(() => ReaderPages.start());
let rig: InvitedReader;
let page: Page;
let gateway: string;
beforeAll(async () => {
  ({ reader: rig, page } = pages);
  await pages.connect();
  gateway = await pages.gateway();
});

const passphrase = () => page.getByLabel('Passphrase');

it('the button "Lock now" is there only where unlocking takes a passphrase', async () => {
  await pages.open();
  expect(await page.getByRole('button', { name: 'Lock now' }).count()).toBe(0);
  await protectIdentity(rig.storage, { kind: 'passphrase', choose: async () => PASSPHRASE });
  await pages.open();
  await pages.look('lockable');
  await pages.press('Lock now');
  expect(await pages.heading()).toBe('The Reader is locked');
  expect(rig.proxy.lock.isLocked).toBe(true);
});

describe('a locked Reader', () => {
  it('asks for the passphrase in place of every page that needs keys, and reveals nothing of what is behind it', async () => {
    for (const path of ['/', '/connect', '/unlock', '/publishers/1/disconnect']) {
      await pages.open(path);
      expect(await pages.heading()).toBe('The Reader is locked');
      expect(await page.content()).not.toContain('news.example');
    }
    await pages.open('/settings');
    expect(await pages.heading()).toBe('Settings');
    await pages.open();
    expect(await passphrase().evaluate((field: HTMLInputElement) => [field.type, field.autocomplete])).toEqual([
      'password',
      'off',
    ]);
    await pages.look('locked');
  });

  it('attack 89: leads from the page of a document to where it is unlocked, in a tab of its own, and nowhere else', async () => {
    await page.goto(`${gateway}fog.html`);
    expect(await pages.heading()).toBe('The Reader is locked');
    const opened = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Unlock the Reader' }).click();
    expect((await opened).url()).toBe(rig.proxy.page);
    await (await opened).close();
    expect(await page.locator('a').count()).toBe(1);
    expect(await page.locator('form').count()).toBe(0);
    // A copy, since the page itself looks again every three seconds.
    const copy = await pages.browser.newPage();
    await copy.setContent(await page.content());
    await takePictures(copy, 'reader-locked-document');
    expect(await accessibilityProblems(copy)).toEqual([]);
    await copy.close();
    const answer = await send(rig.proxy.port, 'http://news.example/fog.html');
    expect([refusalCode(answer), answer.headers.refresh]).toEqual(['reader-locked', '3;url=/fog.html']);
    await page.goto('about:blank'); // the page would look again in the middle of what comes next
  });

  it('says that a passphrase is wrong, forgets it, and after a few looks at none for a while', async () => {
    await pages.open();
    for (let turn = 1; turn <= LIMITS.wrongUnlocks; turn++) {
      await passphrase().fill(`wrong ${turn}`);
      await pages.press('Unlock');
      expect(await pages.alert()).toContain('passphrase-wrong');
      expect(await passphrase().inputValue()).toBe('');
      expect(await page.content()).not.toContain(`wrong ${turn}`);
      expect(page.url()).toBe(`${rig.proxy.page}unlock`);
    }
    await pages.look('locked-wrong');
    expect(rig.proxy.lock.isLocked).toBe(true);
  });

  it('opens with the right one, and leads on to the document that was wanted', async () => {
    await rig.restart({ mayStartLocked: true }); // the wrong ones above are forgotten
    await pages.open('/connect?site=news.example&path=/fog.html');
    expect(await pages.heading()).toBe('The Reader is locked');
    await passphrase().fill(PASSPHRASE);
    await pages.press('Unlock');
    expect(await pages.heading()).toBe('news.example is connected already');
    await page.getByRole('link', { name: 'Open news.example' }).click();
    expect(await pages.heading()).toBe('Fog');
    expect(JSON.stringify(rig.refusals)).not.toContain('right horse');
  });

  it('gives the document back by itself, in the tab that waited for it', async () => {
    const address = `${await rig.proxy.gatewayUrl('news.example')}fog.html#part`;
    await rig.proxy.lock.lock();
    const waiting = await pages.browser.newPage();
    await waiting.goto(address);
    expect(await waiting.textContent('h1')).toBe('The Reader is locked');
    await pages.open();
    await passphrase().fill(PASSPHRASE);
    await pages.press('Unlock');
    expect(await pages.heading()).toBe('Your sites');
    await expect.poll(() => waiting.textContent('h1')).toBe('Fog');
    await waiting.close();
  });

  it('leads nowhere else than to its own pages', async () => {
    await pages.open();
    await pages.press('Lock now');
    const token = /name="token" value="([^"]+)"/.exec(await page.content())?.[1] ?? '';
    for (const to of ['//evil.example/', 'http://evil.example/', '/connect?\r\nx: y', '/settings', '/connect?é']) {
      const body = new URLSearchParams({ token, passphrase: PASSPHRASE, to }).toString();
      const origin = rig.proxy.page.slice(0, -1);
      const headers = { host: new URL(origin).host, origin, 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await send(rig.proxy.port, '/unlock', { method: 'POST', headers, body });
      expect([answer.status, answer.headers.location]).toEqual([303, '/?done=unlocked']);
    }
    await pages.open('/?done=unlocked');
    expect(await page.textContent('[role=status]')).toBe('Unlocked.');
  });
});

it('a Reader whose key is on this computer is unlocked with a button alone', async () => {
  await protectIdentity({ ...rig.storage, passphrase: async () => PASSPHRASE }, { kind: 'key-file' });
  await rig.proxy.lock.lock();
  await pages.open();
  expect(await passphrase().count()).toBe(0);
  await pages.look('locked-key-file');
  await pages.press('Unlock');
  expect(await pages.heading()).toBe('Your sites');
});
