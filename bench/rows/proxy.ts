/**
 * Requests a second through the personal proxy for a warm document, beside the floor: a minimal streaming forward proxy on node:http
 * (bench/floor-proxy.ts) that carries the same bytes in clear. Both fetch from the same nginx; wrk asks over 10 connections.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startNginx } from '../../cache-config/servers.ts';
import { compare, measureAlternately, type Row, runCommand } from '../measure.ts';
import { createWorkspace, NODE, WISPR, type Workspace } from '../workspace.ts';

const RUNS = 5;
const SECONDS = 4;
export const SITE = 'bench.example';
const FLOOR = fileURLToPath(new URL('../floor-proxy.ts', import.meta.url));

const ANYWHERE = { host: '127.0.0.1', port: 0 };
const KEY_SERVER_ON_FREE_PORTS = JSON.stringify({
  listen: ANYWHERE,
  reading: { listen: ANYWHERE },
  data: 'keyserver.db',
  masterKey: 'master.key',
  publicKey: 'keyserver.pub',
});

/** @param length - bytes of the document */
export async function proxyRows(row: string, length: number): Promise<Row[]> {
  const workspace = await createWorkspace(row);
  const endings: (() => Promise<void>)[] = [workspace.remove];
  try {
    const path = await makeDocument(workspace, length);
    const { reader, floor } = await startProxies(workspace, endings);
    const contestants = [
      { name: 'wispr proxy', run: () => measureRequests(reader, path, length, workspace) },
      { name: 'floor: forward proxy on node:http', run: () => measureRequests(floor, path, length, workspace) },
    ];
    for (const { run } of contestants) await run(); // warm
    const medians = await measureAlternately(contestants, RUNS);
    return compare({ row, unit: 'requests/s', runs: RUNS, bound: BOUNDS[row] ?? '' }, contestants, medians);
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

const BOUNDS: Record<string, string> = {
  'proxy-1k': 'one core: HTTP on both sides, and the checks of a head',
  'proxy-64k': 'one core: HTTP on both sides, SHA-256 and AES-256-GCM, copying',
  'proxy-10m': 'one core: SHA-256, then AES-256-GCM and copying',
};

async function makeDocument({ source }: Workspace, length: number): Promise<string> {
  await mkdir(source, { recursive: true });
  await writeFile(join(source, 'document.bin'), randomBytes(length));
  return '/document.bin';
}

export interface Proxies {
  /** URL of the personal proxy, and its process. */
  readonly reader: string;
  readonly pid: number;
  /** URL of the floor. */
  readonly floor: string;
}

/** One nginx for both; the key server ends once the reader has its key, which makes the document warm. */
export async function startProxies(workspace: Workspace, endings: (() => Promise<void>)[]): Promise<Proxies> {
  const { directory, passphraseFile, source, wispr } = workspace;
  await writeFile(join(directory, 'keyserver.json'), KEY_SERVER_ON_FREE_PORTS);
  const keyServer = await startReady(['keyserver', '--dev', '--json'], directory);
  endings.push(keyServer.stop);
  const { keyserver, reading } = keyServer.ready;
  await adaptConfiguration(directory, keyserver, reading);
  await wispr('protect', '--quiet', '--passphrase-file', passphraseFile);
  await wispr('admin', 'import', 'keys.bundle');
  const nginx = await startNginx({ root: join(directory, 'protected'), readingOrigin: 'https://read.bench.example' });
  const plain = await startNginx({ root: source, readingOrigin: 'https://read.bench.example' });
  endings.push(nginx.stop, plain.stop);
  const invitation = JSON.parse(await wispr('invite', 'ada', '--json')) as { reader: { link: string } };
  const data = ['--data', join(directory, 'reader'), '--connect-to', `${SITE}:80:127.0.0.1:${nginx.port}`];
  data.push('--allow-local', '127.0.0.1'); // the key server
  await wispr('bind', invitation.reader.link, '--trust-site', SITE, '--yes', ...data);
  const reader = await startReady(['proxy', '--port', '0', '--json', '--quiet', ...data], directory);
  const floor = await startFloor(plain.url);
  endings.push(reader.stop, floor.stop);
  return { reader: String(reader.ready.proxy), pid: reader.pid, floor: floor.url };
}

/** `wispr init` wrote the addresses that a public site would have. */
async function adaptConfiguration(directory: string, keyServer: unknown, reading: unknown): Promise<void> {
  const file = join(directory, 'wispr.json');
  const text = await readFile(file, 'utf8');
  const adapted = text
    .replace(/"keyServer": "[^"]*"/, `"keyServer": "${keyServer}"`)
    .replace(/"reading": "[^"]*"/, `"reading": "${reading}"`);
  await writeFile(file, adapted);
}

interface Running {
  readonly pid: number;
  readonly ready: Record<string, unknown>;
  readonly stop: () => Promise<void>;
}

/** Starts a `wispr` command that prints a line of JSON when it is ready. */
async function startReady(args: readonly string[], directory: string): Promise<Running> {
  const { line, pid, stop } = await startAndReadLine([WISPR, ...args], directory);
  return { pid, ready: JSON.parse(line) as Record<string, unknown>, stop };
}

async function startFloor(origin: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const { line, stop } = await startAndReadLine([FLOOR, origin]);
  return { url: `http://127.0.0.1:${line.trim()}`, stop };
}

async function startAndReadLine(
  args: readonly string[],
  directory?: string,
): Promise<{ line: string; pid: number; stop: () => Promise<void> }> {
  const child = spawn(NODE, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'close');
  const lines = createInterface(child.stdout);
  const [line] = (await Promise.race([
    once(lines, 'line'),
    ended.then(() => Promise.reject(new Error(`${args.join(' ')} ended before it was ready: ${said}`))),
  ])) as [string];
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { line, pid: child.pid ?? -1, stop };
}

/** Requests a second, all of them answered whole: wrk counts every other status as an error. */
async function measureRequests(proxy: string, path: string, length: number, workspace: Workspace): Promise<number> {
  const script = join(workspace.directory, 'absolute-form.lua');
  await writeFile(script, `wrk.path = "http://${SITE}${path}"\nwrk.headers["Host"] = "${SITE}"\n`);
  const output = await runCommand('wrk', ['-t1', '-c10', '--timeout', '30s', `-d${SECONDS}s`, '-s', script, proxy]);
  const requests = Number(/Requests\/sec:\s+([\d.]+)/.exec(output)?.[1]);
  const bytes = /Non-2xx|Socket errors/.test(output) ? undefined : /([\d]+) requests in/.exec(output);
  if (!Number.isFinite(requests) || bytes === null || bytes === undefined) {
    throw new Error(`${proxy} did not answer as it should for ${length} bytes: ${output}`);
  }
  return requests;
}
