/** Acts of a reader with applications whose pages are not ours, and what they show then. Each begins with an empty page. */

import { stat } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** @param at - where the site is */
export type Drive = (page: Page, at: string) => Promise<unknown>;

/** Milliseconds, for a busy machine on which Python starts four times at once. */
export const PATIENCE = 180_000;

/** Waits for a page of ours to say what it has shown. */
export async function resultOn(page: Page): Promise<unknown> {
  // Asked from outside: a page's policy may forbid what waits inside.
  await expect
    .poll(() => page.evaluate('window.result !== undefined').catch(() => false), { timeout: PATIENCE })
    .toBe(true);
  return page.evaluate('window.result');
}

const textOf = async (page: Page, selector: string) => (await page.locator(selector).first().textContent())?.trim();

/** Links that save what they lead to. */
export const download: Drive = async (page, at) => {
  await page.goto(`${at}/download.html`);
  const saved: [string, number][] = [];
  for (const link of await page.locator('a').all()) {
    const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
    saved.push([file.suggestedFilename(), (await stat(await file.path())).size]);
  }
  return saved;
};

/** A link within, and a page that is there in the browser's history only. */
export const history: Drive = async (page, at) => {
  await page.goto(`${at}/vue/`);
  await page.click('text=Read on');
  const shown = [await textOf(page, 'h1'), page.url().replace(at, '')];
  await page.goto(`${at}/vue/chapter/3`);
  return [...shown, await textOf(page, 'h1')];
};

/** Opens an app twice, as its service worker takes over the second time, and a page beside it. */
export const progressive: Drive = async (page, at) => {
  const shown: (string | null)[] = [];
  for (const [path, place] of [
    ['/pwa/', '#app'],
    ['/pwa/', '#app'],
    ['/lunr.html', 'title'],
  ] as const) {
    await page.goto(at + path);
    await page.waitForTimeout(2_000);
    shown.push(await page.textContent(place));
  }
  return shown;
};

export const storybook: Drive = async (page, at) => {
  await page.goto(`${at}/storybook/?path=/story/tide--high`);
  const story = page.frameLocator('#storybook-preview-iframe');
  const first = await story.locator('#storybook-root h1').textContent();
  await page.goto(`${at}/storybook/?path=/story/tide--high&args=height:8`);
  await story.locator('h1:text("8 metres")').waitFor();
  return [first, await textOf(page, '[data-item-id="tide--high"]')];
};

export const material: Drive = async (page, at) => {
  await page.goto(`${at}/mkdocs/`);
  await page.click('.md-search__input');
  await page.keyboard.type('machine');
  await page.click('.md-search-result__link');
  await page.waitForSelector('h1:has-text("The great tide")');
  return page.url().replace(at, '');
};

export const sphinx: Drive = async (page, at) => {
  await page.goto(`${at}/sphinx/search.html?q=machine`);
  return textOf(page, '#search-results li a');
};

export const jupyterBook: Drive = async (page, at) => {
  await page.goto(`${at}/jupyter-book/tide.html`);
  const title = await textOf(page, 'h1:has-text("tide")');
  await page.goto(`${at}/jupyter-book/search.html?q=machine`);
  return [title, await textOf(page, '#search-results li a')];
};

/** Ends service workers of other versions of itself. */
export const jupyterLite: Drive = async (page, at) => {
  await page.goto(`${at}/jupyterlite/lab/index.html`);
  await page.waitForSelector('.jp-Launcher');
  await page.goto(`${at}/lunr.html`);
  return resultOn(page);
};
