/** Loading of a page in Chromium: no other page counts. */
import type { Page } from 'playwright-core';
import { milliseconds } from '../../bench/measure.ts';

/** Time longer than the slowest page takes. */
const TIMEOUT = 180_000;
const POLL = 20;

/** A page, and the last headline on it, which neither teasers nor error pages have. */
export interface Load {
  readonly path: string;
  readonly headline: string;
}

/** @returns milliseconds until the page is there with its pictures @throws Error where another status or page is answered */
export async function load(page: Page, origin: string, { path, headline }: Load): Promise<number> {
  page.setDefaultTimeout(TIMEOUT);
  return milliseconds(async () => {
    const response = await page.goto(origin + path, { waitUntil: 'commit' });
    if (response?.status() !== 200) throw new Error(`${origin}${path} was answered with ${response?.status()}`);
    await page.waitForFunction(isLoaded, headline, { polling: POLL });
  });
}

function isLoaded(headline: string): boolean {
  return (
    document.readyState === 'complete' &&
    document.body.textContent.includes(headline) &&
    [...document.images].every(({ complete }) => complete)
  );
}
