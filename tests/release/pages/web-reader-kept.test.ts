/** Keeping, in Chromium: the home screen, pages without the button, removing, and where there is no room. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchWithProfile } from '../../support/chromium.ts';
import { temporaryFolder } from '../../support/keyserver-rig.ts';
import { PIXEL } from '../../support/pages/browser.ts';
import { type Library, LOOK, startLibrary } from '../../support/pages/library.ts';
import { fileOf } from '../../support/publisher-with-sets.ts';
import { signOnto } from '../../support/signed-publication.ts';
import { visit, type WebReaderRig } from '../../support/web-reader-rig.ts';

let library: Library;
let rig: WebReaderRig;
let page: Page;
beforeAll(async () => {
  library = await startLibrary();
  ({ rig, page } = library);
  await open('/1/story.html');
  await page.evaluate(`fetch('/-/kept?keep=/1/story.html&title=One', { method: 'POST' })`);
});
afterAll(() => rig?.close());

const open = (path: string) => page.goto(rig.documents + path);

it('can be put onto the home screen', async () => {
  const context = await launchWithProfile(temporaryFolder(), ...rig.settings);
  const [library = await context.newPage()] = context.pages();
  await visit(library, `${rig.documents}/`, 'h1:text("Front")');
  await library.goto(`${rig.documents}/-/library`);
  await library.waitForSelector('h1:text("Saved pages")');
  const devtools = await context.newCDPSession(library);
  expect(await devtools.send('Page.getInstallabilityErrors')).toEqual({ installabilityErrors: [] });
  const { url, data = '', errors } = await devtools.send('Page.getAppManifest');
  expect([url, errors]).toEqual([`${rig.documents}/-/app.webmanifest`, []]);
  expect(JSON.parse(data)).toMatchObject({ name: 'The Harbour News', start_url: '/', theme_color: '#a3301d' });
  expect(JSON.parse(data).icons[0]).toMatchObject({ src: '/logo.svg' });
  await library.waitForSelector('button:text("Add to home screen")');
  await context.close();
});

it('has no button where the publisher wants none, on nothing but whole pages, and where the policy of a page forbids it', async () => {
  const scripts = () => page.locator('script[src^="/-/sheet.js"]').count();
  await open('/1/strict.html');
  expect([await scripts(), await page.locator('[aria-label="About this page"]').count()]).toEqual([1, 0]);
  const fetched = await page.goto(`${rig.documents}/1/boat.png`);
  expect((await fetched?.body())?.length).toBe(PIXEL.length);
  await open('/1/story.html');
  const inPage = await page.evaluate(`fetch('/1/story.html').then((answer) => answer.text())`);
  expect(inPage).not.toContain('sheet.js');
  rig.publisher.publication.setSettings({ ...LOOK, sheet: false });
  await signOnto(rig.publisher.publication, rig.host.files);
  await page.waitForTimeout(1100); // a look a second
  await page.reload();
  expect(await scripts()).toBe(0);
});

it('removes one issue, or everything', async () => {
  const names = () => page.evaluate('caches.keys()') as Promise<string[]>;
  await open('/-/library');
  await page.click('article >> text=Remove');
  await page.waitForSelector('article', { state: 'detached' });
  expect((await names()).filter((name) => name.startsWith('wispr-issue'))).toEqual([]);
  await page.waitForSelector('h2:text("Only what you opened")');
  await page.click('text=Remove everything kept');
  await page.waitForSelector('text=Nothing is saved here yet');
  expect(await names()).toEqual(['wispr-own']);
});

it('says where there is no room, and keeps all but a document that is no good', async () => {
  const keep = async () => {
    await open('/1/story.html');
    await page.evaluate(`fetch('/-/kept?keep=/1/story.html&title=One', { method: 'POST' })`);
    await open('/-/library');
  };
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: rig.documents, quotaSize: 1_000 });
  await keep();
  await page.waitForSelector('article p:has-text("there is no room on this device")');
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: rig.documents });
  rig.host.handlers.set(fileOf(rig.publisher, '/1/second page.html'), (_request, response) =>
    response.writeHead(200, { 'access-control-allow-origin': '*' }).end('no'),
  );
  await keep();
  await page.waitForSelector('article p:has-text("6 of 8, film not kept (17 MB)")');
  rig.host.handlers.clear();
  await page.click('text=Keep the rest');
  await page.waitForSelector('article p:has-text("7 of 8, film not kept (17 MB)")');
  await page.click('text=Remove everything kept');
  await page.waitForSelector('text=Nothing is saved here yet');
});
