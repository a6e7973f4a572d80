/** A newspaper with an issue to keep, in the in-browser reader, and a reader who has its keys. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { SiteSettings } from '../../../core/publication/settings.ts';
import { publish, type TestDocument } from '../publisher-with-sets.ts';
import { signOnto } from '../signed-publication.ts';
import { TEST_SETTINGS } from '../test-publication.ts';
import { startWebReaderRig, visit, type WebReaderRig } from '../web-reader-rig.ts';
import { openShadows, PIXEL } from './browser.ts';

const HTML = 'text/html; charset=utf-8';
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200"><path d="M0 0h200v200H0z" fill="#a3301d"/></svg>';
export const LOOK = { ...TEST_SETTINGS, accent: '#a3301d', logo: '/logo.svg' };
const page$ = (title: string, rest: string) =>
  `<!doctype html><html lang="en"><title>${title}</title><link rel="stylesheet" href="/style.css"><main><h1>${title}</h1>${rest}</main></html>`;

export interface Library {
  readonly rig: WebReaderRig;
  readonly page: Page;
}

export async function startLibrary(): Promise<Library> {
  const rig = await startWebReaderRig();
  rig.publisher.publication.setSettings(LOOK);
  const film = Buffer.alloc(17_000_000, 'film');
  const day1 = { mediaType: HTML, set: 'day-1' };
  const strict = { 'content-security-policy': "default-src 'none'" };
  const documents: TestDocument[] = [
    { path: '/index.html', content: page$('Front', '<a href="1/story.html">Story</a>'), mediaType: HTML },
    { path: '/style.css', content: 'h1 { color: rgb(1, 2, 3) } @import "more.css";', mediaType: 'text/css' },
    { path: '/more.css', content: 'p { color: rgb(1, 2, 4) }', mediaType: 'text/css' },
    { path: '/logo.svg', content: LOGO, mediaType: 'image/svg+xml' },
    { path: '/unused.html', content: '<h1>Not of the issue</h1>', mediaType: HTML },
    { ...day1, path: '/1/story.html', content: page$('Fish &amp; chips', '<img src="boat.png" alt="A boat">') },
    { path: '/1/boat.png', content: PIXEL, mediaType: 'image/png', set: 'day-1' },
    { path: '/1/second page.html', content: page$('Second', ''), mediaType: HTML, set: 'day-1', gzip: true },
    { path: '/1/film.webm', content: film, mediaType: 'video/webm', set: 'day-1' },
    { ...day1, path: '/1/strict.html', content: page$('Strict', ''), headers: strict },
    { path: '/2/other.html', content: page$('Other', ''), mediaType: HTML, set: 'day-2' },
  ];
  await publish(rig.publisher, rig.host, ...documents);
  const permissions = ['clipboard-read', 'clipboard-write'];
  const context = await rig.browser.newContext({ ignoreHTTPSErrors: true, permissions });
  await openShadows(context);
  const page = await context.newPage();
  await visit(page, `${rig.documents}/`, 'h1:text("Front")');
  await rig.giveKeys(page, ['day-1']);
  return { rig, page };
}

const now = () => Math.floor(Date.now() / 1000);

/** Publishes anew, with a word that counts for so many seconds, and waits until the reader has it. @returns until when it counts */
export async function publishFor(library: Library, seconds: number, settings: SiteSettings): Promise<number> {
  const { publication } = library.rig.publisher;
  publication.setSettings(settings);
  await signOnto(publication, library.rig.host.files);
  const [version, expires] = [now(), now() + seconds];
  await publication.publishTimestamp(now(), { version, expires });
  for (const [path, bytes] of publication.files) library.rig.host.files.set(path, bytes);
  await openUntil(library, '/1/story.html', 'wispr-confirmed', new Date(version * 1000).toUTCString());
  await library.page.waitForFunction('document.querySelector("img").naturalWidth === 1');
  return expires;
}

/** Opens a page again until it is shown, or refused, as is wanted. */
export async function openUntil(
  { rig, page }: Library,
  path: string,
  header: string,
  value: string | undefined,
): Promise<void> {
  await page.goto(rig.documents + path);
  const reload = async () => (await page.reload())?.headers()[header];
  await expect.poll(reload, { interval: 300, timeout: 15_000 }).toBe(value);
}

/** Nothing answers: neither content hosts nor this origin. */
export async function withoutNetwork({ rig, page }: Library, work: () => Promise<void>): Promise<void> {
  const { files, handlers } = rig.host;
  for (const path of files.keys()) handlers.set(path, ({ socket }) => void socket.destroy());
  await page.context().setOffline(true);
  try {
    await work();
  } finally {
    handlers.clear();
    await page.context().setOffline(false);
  }
}
