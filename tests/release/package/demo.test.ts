import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../../support/axe.ts';
import { launchChromium } from '../../support/chromium.ts';
import { type Addresses, demoRuns, KEYS, stepsOf, viaProxy } from '../../support/demo-runs.ts';
import { listeningOn, processesIn, ROOT, startCommand } from '../../support/programs.ts';

const runs = demoRuns();

describe('wispr demo', () => {
  test('--once --json prints where things were, and a summary', async () => {
    const { code, stdout, stderr } = await runs.run('demo', '--once', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [addresses, summary, ...more] = stepsOf(stdout).map((line) => JSON.parse(line));
    expect(more).toEqual([]);
    expect(Object.keys(addresses)).toEqual(KEYS);
    expect(summary).toMatchObject({ good: true, sold: true, different: [], readers: 2, same: 2 * summary.documents });
    expect(summary.refusal).toBe('block-digest');
    expect(summary.documents).toBeGreaterThan(30);
    expect(summary.hostRequests[0]).toBeGreaterThanOrEqual(summary.documents);
    expect(summary.hostRequests[1]).toBe(0);
    await runs.expectNothingLeft();
  });
});

test('says what to try, with addresses that answer, until Ctrl-C', async () => {
  const running = runs.start('demo');
  const [, proxy = '', url = ''] = /curl -x (\S+) (\S+)/.exec(await running.line(/curl -x /)) ?? [];
  expect(await viaProxy(proxy, url)).toEqual({ status: 200 });
  const [, object = ''] = /curl (http\S+\.protected) /.exec(await running.line(/\.protected/)) ?? [];
  expect((await body(object)).subarray(0, 8).toString()).toBe('wispr/1\n');
  const [, tour = ''] = /the tour +(\S+)/.exec(running.stdout()) ?? [];
  await takeTour(tour);
  const { code, stderr } = await running.stop('SIGINT');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  await runs.expectNothingLeft();
});

describe('npm run demo', () => {
  test('--once prints the journey in six to twelve lines, and ends well', async () => {
    const { code, stdout, stderr } = await runs.run('demo', '--once');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const steps = stepsOf(stdout);
    expect(steps.length).toBeGreaterThanOrEqual(6);
    expect(steps.length).toBeLessThanOrEqual(12);
    for (const [index, step] of steps.entries()) expect(step).toMatch(new RegExp(`^ ?${index + 1}  \\S`));
    expect(steps.at(-4)).toContain('block-digest');
    expect(steps.at(-1)).toContain('eve@example.org is among the subscribers');
    await runs.expectNothingLeft();
  });

  test('--json stays up, every address answers, and everything ends when npm is stopped', async () => {
    const running = runs.stays(
      startCommand(['npm', 'run', '--silent', 'demo', '--', '--json'], { env: runs.env(), cwd: ROOT }),
    );
    const addresses: Addresses = JSON.parse(await running.line(/^\{/));
    expect(Object.keys(addresses)).toEqual(KEYS);
    await expectAllAnswer(addresses);
    const { site, ...local } = addresses;
    const ports = Object.values(local).map((url) => Number(new URL(url).port));
    const sockets = listeningOn(ports);
    expect(sockets.length).toBeGreaterThanOrEqual(5); // proxy and gateway share one
    expect(processesIn(runs.folder()).length).toBeGreaterThan(0);

    const { stdout } = await running.stop('SIGTERM');
    expect(stdout).toBe(`${JSON.stringify(addresses)}\n`);
    expect(listeningOn(ports).filter((inode) => sockets.includes(inode))).toEqual([]);
    await runs.expectNothingLeft();
  });

  test('ends cleanly when it is stopped while it starts', async () => {
    const running = runs.start('demo');
    await running.line(/^ 1 /);
    const { code, stderr } = await running.stop();
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    await runs.expectNothingLeft();
  });
});

/** Takes four steps: a stranger finds a page and buys it; the page is refused only while the cache changes a byte; the office sees who has bought. */
async function takeTour(url: string): Promise<void> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(url);
    const shown = page.frameLocator('#page').locator('h1');
    await expect.poll(() => shown.textContent()).toBe('Fog signed for, delivered to the wrong island');
    expect(await page.textContent('#bytes')).toMatch(/^77 69 73 70 72 2f 31 0a .*wispr/);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(await page.textContent('#bought')).toBe('');
    const [phone] = await Promise.all([page.context().waitForEvent('page'), page.click('#content')]);
    await phone.click('a[href*="/-/subscribe"]');
    await phone.click('#subscribe button');
    await phone.fill('#email', 'gil@example.org');
    await phone.click('text=Pay');
    await phone.waitForSelector('text=Somebody has to be in.');
    await page.waitForSelector('#bought:has-text("gil@example.org bought “Weekday paper”.")');
    await page.waitForSelector('#mail:has-text("Mail to gil@example.org")');

    await page.click('#change');
    await expect.poll(() => shown.textContent()).toBe('This page arrived damaged');
    await page.reload();
    await expect.poll(() => shown.textContent()).toBe('This page arrived damaged');
    expect(await page.textContent('#said')).toContain('The cache changed the last byte');
    expect(await page.textContent('.changed')).toMatch(/^[0-9a-f]{2}$/);
    await page.click('#restore');
    await expect.poll(() => shown.textContent()).toBe('Fog signed for, delivered to the wrong island');
    // Opened by the browser itself, and kept.
    await expect.poll(async () => (await phone.reload())?.fromServiceWorker(), { timeout: 30_000 }).toBe(true);
    await phone.waitForSelector('text=Somebody has to be in.');
    await page.click('#cut');
    await page.waitForSelector('#said:has-text("does not answer")');
    await phone.reload();
    await phone.waitForSelector('text=Somebody has to be in.');
    await page.click('#restore');

    await page.click('#look');
    await page.frameLocator('#page').locator('text=gil@example.org').waitFor();
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      const overflow = await page.evaluate(() =>
        [document.documentElement, document.querySelector('#bytes')].map(
          (each) => (each?.scrollWidth ?? 0) - (each?.clientWidth ?? 0),
        ),
      );
      expect([width, ...overflow]).toEqual([width, 0, 0]);
    }
    const [opened] = await Promise.all([page.context().waitForEvent('page'), page.click('#phone')]);
    await opened.waitForSelector('#as:has-text("cleo")');
  } finally {
    await browser.close();
  }
}

async function body(url: string): Promise<Buffer> {
  return Buffer.from(await (await request(url)).body.arrayBuffer());
}

async function expectAllAnswer(addresses: Addresses): Promise<void> {
  const { tour, proxy, gateway, site, keyserver, reading, origin, cache } = addresses;
  const descriptor = '/.well-known/wispr-provider';
  expect((await viaProxy(proxy, site)).status).toBe(200);
  expect((await viaProxy(proxy, gateway)).status).toBe(200);
  for (const url of [tour, proxy, `${keyserver}${descriptor}`, `${reading}/-/sign-in`, origin, cache])
    expect({ url, status: (await request(url)).statusCode }).toEqual({ url, status: 200 });
}
