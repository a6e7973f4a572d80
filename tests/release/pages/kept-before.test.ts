/** Pages that a browser kept from before it was connected: what cannot be mended, and the way that they cannot touch (docs/threat-model.md). */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../../support/chromium.ts';
import { forFile } from '../../support/for-file.ts';
import { startInvitedReader } from '../../support/invited-reader.ts';

const reader = forFile(startInvitedReader);
const browser = forFile(() => launchChromium(`--proxy-server=${reader.proxy.url}`));
let page: Page;
beforeAll(async () => {
  await reader.publisher.publish(reader.host.files, '/a.html', { content: '<h1>Signed</h1>' });
  page = await browser.newPage();
});

const shownAt = async (address: string) => {
  await page.goto(address);
  return page.textContent('h1');
};

it('the usual address shows it until it is cleared; the gateway never does', async () => {
  reader.host.handlers.set('/a.html', (_, response) => {
    const fields = { 'content-type': 'text/html', 'cache-control': 'max-age=31536000, immutable' };
    response.writeHead(200, fields).end('<h1>Planted</h1>');
  });
  expect(await shownAt('http://news.example/a.html')).toBe('Planted');

  await page.goto(reader.proxy.page);
  await page.getByLabel('Link or code of your invitation').fill(await reader.keyServer.invite());
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  expect(await page.textContent('[role=status]')).toContain('clear what it has stored');
  const gateway = await reader.proxy.gatewayUrl('news.example');
  expect(await shownAt(`${gateway}a.html`)).toBe('Signed');

  expect(await shownAt('http://news.example/a.html')).toBe('Planted'); // the Reader is not asked
  const session = await page.context().newCDPSession(page);
  await session.send('Network.clearBrowserCache');
  expect(await shownAt('http://news.example/a.html')).toBe('Signed');
});
