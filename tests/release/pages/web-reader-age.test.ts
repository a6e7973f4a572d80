/** The in-browser reader over time: what is stale, expired or withdrawn, and what is read without a network. */
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { publish } from '../../support/publisher-with-sets.ts';
import { startWebReaderRig, visit, type WebReaderRig } from '../../support/web-reader-rig.ts';

const DAY = 86_400;
const HTML = 'text/html; charset=utf-8';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

let rig: WebReaderRig;
let page: Page;
beforeAll(async () => {
  rig = await startWebReaderRig();
  // The reading site would remember what the hosts take back here.
  rig.server.publications.bundleOf = async () => gzipSync('{}');
  for (const document of [
    { path: '/index.html', content: '<h1>Front</h1>', mediaType: HTML },
    { path: '/story.html', content: '<h1>Story</h1><img src="boat.png">', mediaType: HTML, set: 'day-1' },
    { path: '/boat.png', content: Buffer.from(PIXEL, 'base64'), mediaType: 'image/png', set: 'day-1' },
    { path: '/unread.html', content: '<h1>Unread</h1>', mediaType: HTML, set: 'day-1' },
  ])
    await publish(rig.publisher, rig.host, document);
});
afterEach(() => page?.context().close());
afterAll(() => rig?.closeAll());

const now = () => Math.floor(Date.now() / 1000);
const open = (path: string) => page.goto(rig.documents + path);

/** Confirms the publication as of so many seconds ago, for two days from then. */
async function confirmedAgo(age: number): Promise<void> {
  const { publication } = rig.publisher;
  await publication.publishTimestamp(now(), { version: now() - age, expires: now() - age + 2 * DAY });
  putOnHost();
}

function putOnHost(): void {
  for (const [path, bytes] of rig.publisher.publication.files) rig.host.files.set(path, bytes);
}

it('shows what was not confirmed lately after a word, once in a while', async () => {
  await confirmedAgo(3 * DAY);
  page = await rig.newPage();
  await visit(page, `${rig.documents}/`, 'a:text("Read on")');
  expect(await page.textContent('h1')).toMatch(/^news\.example was up to date 3 days ago/);
  await page.click('a');
  await page.waitForSelector('h1:text("Front")');
  await rig.giveKeys(page, ['day-1']);
  const response = await open('/story.html');
  expect(await page.textContent('h1')).toBe('Story');
  const confirmed = Date.parse(response?.headers()['wispr-confirmed'] ?? '') / 1000;
  expect(now() - confirmed).toBeGreaterThan(3 * DAY - 1);
});

it('shows nothing that was not confirmed within its grace', async () => {
  await confirmedAgo(10 * DAY);
  page = await rig.newPage();
  await visit(page, `${rig.documents}/story.html`, 'a:text("Try again")');
  expect(await page.textContent('code')).toBe('publication-expired');
  await confirmedAgo(60);
  await page.waitForTimeout(1100); // a look a second
  await page.click('a');
  await page.waitForSelector('h1:not(:text("Try again"))');
});

it('opens what was read, and nothing else, when no content host answers', async () => {
  await confirmedAgo(30);
  page = await rig.newPage();
  await visit(page, `${rig.documents}/`, 'h1:text("Front")');
  await rig.giveKeys(page, ['day-1']);
  await open('/story.html');
  await page.waitForFunction('document.querySelector("img").naturalWidth === 1');
  const kept = `caches.open('wispr-objects').then((cache) => cache.keys()).then((names) => names.length)`;
  await expect.poll(() => page.evaluate(kept)).toBe(3);
  const { files, handlers } = rig.host;
  const had = new Map(files);
  files.clear();
  for (const path of had.keys()) handlers.set(path, ({ socket }) => void socket.destroy());
  await open('/story.html');
  await page.waitForFunction('document.querySelector("img").naturalWidth === 1');
  expect((await open('/unread.html'))?.status()).toBe(502);
  expect(await page.textContent('code')).toMatch(/^content-host-/);
  handlers.clear();
  for (const [path, bytes] of had) files.set(path, bytes);
});

it('shows nothing of a publication that was withdrawn, also not what is kept', async () => {
  await confirmedAgo(20);
  page = await rig.newPage();
  await visit(page, `${rig.documents}/`, 'h1:text("Front")');
  await rig.giveKeys(page, ['day-1']);
  await open('/story.html');
  const { publication } = rig.publisher;
  await publication.close(now(), { version: now() - 10, expires: now() + DAY });
  putOnHost();
  await page.waitForTimeout(1100); // a look a second
  await page.reload();
  expect(await page.textContent('code')).toBe('publication-withdrawn');
  expect((await open('/'))?.status()).toBe(502);
});

it('opens what was read when nothing answers at all, the key server neither', async () => {
  await publish(rig.publisher, rig.host, { path: '/index.html', content: '<h1>Front again</h1>', mediaType: HTML });
  page = await rig.newPage();
  await visit(page, `${rig.documents}/`, 'h1:text("Front again")');
  await rig.giveKeys(page, ['day-1']);
  await open('/story.html');
  await page.waitForFunction('document.querySelector("img").naturalWidth === 1');
  await Promise.all([rig.server.close(), rig.host.close()]);
  await open('/story.html');
  await page.waitForFunction('document.querySelector("img").naturalWidth === 1');
  await open('/');
  expect(await page.textContent('h1')).toBe('Front again');
  expect((await open('/unread.html'))?.status()).toBe(502);
});
