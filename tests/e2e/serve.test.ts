import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright-core';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../support/axe.ts';
import { demoRuns, viaProxy } from '../support/demo-runs.ts';
import { openBrowser, openPage } from '../support/pages/browser.ts';
import type { RunningProgram } from '../support/programs.ts';
import { inRelease } from '../support/tier.ts';
import { runWispr } from '../support/wispr.ts';

const runs = demoRuns();

describe('wispr serve', () => {
  test('shows a site as strangers, readers and the cache see it, and again after a change, until SIGTERM', async () => {
    const site = join(runs.sites(), 'build');
    put('build/index.html', page('Home', 'the first text'));
    put('build/style.css', 'body { color: teal }');
    // The wispr.json in the folder above is the publisher's: its settings count, its servers and targets are left alone.
    const settings = { site: 'paper.example', source: 'build', out: 'out', content: 'https://paper.example' };
    const more = { public: ['style.css'], publish: 'target', fallback: { language: 'de' } };
    put('wispr.json', JSON.stringify({ ...settings, ...more }));
    const running = runs.start('serve', site, '--port', '0', '--json');
    const { tour, stranger, reader, cache } = JSON.parse(await running.line(/^\{/));

    const teaser = await textOf(stranger);
    expect(teaser).toContain('<html lang="de">');
    expect(teaser).toContain('<title>Home</title>');
    expect(teaser).not.toContain('the first text');
    const style = await request(new URL('style.css', stranger));
    expect([style.headers['content-type'], await style.body.text()]).toEqual([
      'text/css; charset=utf-8',
      'body { color: teal }',
    ]);
    const object = (await request(cache)).headers.location as string;
    expect((await textOf(object)).slice(0, 8)).toBe('wispr/1\n');
    expect(await viaProxy(new URL(reader).origin.replace(/\/\/[^:]+/, '//127.0.0.1'), reader)).toEqual({ status: 200 });
    expect(await heldBy(tour)).toMatchObject({ path: '/index.html', open: false, cacheIs: 'honest' });

    const events = (await request(`${tour}events`)).body[Symbol.asyncIterator]();
    put('build/index.html', page('Home', 'the second text'));
    expect(String((await events.next()).value)).toBe('data: published\n\n');
    expect(await textOf((await heldBy(tour)).subscriber)).toContain('the second text');
    expect((await request(cache)).headers.location).not.toBe(object);

    rmSync(join(site, 'index.html'));
    rmSync(join(site, 'style.css')); // generators begin like this
    await said(running, 'still watching');
    expect(await textOf((await heldBy(tour)).subscriber)).toContain('the second text');

    expect(await textOf(tour, { host: `rebound.example:${new URL(tour).port}` })).toBe('');
    expect(await running.stop()).toMatchObject({ code: 0 });
    expect(existsSync(join(runs.sites(), 'target')) || existsSync(join(runs.sites(), 'out'))).toBe(false);
    await runs.expectNothingLeft();
  });

  test('names what keeps a site from being shown', async () => {
    const absent = await runWispr(['serve', join(runs.sites(), 'absent')]);
    expect(absent).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('there is no directory') });
    const empty = await runWispr(['serve', runs.sites()]);
    expect(empty).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('[source-refused]') });
    put('index.html', page('Home', ''));
    put('bad.protected', 'bad');
    const bad = await runWispr(['serve', runs.sites()]);
    expect(bad).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('/bad.protected') });
  });
});

inRelease(() => {
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
      await said(running, 'still watching');
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
});

async function shows(page: Page, heading: string): Promise<void> {
  const shown = page.frameLocator('#page').locator('h1');
  await expect.poll(() => shown.textContent()).toBe(heading);
}

function page(title: string, text: string): string {
  return `<!doctype html><title>${title}</title><p>${text}`;
}

function put(file: string, content: string): void {
  mkdirSync(dirname(join(runs.sites(), file)), { recursive: true });
  writeFileSync(join(runs.sites(), file), content);
}

async function textOf(url: string, headers = {}): Promise<string> {
  return (await request(url, { headers })).body.text();
}

async function heldBy(tour: string): Promise<{ path: string; subscriber: string }> {
  return JSON.parse(await textOf(`${tour}held`));
}

function said(running: RunningProgram, words: string): Promise<void> {
  return expect.poll(() => running.stderr()).toContain(words);
}
