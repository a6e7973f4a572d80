/** "Open in the wispr Reader app" in Chromium: from pages for browsers without a Reader to the Reader's own, which asks before anything happens. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { barOf } from '../../../teaser/bar.ts';
import { fallbackPageOf } from '../../../teaser/fallback-page.ts';
import { readPage } from '../../../teaser/page.ts';
import { builtInTemplate } from '../../../teaser/render.ts';
import { accessibilityProblems } from '../../support/axe.ts';
import { launchChromium } from '../../support/chromium.ts';
import { type InvitedReader, startInvitedReader } from '../../support/invited-reader.ts';
import { type Rig, startRig } from '../../support/keyserver-rig.ts';
import { takePictures } from '../../support/pages/browser.ts';
import { publish } from '../../support/publisher-with-sets.ts';

const PATH = '/2026/café & co/100% fog.html';
const URL_PATH = '/2026/caf%C3%A9%20%26%20co/100%25%20fog.html';

let reader: InvitedReader;
let keyServer: Rig;
let browser: Browser;
let page: Page;
beforeAll(async () => {
  [reader, keyServer, browser] = await Promise.all([startInvitedReader(), startRig(), launchChromium()]);
  const { publisher, host } = reader;
  await publisher.publish(host.files, PATH, { content: '<title>Fog</title><h1>Fog at last</h1>' });
  const document = { path: PATH, content: '<title>Fog</title>', mediaType: 'text/html; charset=utf-8', set: 'day-1' };
  await publish(keyServer.publisher, keyServer.host, document);
  const { teaser } = readPage(Buffer.from('<title>Fog</title>'));
  const settings = { publisher: 'The News', site: publisher.site, content: host.origin, reading: publisher.reading };
  const made = fallbackPageOf(PATH, teaser, settings);
  const html = builtInTemplate.render(made, barOf(made, {}));
  host.handlers.set(URL_PATH, (_, response) => void response.setHeader('content-type', 'text/html').end(html));
  page = await browser.newPage();
  // Links name the usual port, which a test cannot be sure to get: the browser is sent on to the one that this Reader has.
  await page.route('http://localhost:8001/**', (route) => {
    const { pathname, search } = new URL(route.request().url());
    return route.fulfill({ status: 307, headers: { location: reader.proxy.page.slice(0, -1) + pathname + search } });
  });
});
afterAll(async () => {
  await browser.close();
  await reader.close();
  await keyServer.close();
});

const heading = () => page.textContent('h1');
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const openInReader = () => page.getByRole('link', { name: 'Open in the wispr Reader app' });

describe('"Open in the wispr Reader app" on a fallback page', () => {
  it('asks for the invitation where the site is not connected, and connects nothing by itself', async () => {
    await page.goto(reader.host.origin + URL_PATH);
    await takePictures(page, 'fallback-open-in-reader');
    expect(await accessibilityProblems(page)).toEqual([]);
    await openInReader().click();
    await page.waitForURL(`${reader.proxy.page}connect?**`);
    expect(await page.textContent('main')).toContain('To read news.example in the Reader');
    expect(await reader.proxy.sites()).toEqual([]);
    expect(reader.keyServer.bodies).toEqual([]);
  });

  it('leads back to the very document once the site is connected, past a mistake on the way', async () => {
    await page.getByLabel('Link or code of your invitation').fill('what is this');
    await press('Continue');
    expect(await page.textContent('[role=alert]')).toContain('link-malformed');
    await page.getByLabel('Link or code of your invitation').fill(await reader.keyServer.invite());
    await press('Continue');
    await press('Connect');
    expect(await heading()).toBe('news.example is connected');
    expect(await page.textContent('[role=status]')).toContain('Connected');
    await takePictures(page, 'open-in-reader-connected');
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'Open news.example' }).click();
    expect(await heading()).toBe('Fog at last');
    expect(page.url()).toBe(`${await reader.proxy.gatewayUrl('news.example')}${URL_PATH.slice(1)}`);
  });
});

it('"Open in the wispr Reader app" on the reading site is offered in front of a document, and leads to it', async () => {
  await page.goto(keyServer.server.readingUrl + URL_PATH);
  expect(await heading()).toBe('Fog');
  await takePictures(page, 'reading-open-in-reader');
  expect(await accessibilityProblems(page)).toEqual([]);
  await openInReader().click();
  await page.waitForURL(`${reader.proxy.page}connect?**`);
  expect(await heading()).toBe('news.example is connected already');
  await takePictures(page, 'open-in-reader-known');
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('link', { name: 'Open news.example' }).click();
  expect(await heading()).toBe('Fog at last');
  expect(page.url()).toBe(`${await reader.proxy.gatewayUrl('news.example')}${URL_PATH.slice(1)}`);
});
