/** `npm run demo` as people run it: a program with lines, an exit code, and nothing left behind. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ProxyAgent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { accessibilityProblems } from '../support/axe.ts';
import { launchChromium } from '../support/chromium.ts';
import {
  listeningOn,
  processesIn,
  ROOT,
  type RunningProgram,
  runProgram,
  startCommand,
  startProgram,
} from '../support/programs.ts';

const DEMO = 'demo/main.ts';
const KEYS = ['tour', 'proxy', 'gateway', 'site', 'keyserver', 'reading', 'origin', 'cache'] as const;
type Addresses = Record<(typeof KEYS)[number], string>;

/** Everything that a run writes is written below this. */
let folder: string;
/** Directories that are published stand apart. */
let sites: string;
let env: NodeJS.ProcessEnv;
let running: RunningProgram | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wispr-demo-test-'));
  sites = mkdtempSync(join(tmpdir(), 'wispr-demo-sites-'));
  chmodSync(folder, 0o711); // servers become other users, which have to get in
  const session = join(folder, 'session'); // Readers leave an empty folder for their sockets there
  mkdirSync(session, { mode: 0o700 });
  env = { ...process.env, TMPDIR: folder, XDG_RUNTIME_DIR: session };
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  rmSync(folder, { recursive: true, force: true });
  rmSync(sites, { recursive: true, force: true });
});

const demo = (...args: string[]) => runProgram(DEMO, args, { env });

/** Nothing of a run is left: no file, and no process once those that were killed are gone. */
async function expectNothingLeft(): Promise<void> {
  // npm itself keeps something there.
  expect(readdirSync(folder).filter((name) => name.startsWith('wispr-'))).toEqual([]);
  const sockets = join(folder, 'session', 'wispr');
  expect(existsSync(sockets) ? readdirSync(sockets) : []).toEqual([]);
  await expect.poll(() => processesIn(folder), { timeout: 10_000 }).toEqual([]);
}

function stepsOf(output: string): string[] {
  return output.split('\n').slice(0, -1);
}

describe('npm run demo', () => {
  test('--once prints the journey in six to twelve lines, and ends well', async () => {
    const { code, stdout, stderr } = await demo('--once');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const steps = stepsOf(stdout);
    expect(steps.length).toBeGreaterThanOrEqual(6);
    expect(steps.length).toBeLessThanOrEqual(12);
    for (const [index, step] of steps.entries()) expect(step).toMatch(new RegExp(`^ ?${index + 1}  \\S`));
    await expectNothingLeft();
  });

  test('--tamper shows that an altered document is refused, and that counts as good', async () => {
    const { code, stdout, stderr } = await demo('--once', '--tamper');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stepsOf(stdout).length).toBeLessThanOrEqual(12);
    expect(stepsOf(stdout).at(-1)).toContain('block-digest');
    await expectNothingLeft();
  });

  test('--once --json prints where things were, and a summary; where 8001 is taken, it takes another port', async () => {
    const squatter = createServer();
    // Another program may have it already; then it is taken all the same.
    await new Promise<void>((resolve) => squatter.once('error', () => resolve()).listen(8001, '127.0.0.1', resolve));
    const { code, stdout, stderr } = await demo('--once', '--json').finally(() => squatter.close());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [addresses, summary, ...more] = stepsOf(stdout).map((line) => JSON.parse(line));
    expect(more).toEqual([]);
    expect(Object.keys(addresses)).toEqual(KEYS);
    expect(new URL(addresses.proxy).port).not.toBe('8001');
    expect(summary).toMatchObject({ good: true, different: [], readers: 2, same: 2 * summary.documents });
    expect(summary.documents).toBeGreaterThan(30);
    expect(summary.hostRequests[0]).toBeGreaterThanOrEqual(summary.documents);
    expect(summary.hostRequests[1]).toBe(0);
    await expectNothingLeft();
  });

  test('--json stays up, every address answers, and everything ends when npm is stopped', async () => {
    running = startCommand(['npm', 'run', '--silent', 'demo', '--', '--json'], { env, cwd: ROOT });
    const addresses: Addresses = JSON.parse(await running.line(/^\{/));
    expect(Object.keys(addresses)).toEqual(KEYS);
    await expectAllAnswer(addresses);
    const { site, ...local } = addresses;
    const ports = Object.values(local).map((url) => Number(new URL(url).port));
    const sockets = listeningOn(ports);
    expect(sockets.length).toBeGreaterThanOrEqual(5); // proxy and gateway share one
    expect(processesIn(folder).length).toBeGreaterThan(0);

    const { stdout } = await running.stop('SIGTERM');
    expect(stdout).toBe(`${JSON.stringify(addresses)}\n`);
    expect(listeningOn(ports).filter((inode) => sockets.includes(inode))).toEqual([]);
    await expectNothingLeft();
  });

  test('says what to try, with addresses that answer, until Ctrl-C', async () => {
    running = startProgram(DEMO, [], { env });
    const [, proxy = '', url = ''] = /curl -x (\S+) (\S+)/.exec(await running.line(/curl -x /)) ?? [];
    expect(await viaProxy(proxy, url)).toEqual({ status: 200 });
    const [, object = ''] = /curl (http\S+\.protected) /.exec(await running.line(/\.protected/)) ?? [];
    expect((await body(object)).subarray(0, 8).toString()).toBe('wispr/1\n');
    const [, tour = ''] = /the tour +(\S+)/.exec(running.stdout()) ?? [];
    await takeTour(tour);
    const { code, stderr } = await running.stop('SIGINT');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await expectNothingLeft();
  });

  test('ends cleanly when it is stopped while it starts', async () => {
    running = startProgram(DEMO, [], { env });
    await running.line(/^ 1 /);
    const { code, stderr } = await running.stop();
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    await expectNothingLeft();
  });
});

