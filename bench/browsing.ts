/** The newspaper as the in-browser reader shows it, and in clear on another nginx, in Debian's Chromium. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { startNginx } from '../cache-config/servers.ts';
import { chooseSite } from '../serve/site.ts';
import { World } from '../serve/world.ts';
import { launchChromium } from './chromium.ts';
import { temporaryFolder } from './workspace.ts';

/** A public page with a picture, the first frame of a film of {@link FILM_LENGTH} bytes. */
export const FILM_PAGE = '/front/film.html';
export const DOWNLOAD = '/front/download.bin';

const FILM = 'examples/newspaper/site/2026/11/17/film/high-water.webm';
const FILM_LENGTH = 50_000_000;
const DOWNLOAD_LENGTH = 200_000_000;

export interface Browsing {
  /** Origin at which documents are read. */
  readonly documents: string;
  readonly plain: string;
  readonly browser: Browser;
}

export async function whileBrowsing<Result>(work: (browsing: Browsing) => Promise<Result>): Promise<Result> {
  await using endings = new AsyncDisposableStack();
  return await work(await open(endings));
}

async function open(endings: AsyncDisposableStack): Promise<Browsing> {
  const settings = await chooseSite();
  const source = await temporaryFolder('bench-browsing', endings);
  await cp(settings.source ?? '', source, { recursive: true });
  await writeLarge(source);
  const world = await World.create({ ...settings, source });
  endings.defer(() => world.close());
  const keyServer = await world.startKeyServer();
  const host = await world.startContentHost(keyServer.readingUrl);
  await world.publish(keyServer, host.url);
  const plain = await startNginx({ root: source, readingOrigin: keyServer.readingUrl });
  endings.defer(() => plain.stop());
  const browser = await launchChromium([]);
  endings.defer(() => browser.close());
  return { documents: keyServer.documentsUrl, plain: plain.url, browser };
}

/** A film, made long by zeros behind its end, and random bytes. */
async function writeLarge(source: string): Promise<void> {
  const film = Buffer.alloc(FILM_LENGTH);
  (await readFile(FILM)).copy(film);
  await writeFile(join(source, 'front/film.webm'), film);
  const page = '<!doctype html><title>Film</title><video src="film.webm" muted preload="auto"></video>';
  await writeFile(join(source, 'front/film.html'), page);
  const bytes = Buffer.alloc(DOWNLOAD_LENGTH);
  for (let start = 0; start < bytes.length; start += 65_536)
    crypto.getRandomValues(bytes.subarray(start, start + 65_536));
  await writeFile(join(source, 'front/download.bin'), bytes);
}

/** A page of a browser that has never been anywhere. */
export async function newPage(browser: Browser): Promise<Page> {
  return (await browser.newContext()).newPage();
}

/** A page of the reading site's documents, in a browser that has installed the worker: it answers from here on. */
export async function pageWithWorker(browser: Browser, documents: string): Promise<Page> {
  const page = await newPage(browser);
  await page.goto(documents);
  await page.waitForFunction(
    async () => (await navigator.serviceWorker.getRegistration())?.active?.state === 'activated',
  );
  await loadedPage(page);
  await page.reload();
  return page;
}

export const loadedPage = (page: Page) =>
  page.waitForFunction(
    () =>
      document.readyState === 'complete' &&
      document.images.length > 0 &&
      [...document.images].every(({ complete }) => complete),
  );
