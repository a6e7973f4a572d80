/** The tour of `wispr serve` in a real browser, and any directory read back whole. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { readSite } from '../../../serve/reading.ts';
import { startServing, withWorld } from '../../../serve/serving.ts';
import { chooseSite } from '../../../serve/site.ts';
import { accessibilityProblems } from '../../support/axe.ts';
import { demoRuns } from '../../support/demo-runs.ts';
import { openBrowser, openPage } from '../../support/pages/browser.ts';

const runs = demoRuns();

test('open pages of the tour load again after an edit, follow links, and stay while a build is broken', async () => {
  put('index.html', '<!doctype html><title>Home</title><h1>First</h1><a href="deep/b.html">on</a>');
  put('deep/b.html', '<!doctype html><title>Deep</title><h1>Deep</h1>');
  const running = runs.start('serve', runs.sites(), '--port', '0', '--json');
  const { tour } = JSON.parse(await running.line(/^\{/));
  const browser = await openBrowser();
  try {
    const { page, trouble } = await openPage(browser);
    await page.goto(tour);
    await shows(page, 'First');
    put('index.html', '<!doctype html><title>Home</title><h1>Second</h1><a href="deep/b.html">on</a>');
    await shows(page, 'Second');
    rmSync(join(runs.sites(), 'index.html'));
    rmSync(join(runs.sites(), 'deep/b.html'));
    await expect.poll(() => running.stderr(), { timeout: 10_000 }).toContain('still watching');
    await shows(page, 'Second');

    put('index.html', '<!doctype html><title>Home</title><h1>Third</h1><a href="deep/b.html">on</a>');
    put('deep/b.html', '<!doctype html><title>Deep</title><h1>Deep</h1>');
    await shows(page, 'Third');
    await page.frameLocator('#page').locator('a').click();
    await shows(page, 'Deep');
    await expect.poll(() => page.textContent('#length')).toMatch(/^\/deep\/b\.html, /);
    await page.click('#change');
    await shows(page, 'This page arrived damaged');
    put('deep/b.html', '<!doctype html><title>Deep</title><h1>Deeper</h1><p>All of it.');
    await shows(page, 'Deeper'); // an edit also ends the damage
    await page.click('#stranger');
    await expect.poll(() => page.frameLocator('#page').locator('#read').count()).toBe(1);
    expect(await page.frameLocator('#page').locator('body').textContent()).not.toContain('All of it');
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(trouble.filter((line) => !line.includes('502'))).toEqual([]);
  } finally {
    await browser.close();
  }
  expect(await running.stop('SIGINT')).toMatchObject({ code: 0 });
  await runs.expectNothingLeft();
});

test('any directory comes back whole: nested folders, spaces, other scripts, an empty file, none with an extension', async () => {
  const files = [
    'page.html',
    'a/b/c/deep down.html',
    'a/Grüße aus 東京.txt',
    'LICENCE',
    '100% & more?.html',
    'ünï/#1.svg',
  ];
  for (const file of files) put(file, `content of ${file}`);
  put('empty', '');
  const settings = await chooseSite(runs.sites());
  await withWorld(settings, new AbortController().signal, async (world) => {
    const { person, published } = await startServing(world, { port: 0 });
    const paths = [...published.objects.keys()];
    expect(paths.sort()).toEqual([...files, 'empty'].map((file) => `/${file}`).sort());
    const { outcomes } = await readSite({ ...settings, proxy: person.proxy.url, paths });
    expect(outcomes.filter(({ same }) => !same)).toEqual([]);
  });
});

async function shows(page: Page, heading: string): Promise<void> {
  const shown = page.frameLocator('#page').locator('h1');
  await expect.poll(() => shown.textContent(), { timeout: 10_000 }).toBe(heading);
}

function put(file: string, content: string): void {
  mkdirSync(dirname(join(runs.sites(), file)), { recursive: true });
  writeFileSync(join(runs.sites(), file), content);
}
