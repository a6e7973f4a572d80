import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../support/axe.ts';
import { launchChromium } from '../support/chromium.ts';
import { demoRuns, KEYS, stepsOf, viaProxy } from '../support/demo-runs.ts';
import { IS_RELEASE } from '../support/tier.ts';

const runs = demoRuns();

describe('wispr demo', () => {
  test('--once --json prints where things were, and a summary', async () => {
    const { code, stdout, stderr } = await runs.run('demo', '--once', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [addresses, summary, ...more] = stepsOf(stdout).map((line) => JSON.parse(line));
    expect(more).toEqual([]);
    expect(Object.keys(addresses)).toEqual(KEYS);
    expect(summary).toMatchObject({ good: true, different: [], readers: 2, same: 2 * summary.documents });
    expect(summary.refusal).toBe('block-digest');
    expect(summary.documents).toBeGreaterThan(30);
    expect(summary.hostRequests[0]).toBeGreaterThanOrEqual(summary.documents);
    expect(summary.hostRequests[1]).toBe(0);
    await runs.expectNothingLeft();
  });

  test('says what to try, with addresses that answer, until Ctrl-C', async () => {
    const running = runs.start('demo');
    const [, proxy = '', url = ''] = /curl -x (\S+) (\S+)/.exec(await running.line(/curl -x /)) ?? [];
    expect(await viaProxy(proxy, url)).toEqual({ status: 200 });
    const [, object = ''] = /curl (http\S+\.protected) /.exec(await running.line(/\.protected/)) ?? [];
    expect((await body(object)).subarray(0, 8).toString()).toBe('wispr/1\n');
    const [, tour = ''] = /the tour +(\S+)/.exec(running.stdout()) ?? [];
    if (IS_RELEASE) await takeTour(tour); // in a browser, which takes as long as all before it
    const { code, stderr } = await running.stop('SIGINT');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await runs.expectNothingLeft();
  });
});

/** The page as its subscriber sees it, refused when the cache changes a byte, and there again. */
async function takeTour(url: string): Promise<void> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(url);
    const shown = page.frameLocator('#page').locator('h1');
    await expect.poll(() => shown.textContent()).toBe('Fog signed for, delivered to the wrong island');
    expect(await page.textContent('#bytes')).toMatch(/^77 69 73 70 72 2f 31 0a .*wispr/);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.click('#change');
    await expect.poll(() => shown.textContent()).toBe('This page arrived damaged');
    expect(await page.textContent('.changed')).toMatch(/^[0-9a-f]{2}$/);
    await page.click('#restore');
    await expect.poll(() => shown.textContent()).toBe('Fog signed for, delivered to the wrong island');
    const [opened] = await Promise.all([page.context().waitForEvent('page'), page.click('#phone')]);
    await opened.waitForSelector('text=as cleo');
  } finally {
    await browser.close();
  }
}

async function body(url: string): Promise<Buffer> {
  return Buffer.from(await (await request(url)).body.arrayBuffer());
}
