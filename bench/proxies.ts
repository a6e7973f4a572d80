/** A protected site on nginx, the same in clear on another, and the proxies that are measured in front of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accepts, freePort, until } from '../cache-config/child.ts';
import { startNginx } from '../cache-config/servers.ts';
import { NODE, runToReady, WISPR } from './processes.ts';
import { createWorkspace, protectArguments, type Workspace } from './workspace.ts';

export const SITE = 'bench.example';
const READING_SITE = 'https://read.bench.example';
const FLOOR = fileURLToPath(new URL('floor-proxy.ts', import.meta.url));
const MITMPROXY = fileURLToPath(new URL('../.cache/mitmproxy/bin/mitmdump', import.meta.url));

const ANYWHERE = { host: '127.0.0.1', port: 0 };
const KEY_SERVER_ON_FREE_PORTS = JSON.stringify({
  listen: ANYWHERE,
  reading: { listen: ANYWHERE, documents: { listen: ANYWHERE } },
  data: 'keyserver.db',
  masterKey: 'master.key',
  publicKey: 'keyserver.pub',
});

export interface StartedProxy {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Contestants fetch from here. */
export interface Stage {
  readonly plainUrl: string;
  /** The Reader as it is without any options, which keeps what it reads. Each has a copy of the database, which has one owner. @param options - further ones of `wispr proxy` */
  startReader(...options: string[]): Promise<StartedProxy>;
  startFloor(): Promise<StartedProxy>;
  startMitmproxy(): Promise<StartedProxy>;
}

/** Protects the workspace's site and connects a reader with it. */
async function openStage(workspace: Workspace, endings: AsyncDisposableStack): Promise<Stage> {
  const { directory, source, wispr } = workspace;
  await writeFile(join(directory, 'keyserver.json'), KEY_SERVER_ON_FREE_PORTS);
  const { line, stop } = await runToReady([NODE, WISPR, 'keyserver', '--dev', '--json'], directory);
  endings.defer(stop);
  const { keyserver, reading } = JSON.parse(line) as Record<string, unknown>;
  await adaptConfiguration(directory, keyserver, reading);
  await wispr(...protectArguments(workspace));
  await wispr('admin', 'import', 'keys.bundle');
  const nginx = await startNginx({ root: join(directory, 'protected'), readingOrigin: READING_SITE });
  const { url: plainUrl, stop: stopPlain } = await startNginx({ root: source, readingOrigin: READING_SITE });
  endings.defer(nginx.stop);
  endings.defer(stopPlain);
  const optionsOf = (folder: string) => {
    const data = ['--data', join(directory, folder)];
    // The key server, and what passes through.
    return [...data, '--connect-to', `${SITE}:80:127.0.0.1:${nginx.port}`, '--allow-local', '127.0.0.1'];
  };
  const invitation = JSON.parse(await wispr('invite', 'ada', '--json')) as { link: string };
  await wispr('bind', invitation.link, '--trust-site', SITE, '--yes', ...optionsOf('reader'));
  const run = async (command: readonly string[], urlOf: (line: string) => string) => {
    const { line, pid, stop } = await runToReady([NODE, ...command], directory);
    endings.defer(stop);
    return { url: urlOf(line), pid, stop };
  };
  let readers = 0;
  return {
    plainUrl,
    startReader: async (...options) => {
      const folder = `reader-${++readers}`;
      await cp(join(directory, 'reader'), join(directory, folder), { recursive: true });
      const command = [WISPR, 'proxy', '--port', '0', '--json', '--quiet', ...optionsOf(folder), ...options];
      return run(command, (text) => String((JSON.parse(text) as { proxy: string }).proxy));
    },
    startFloor: () => run([FLOOR, plainUrl], (port) => `http://127.0.0.1:${port.trim()}`),
    startMitmproxy: () => startMitmproxy(directory, endings),
  };
}

async function startMitmproxy(directory: string, endings: AsyncDisposableStack): Promise<StartedProxy> {
  const port = await freePort();
  const settings = ['connection_strategy=lazy', 'stream_large_bodies=1', `confdir=${directory}/mitm`];
  const options = [...settings.flatMap((setting) => ['--set', setting]), '-q', '--listen-port', String(port)];
  const child = spawn(MITMPROXY, ['--listen-host', '127.0.0.1', ...options], { stdio: 'ignore' });
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  endings.defer(stop);
  await until(() => accepts(port), 60_000);
  return { url: `http://127.0.0.1:${port}`, pid: child.pid ?? -1, stop };
}

/** Does `work` beside a site that `write` has written. @param name - for the directory's name */
export async function onStage<Result>(
  name: string,
  write: (source: string) => Promise<void>,
  work: (stage: Stage, workspace: Workspace) => Promise<Result>,
): Promise<Result> {
  const workspace = await createWorkspace(name);
  await using endings = new AsyncDisposableStack();
  endings.defer(workspace.remove);
  await write(workspace.source);
  return await work(await openStage(workspace, endings), workspace);
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
