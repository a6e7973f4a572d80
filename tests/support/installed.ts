/** wispr as somebody has it who installed it: a command, and a home that is empty. */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { stopAll } from '../../cache-config/child.ts';
import { launchChromium } from './chromium.ts';
import { send } from './http-client.ts';
import { type Ended, type RunningProgram, startCommand } from './programs.ts';
import { startReaderHome } from './reader-home.ts';
import type { CleanUp } from './reader-rig.ts';
import { startStaticHost } from './static-hosts.ts';
import { PASSPHRASE } from './workspace.ts';

/** Ports of the key server: free ones. */
const PORTS = {
  WISPR_KEYSERVER_LISTEN__PORT: '0',
  WISPR_KEYSERVER_READING__LISTEN__PORT: '0',
  WISPR_KEYSERVER_READING__DOCUMENTS__LISTEN__PORT: '0',
};
const PAGE = '<!doctype html><title>The tide</title><h1>The tide</h1><p>read at last</p>';

export interface Installed {
  start(...args: string[]): RunningProgram;
  run(...args: string[]): Promise<Ended>;
}

/** @param env - beside the home; without a `PATH` no other program is found */
export function installed(command: readonly string[], home: string, env: NodeJS.ProcessEnv): Installed {
  mkdirSync(join(home, 'run'), { mode: 0o700 });
  mkdirSync(join(home, 'tmp'));
  chmodSync(home, 0o755); // Varnish has a user of its own
  const options = {
    cwd: home,
    env: { HOME: home, XDG_RUNTIME_DIR: join(home, 'run'), TMPDIR: join(home, 'tmp'), ...PORTS, ...env },
  };
  const start = (...args: string[]) => startCommand([...command, ...args], options);
  return { start, run: (...args) => start(...args).ended };
}

/** A site without a key server, from nothing to its page in Chromium; pages enough that threads check and protect them. */
export async function publishAndRead({ run }: Installed, home: string, cleanUp: CleanUp): Promise<void> {
  const good = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('error')]);
    return stdout;
  };
  mkdirSync(join(home, 'site'));
  writeFileSync(join(home, 'site/index.html'), PAGE);
  for (let page = 0; page < 100; page++) writeFileSync(join(home, `site/${page}.html`), PAGE.repeat(100));
  writeFileSync(join(home, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  mkdirSync(join(home, 'protected'));
  const host = await startStaticHost('python', join(home, 'protected'));
  cleanUp.add(stopAll);
  await good('init', host.origin, '--serverless', '--passphrase-file', 'passphrase');
  expect(await good('check')).toContain('101 documents');
  const link = await good('invite', 'ada', '--passphrase-file', 'passphrase');
  await good('publish', '--passphrase-file', 'passphrase');
  expect(await (await fetch(`${host.origin}/`)).text()).not.toContain('read at last');
  const browser = await launchChromium();
  cleanUp.add(() => browser.close());
  const page = await browser.newPage();
  await page.goto(link.trim());
  await page.waitForURL(`${host.origin}/`);
  await page.waitForSelector('p:text-is("read at last")');
}

/** The first run of the key server, in an empty folder, and its pages. */
export async function startKeyServer({ start }: Installed): Promise<void> {
  const server = start('keyserver', '--dev', '--json');
  const { reading } = JSON.parse(await server.line(/^\{/)) as { reading: string };
  const page = await fetch(`${reading}/-/sign-in`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<form')]);
  expect((await server.stop()).code).toBe(0);
}

/** Opened on a thread of its own. */
const LARGE = randomBytes(3_000_000);

/** A reader's way: a publisher is connected, and its site read by `fetch`, through the proxy, and at the gateway. */
export async function connectAndRead({ start, run }: Installed, cleanUp: CleanUp): Promise<void> {
  const reader = await startReaderHome(cleanUp);
  await reader.publisher.publish(reader.host.files, '/a.html', { content: 'read at last' });
  await reader.publisher.publish(reader.host.files, '/large.bin', { content: LARGE });
  const link = await reader.keyServer.invite();
  const bound = await run('bind', link, '--yes', '--trust-site', reader.publisher.site, ...reader.connectTo);
  expect([bound.code, bound.stderr]).toEqual([0, expect.stringContaining('connected: news.example')]);
  const fetched = await run('fetch', 'https://news.example/a.html', ...reader.connectTo);
  expect(fetched).toEqual({ code: 0, stdout: 'read at last', stderr: '' });
  const proxy = start('proxy', '--port', '0', '--json', ...reader.connectTo);
  cleanUp.add(() => proxy.stop('SIGKILL'));
  const ready = JSON.parse(await proxy.line(/^\{/)) as { proxy: string; sites: { gateway: string }[] };
  const { port } = new URL(ready.proxy);
  expect((await send(Number(port), 'http://news.example/a.html')).text).toBe('read at last');
  for (const _from of ['its host', 'what was kept'])
    expect((await send(Number(port), 'http://news.example/large.bin')).body.equals(LARGE)).toBe(true);
  const { host } = new URL(ready.sites[0]?.gateway ?? '');
  expect((await send(Number(port), '/a.html', { headers: { host } })).text).toBe('read at last');
  expect((await send(Number(port), '/', { headers: { host: `localhost:${port}` } })).text).toContain('news.example');
  expect((await proxy.stop('SIGTERM')).code).toBe(0);
}
