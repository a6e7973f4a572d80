/** Web hosts for plain files as people find them, without any configuration for wispr: nginx as Debian ships it, Python's, and one from npm. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accepts, freePort, startChild } from '../../cache-config/child.ts';
import { ROOT } from './programs.ts';
import { started } from './started.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const STATIC_HOSTS = ['nginx', 'python', 'serve'] as const;
export type StaticHostName = (typeof STATIC_HOSTS)[number];

export interface StaticHost {
  readonly port: number;
  /** Origin by a name that browsers take for a secure context. */
  readonly origin: string;
  stop(): Promise<void>;
}

/** @param root - the directory to serve @param port - a free one if left out */
export async function startStaticHost(name: StaticHostName, root: string, port?: number): Promise<StaticHost> {
  const chosen = port ?? (await freePort());
  const directory = temporaryFolder();
  const stopSignal = name === 'python' ? 'SIGKILL' : 'SIGTERM';
  const child = startChild(commandFor(name, directory, root, chosen), directory, { stopSignal });
  await started(name, child, () => accepts(chosen));
  return { port: chosen, origin: `http://localhost:${chosen}`, stop: () => child.stop() };
}

function commandFor(name: StaticHostName, directory: string, root: string, port: number): string[] {
  switch (name) {
    case 'nginx':
      return ['nginx', '-c', debianNginx(directory, root, port), '-e', `${directory}/error.log`, '-g', 'daemon off;'];
    case 'python':
      return ['python3', '-m', 'http.server', String(port), '--bind', '127.0.0.1', '--directory', root];
    case 'serve': {
      const program = `${ROOT}.cache/static-server/node_modules/serve/build/main.js`;
      const options = ['--listen', `tcp://127.0.0.1:${port}`, '--no-clipboard', '--no-port-switching'];
      return [process.execPath, program, ...options, root];
    }
  }
}

/** The default site of Debian with another root, and what lets it run beside others: port, user, and places of its own files. */
function debianNginx(directory: string, root: string, port: number): string {
  const sites = join(directory, 'sites-enabled');
  mkdirSync(sites);
  const site = readFileSync('/etc/nginx/sites-available/default', 'utf8')
    .replace(/^(\s*)root .*;/m, `$1root ${root};`)
    .replace(/^\s*listen 80 default_server;/m, `listen 127.0.0.1:${port};`)
    .replace(/^\s*listen \[::\]:80 default_server;/m, '');
  writeFileSync(join(sites, 'default'), site);
  const user = process.getuid?.() === 0 ? 'user root;' : ''; // temporary directories are their owner's
  const configuration = readFileSync('/etc/nginx/nginx.conf', 'utf8')
    .replace(/^user .*;/m, user)
    .replace(/^pid .*;/m, `pid ${directory}/pid;`)
    .replace(/\/var\/log\/nginx/g, directory)
    .replace('/etc/nginx/sites-enabled', sites);
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, configuration);
  return file;
}
