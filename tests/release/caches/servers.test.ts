import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { HOST_NAMES, type HostName, SERVER_NAMES, type ServerName } from '../../../cache-config/parameters.ts';
import { squidServiceName } from '../../../cache-config/render.ts';
import {
  type CacheServer,
  findServer,
  type ServerOptions,
  startHost,
  startReverse,
  startSquid,
  stopAll,
} from '../../../cache-config/servers.ts';
import { get, makeSite, READING_ORIGIN } from '../../cache-config/site.ts';

const site = makeSite();
afterAll(async () => {
  await stopAll();
  site.remove();
});

const host = { root: site.root, readingOrigin: READING_ORIGIN };
/** Need not answer. */
const cache = { backend: { host: '127.0.0.1', port: 9 } };
/** Starts a server by itself. */
function start(name: ServerName, options: ServerOptions): Promise<CacheServer> {
  if (name === 'squid') return startSquid({ connectLoopback: true, ...options });
  if (isHost(name)) return startHost(name, { ...host, ...options });
  return startReverse(name, { ...cache, ...(name === 'trafficserver' && { diskMegabytes: 128 }), ...options });
}

const isHost = (name: ServerName): name is HostName => (HOST_NAMES as readonly string[]).includes(name);

/** Process ids with their parents', of all that run (and are not just waiting for their parent to notice their end). */
function allProcesses(): [number, number][] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name): [number, number][] => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8');
        if (/^State:\s+[ZX]/m.test(status)) return [];
        return [[Number(name), Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1])]];
      } catch {
        return [];
      }
    });
}

/** The process and what it started. */
function processesOf(pid: number): number[] {
  const all = allProcesses();
  const family = new Set([pid]);
  for (const [child, parent] of [...all, ...all]) if (family.has(parent)) family.add(child);
  return all.map(([child]) => child).filter((child) => family.has(child));
}

function sharedMemoryOf(directories: string[]): string[] {
  const names = directories.map(squidServiceName);
  return readdirSync('/dev/shm').filter((file) => names.some((name) => file.startsWith(name)));
}

const isAlive = (pid: number) => processesOf(pid).includes(pid);

test.each(SERVER_NAMES)('%s runs twice, on another port than a stranger, and goes without a trace', async (name) => {
  const first = await start(name, {});
  const second = await start(name, { port: first.port });
  const servers = [first, second];
  expect(second.port).not.toBe(first.port);
  expect(first.version).toMatch(/^\d+\.\d+/);
  for (const { url } of servers) expect((await get(url, '/')).status).toBeGreaterThanOrEqual(200);
  const families = servers.flatMap(({ pid }) => processesOf(pid));
  const directories = servers.map(({ directory }) => directory);
  await Promise.all(servers.map((server) => server.stop()));
  expect(families.filter(isAlive)).toEqual([]);
  expect([...directories.filter(existsSync), ...sharedMemoryOf(directories)]).toEqual([]);
});

test('a server that cannot start says why, with the last lines of its log, and leaves nothing', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'wispr-state-'));
  chmodSync(parent, 0o755);
  const failing = startReverse('varnish', {
    backend: { host: 'no-such-host.invalid', port: 80 },
    stateDirectory: parent,
  });
  await expect(failing).rejects.toMatchObject({ code: 'service-failed' });
  await expect(failing).rejects.toThrow(/no-such-host\.invalid/);
  expect(readdirSync(parent)).toEqual([]);
  rmSync(parent, { recursive: true });
});

describe('the process that started servers ends', () => {
  const script = (ending: string) => `
    import { startNginx, startVarnish, startSquid, stopAll } from ${JSON.stringify(new URL('../../../cache-config/servers.ts', import.meta.url).href)};
    process.on('SIGTERM', () => stopAll().then(() => process.exit(0)));
    const nginx = await startNginx({ root: ${JSON.stringify(site.root)}, readingOrigin: 'https://read.example' });
    const servers = [nginx, await startVarnish({ backend: nginx }), await startSquid()];
    console.log(JSON.stringify(servers.map(({ pid, logPath }) => ({ pid, logPath }))));
    setTimeout(() => {}, 60_000);
    ${ending}
  `;

  test.each([
    ['by a signal, and stops them', '', 'SIGTERM'],
    ['by an uncaught error', 'setTimeout(() => { throw new Error("expected") }, 500);', undefined],
    ['by SIGKILL', '', 'SIGKILL'],
    ['by process.exit', 'setTimeout(() => process.exit(3), 500);', undefined],
  ] as const)('%s', async (_, ending, signal) => {
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script(ending)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const output = await new Promise<string>((resolve) => parent.stdout.once('data', (data) => resolve(String(data))));
    const servers: { pid: number; logPath: string }[] = JSON.parse(output);
    const families = servers.flatMap(({ pid }) => processesOf(pid));
    expect(families.length).toBeGreaterThan(4);
    const ended = new Promise((resolve) => parent.once('exit', resolve));
    if (signal) parent.kill(signal);
    await ended;
    await vi.waitFor(() => expect(families.filter(isAlive)).toEqual([]), { timeout: 5_000, interval: 50 });
    const directories = servers.map(({ logPath }) => dirname(logPath));
    const left = () => [...directories.filter(existsSync), ...sharedMemoryOf(directories)];
    await vi.waitFor(() => expect(left()).toEqual([]), { timeout: 5_000, interval: 50 });
  });
});

test('findServer looks in PATH, then where Debian puts servers', () => {
  for (const program of ['nginx', 'varnishd', 'squid'] as const) {
    expect(findServer(program)).toMatch(new RegExp(`^/.*/${program}$`));
  }
  vi.stubEnv('PATH', '/nonexistent');
  expect(findServer('nginx')).toBe('/usr/sbin/nginx');
  vi.unstubAllEnvs();
});