describe('npm run demo -- --site', () => {
  test('publishes any directory: nested folders, spaces, other scripts, an empty file, none with an extension', async () => {
    const files = [
      'page.html',
      'a/b/c/deep down.html',
      'a/Grüße aus 東京.txt',
      'LICENCE',
      'empty',
      '100% & more?.html',
      'ünï/#1.svg',
    ];
    for (const file of files) put(file, file === 'empty' ? '' : `content of ${file}`);
    const { code, stdout, stderr } = await demo('--site', sites, '--once', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, summary] = stepsOf(stdout).map((line) => JSON.parse(line));
    expect(summary).toMatchObject({ good: true, documents: files.length, same: 2 * files.length, different: [] });
    await expectNothingLeft();
  });

  test('names the files that cannot be published, and ends with 1', async () => {
    put('good.html', 'good');
    put('bad.protected', 'bad');
    const { code, stdout, stderr } = await demo('--site', sites, '--once');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('/bad.protected');
    expect(stderr).toContain('demo: hint: ');
    await expectNothingLeft();
  });

  test('refuses an empty directory, and one that is not there', async () => {
    for (const directory of [sites, join(sites, 'absent')]) {
      const { code, stdout, stderr } = await demo('--site', directory, '--once');
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(directory);
      expect(stderr).not.toContain('    at ');
    }
    await expectNothingLeft();
  });
});

describe('npm run demo, wrongly', () => {
  test.each([['--wrong'], ['--site'], ['surplus']])('%s: says what there is, and ends with 2', async (...args) => {
    const { code, stdout, stderr } = await demo(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--tamper');
    await expectNothingLeft();
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

async function expectAllAnswer(addresses: Addresses): Promise<void> {
  const { tour, proxy, gateway, site, keyserver, reading, origin, cache } = addresses;
  const descriptor = '/.well-known/wispr-provider';
  expect((await viaProxy(proxy, site)).status).toBe(200);
  expect((await viaProxy(proxy, gateway)).status).toBe(200);
  for (const url of [tour, proxy, `${keyserver}${descriptor}`, `${reading}/-/sign-in`, origin, cache])
    expect({ url, status: (await request(url)).statusCode }).toEqual({ url, status: 200 });
}

function put(file: string, content: string): void {
  mkdirSync(dirname(join(sites, file)), { recursive: true });
  writeFileSync(join(sites, file), content);
}

/** As a program that is set to use a proxy asks: the gateway's names below localhost need no name server this way. */
async function viaProxy(proxy: string, url: string): Promise<{ status: number }> {
  const dispatcher = new ProxyAgent({ uri: proxy, proxyTunnel: false });
  const answer = await request(url, { dispatcher });
  await answer.body.dump();
  await dispatcher.close();
  return { status: answer.statusCode };
}

async function body(url: string): Promise<Buffer> {
  return Buffer.from(await (await request(url)).body.arrayBuffer());
}
