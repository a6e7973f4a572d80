/** Stories in the in-browser reader, and how a reader meets them. */
import { readFile } from 'node:fs/promises';
import type { Page, Response } from 'playwright-core';
import { expect } from 'vitest';
import { publish, type TestDocument } from '../publisher-with-sets.ts';
import { startWebReaderRig, visit, type WebReaderRig } from '../web-reader-rig.ts';
import { PIXEL } from './browser.ts';

export const FILM = 'examples/newspaper/site/2026/11/17/film/high-water.webm';
const HTML = 'text/html; charset=utf-8';
const STORY = `<!doctype html><title>The harbour</title><link rel="stylesheet" href="../style.css">
  <h1>The harbour</h1><img src="boat.png" alt="A boat"><p style="height: 3000px">Ships</p><h2 id="quay">The quay</h2>
  <script src="/script.js"></script>`;

/** A content host with the stories, and Chromium. */
export async function startStories(): Promise<WebReaderRig> {
  const rig = await startWebReaderRig();
  await publishStories(rig);
  return rig;
}

export async function publishStories({ publisher, host }: Pick<WebReaderRig, 'publisher' | 'host'>): Promise<void> {
  const headers = { 'content-language': 'en-GB', 'content-security-policy': "default-src 'self' 'unsafe-inline'" };
  const documents: TestDocument[] = [
    { path: '/index.html', content: '<h1>Front</h1><a href="20/story.html">Story</a>', mediaType: HTML },
    { path: '/20/story.html', content: STORY, mediaType: HTML, set: 'day-1', gzip: true, headers },
    { path: '/20/boat.png', content: PIXEL, mediaType: 'image/png', set: 'day-1' },
    { path: '/style.css', content: 'h1 { color: rgb(1, 2, 3) }', mediaType: 'text/css' },
    { path: '/script.js', content: 'document.title += " (script)"', mediaType: 'text/javascript' },
    { path: '/20/film.html', content: '<h1>Film</h1><video src="film.webm"></video>', mediaType: HTML, set: 'day-1' },
    { path: '/20/film.webm', content: await readFile(FILM), mediaType: 'video/webm', set: 'day-1' },
    { path: '/21/story.html', content: '<h1>Tomorrow</h1>', mediaType: HTML, set: 'day-2' },
  ];
  await publish(publisher, host, ...documents);
}

/** A reader who has been here, and has the keys of these sets. */
export async function readerWith(rig: WebReaderRig, ...sets: string[]): Promise<Page> {
  const page = await rig.newPage();
  await visit(page, `${rig.documents}/`, 'h1:text("Front")');
  await rig.giveKeys(page, sets);
  return page;
}

/** Writes into the store of the documents' origin, as pages of it can. */
export function putState(page: Page, name: string, value: unknown): Promise<unknown> {
  return page.evaluate(`new Promise((resolve) => {
    const opening = indexedDB.open('wispr');
    opening.onsuccess = () => {
      const rows = opening.result.transaction('state', 'readwrite').objectStore('state');
      rows.put(${JSON.stringify(value)}, '${name}').onsuccess = () => resolve();
    };
  })`);
}

export async function expectStory(page: Page): Promise<void> {
  await expect.poll(() => page.title()).toBe('The harbour (script)');
  expect(await page.evaluate('document.querySelector("img").naturalWidth')).toBe(1);
  expect(await page.evaluate('getComputedStyle(document.querySelector("h1")).color')).toBe('rgb(1, 2, 3)');
}

/** Insists on a page of one sentence that names the code, and holds nothing of a document. */
export async function expectRefusal(
  page: Page,
  response: Response | null,
  status: number,
  code: string,
  button: string = 'Try again',
): Promise<void> {
  expect([response?.status(), response?.headers()['wispr-refusal']]).toEqual([status, code]);
  expect(await page.textContent('code')).toBe(code);
  expect(await page.isVisible('code')).toBe(false);
  expect(await page.locator('a.b').allTextContents()).toEqual([button]);
  expect(await page.textContent('header')).toBe('The Harbour News');
  expect(await page.content()).not.toContain('Ships');
}
