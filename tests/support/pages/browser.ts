/** Debian's Chromium, as a reader has it, and what a test wants to know of a page in it. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page, Request } from 'playwright-core';
import { launchChromium } from '../chromium.ts';

/** Folder for pictures of the pages; none are taken if it is not named. */
const SCREENSHOTS = process.env.WISPR_SCREENSHOTS;
const WIDTHS = [1280, 390];
const SCHEMES = ['dark', 'light'] as const;

/** @param proxy - URL of the forward proxy that it is set to use */
export function openBrowser(proxy?: string): Promise<Browser> {
  return proxy === undefined ? launchChromium() : launchChromium(`--proxy-server=${proxy}`);
}

/** A picture of one pixel: PNG. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

/** Opens the roots of shadow trees: a closed one, as the sheet has it, is out of reach of tests and of axe. */
export function openShadows(of: Pick<Page, 'addInitScript'>): Promise<unknown> {
  return of.addInitScript(() => {
    const { attachShadow } = Element.prototype;
    Element.prototype.attachShadow = function open(init) {
      return attachShadow.call(this, { ...init, mode: 'open' });
    };
  });
}

/** A page, and a record of what it asked for and complained about. */
export interface WatchedPage {
  readonly page: Page;
  /** Everything that went wrong: requests that failed or were answered with an error, errors in scripts and on the console. */
  readonly trouble: readonly string[];
  /** The origins of everything that was asked for. */
  readonly origins: ReadonlySet<string>;
}

/** A page in a context of its own: no cookies, nothing cached. */
export async function openPage(browser: Browser): Promise<WatchedPage> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const trouble: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    // Browsers request an icon by themselves.
    const wanted = !message.location().url.endsWith('/favicon.ico');
    if (message.type() === 'error' && wanted) trouble.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => trouble.push(`script: ${error.message}`));
  page.on('requestfailed', (request) => isGivenUp(request) || trouble.push(`${request.url()}: ${reasonOf(request)}`));
  page.on('response', (response) => response.status() < 400 || trouble.push(`${response.url()}: ${response.status()}`));
  page.on('request', (request) => request.url().startsWith('data:') || origins.add(new URL(request.url()).origin));
  return { page, trouble, origins };
}

/** The browser's own doing: a player seeks, or has read ahead far enough; the reader goes on to another page. */
function isGivenUp(request: Request): boolean {
  return reasonOf(request) === 'net::ERR_ABORTED';
}

function reasonOf(request: Request): string {
  return request.failure()?.errorText ?? 'failed';
}

/** The pictures of a page, once they are all there or have failed: their file names, and their widths, 0 for a failure. */
export function pictures(page: Page): Promise<{ name: string; width: number }[]> {
  return page.evaluate(async () => {
    const images = [...document.images];
    const settled = (image: HTMLImageElement) =>
      image.complete ||
      new Promise((resolve) => ['load', 'error'].map((event) => image.addEventListener(event, resolve)));
    await Promise.all(images.map(settled));
    return images.map((image) => ({
      name: decodeURIComponent(new URL(image.currentSrc).pathname.split('/').at(-1) ?? ''),
      width: image.naturalWidth,
    }));
  });
}

/** Plays a film, then jumps to a second near its end; returns what its player reports. */
export function playFilm(page: Page, selector: string): Promise<{ duration: number; played: boolean; at: number }> {
  return page.evaluate(async (wanted) => {
    const film = document.querySelector(wanted) as HTMLVideoElement;
    const next = (event: string) =>
      new Promise((resolve, reject) => {
        film.addEventListener(event, resolve, { once: true });
        film.addEventListener('error', () => reject(new Error(film.error?.message)), { once: true });
      });
    if (film.readyState < HTMLMediaElement.HAVE_METADATA) await next('loadedmetadata');
    film.muted = true;
    await film.play();
    while (film.currentTime < 0.2) await next('timeupdate');
    const played = !film.paused;
    const end = film.duration - 1;
    film.currentTime = end;
    await next('seeked');
    const at = film.currentTime - end;
    film.pause();
    return { duration: film.duration, played, at };
  }, selector);
}

/** Takes pictures of a page as it is, wide and narrow, dark and light, for people to look at. */
export async function takePictures(page: Page, name: string): Promise<void> {
  if (!SCREENSHOTS) return;
  await mkdir(SCREENSHOTS, { recursive: true });
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: join(SCREENSHOTS, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
  }
}
