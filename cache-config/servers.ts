/** Starts real servers with these configurations, on free ports, each in a directory that goes with it. */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type LogLine, parseAccessLog, VARNISH_LOG_FORMAT } from './access-log.ts';
import { accepts, type Child, freePort, startChild, until } from './child.ts';
import { CacheConfigError } from './errors.ts';
import { findServer, findUser, serverVersion, type User } from './find-server.ts';
import type { ConfigParameters, HostName, ReverseName, ServerName } from './parameters.ts';
import { SERVERS } from './programs.ts';
import { renderFiles, serverCommand, squidServiceName } from './render.ts';

export type { LogLine } from './access-log.ts';
export { stopAll } from './child.ts';
export { findServer } from './find-server.ts';

const run = promisify(execFile);
const START_MILLISECONDS = 20_000;
const ATTEMPTS = 5;
const LOG_LINES_SHOWN = 12;
const PORT_TAKEN = /Address already in use|Unable to open HTTP|Could not get socket/i;

export interface CacheServer {
  readonly name: ServerName;
  readonly version: string;
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly url: string;
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly pid: number;
  readonly directory: string;
  /** The file with its requests or, for Varnish, its messages. */
  readonly logPath: string;
  /** The requests that it has logged, oldest first. It logs a request shortly after it answered: wait for the line. */
  requests(): Promise<LogLine[]>;
  /** Ends it in order, and starts it again with what it left. */
  restart(): Promise<void>;
  /** Ends it and everything it started, and removes its directory. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  /** Directory in which the server's own one is made; by default the system's directory for temporary files. */
  stateDirectory?: string | undefined;
  port?: number | undefined;
}

type Own = 'address' | 'port' | 'stateDirectory';
export type NginxOptions = ServerOptions & Omit<ConfigParameters['nginx'], Own> & { root: string };
type Backend = { backend: { host: string; port: number } };
export type HostOptions = ServerOptions & { root: string; readingOrigin: string; maxAgeSeconds?: number };
export type ReverseOptions<Name extends ReverseName> = ServerOptions & Omit<ConfigParameters[Name], Own> & Backend;
export type SquidOptions = ServerOptions &
  Omit<ConfigParameters['squid'], Own | 'allowLoopback'> & {
    /** Lets it fetch from this machine, from any port. */
    connectLoopback?: boolean | undefined;
  };

/** Starts nginx as a content host. @throws {CacheConfigError} `service-failed` with its log, `argument-invalid` */
export function startNginx(options: NginxOptions): Promise<CacheServer> {
  // The worker, started by root, shall read what root can: a site in a private temporary directory, for example.
  return start('nginx', { ...(isRoot() && { user: 'root' }), ...options });
}

/** Starts Varnish in front of a content host. @throws {CacheConfigError} like {@link startNginx} */
export function startVarnish(options: ReverseOptions<'varnish'>): Promise<CacheServer> {
  return start('varnish', options);
}

/** Starts a content host. @throws {CacheConfigError} like {@link startNginx} */
export function startHost(name: HostName, options: HostOptions): Promise<CacheServer> {
  return name === 'nginx' ? startNginx(options) : start(name, options);
}

/** Starts a cache in front of another server. @throws {CacheConfigError} like {@link startNginx} */
export function startReverse<Name extends ReverseName>(
  name: Name,
  options: ReverseOptions<Name>,
): Promise<CacheServer> {
  return start(name, options);
}

/** Starts Squid as a forward proxy. @throws {CacheConfigError} like {@link startNginx} */
export function startSquid({ connectLoopback, ...options }: SquidOptions = {}): Promise<CacheServer> {
  const user = userOf('squid');
  const anyPort = ['80', '443', '1024-65535'];
  const loopback = connectLoopback ? { allowLoopback: true, webPorts: anyPort, tunnelPorts: anyPort } : {};
  return start('squid', { diskMegabytes: 1024, ...loopback, ...(user && { user: user.name }), ...options });
}

/** Tries again on another port when another program took it between finding and using it. */
async function start<Name extends ServerName>(
  name: Name,
  { stateDirectory, port: firstPort, ...parameters }: ServerOptions & Omit<ConfigParameters[Name], Own>,
): Promise<CacheServer> {
  const known = SERVERS[name];
  const program = findServer(known.program);
  if (program === undefined) {
    throw new CacheConfigError('service-failed', `${known.program} is not installed`, {
      fields: { package: known.package },
    });
  }
  for (let attempt = 1; ; attempt++) {
    // Servers that set SO_REUSEPORT would share a port with a stranger, and never complain.
    const wanted = attempt === 1 && firstPort !== undefined && !(await accepts(firstPort));
    const port = wanted ? firstPort : await freePort();
    const directory = makeDirectory(name, stateDirectory);
    try {
      return await startIn(name, program, port, directory, parameters as ConfigParameters[Name]);
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      if (attempt === ATTEMPTS || !(error instanceof CacheConfigError && PORT_TAKEN.test(error.message))) throw error;
    }
  }
}

async function startIn<Name extends ServerName>(
  name: Name,
  program: string,
  port: number,
  directory: string,
  given: ConfigParameters[Name],
): Promise<CacheServer> {
  const parameters = { ...given, address: '127.0.0.1', port, stateDirectory: directory } as ConfigParameters[Name];
  const [, ...args] = serverCommand(name, parameters);
  const user = userOf(name);
  for (const [file, text] of renderFiles(name, parameters)) writeFileSync(join(directory, file), text, { mode: 0o644 });
  mkdirSync(join(directory, 'cache'));
  if (user) for (const path of ['', 'cache']) chownSync(join(directory, path), user.uid, user.gid);
  if (name.startsWith('squid')) await makeSquidDirectories(program, args, user);
  const begin = () => startOnce(name, [program, ...args], port, directory);
  let child = await begin();
  return {
    name,
    version: serverVersion(name, program),
    url: `http://127.0.0.1:${port}`,
    host: '127.0.0.1',
    port,
    directory,
    get pid() {
      return child.pid;
    },
    logPath: join(directory, SERVERS[name].log),
    requests: () => requests(name, directory),
    restart: async () => {
      await child.end();
      // Removes the old sign of being ready; the new process writes its own.
      rmSync(join(directory, SERVERS[name].ready[0]), { force: true });
      child = await begin();
    },
    stop: () => child.stop(),
  };
}

async function startOnce(
  name: ServerName,
  command: readonly string[],
  port: number,
  directory: string,
): Promise<Child> {
  // Squid takes seconds to put its cache in order, which is thrown away anyway.
  const child = startChild(command, directory, {
    stopSignal: name.startsWith('squid') ? 'SIGKILL' : 'SIGTERM',
    moreRemains: name.startsWith('squid') ? squidSharedMemory(directory) : [],
    user: SERVERS[name].becomesUser ? undefined : userOf(name),
  });
  const [file, said] = SERVERS[name].ready;
  const ready = async () => said.test(readIfThere(join(directory, file))) && (await accepts(port));
  await until(async () => child.ended() !== undefined || (await ready()), START_MILLISECONDS);
  if (child.ended() !== undefined || !(await ready())) throw await notStarted(name, child);
  return child;
}

/** Owner of the files of a server that root starts; `undefined` for nginx and Varnish, which need none. */
function userOf(name: ServerName): User | undefined {
  if (!isRoot() || name === 'nginx' || name === 'varnish') return undefined;
  return findUser(name === 'squid' ? ['proxy', 'squid', 'nobody'] : ['nobody']);
}

async function notStarted(name: ServerName, child: Child): Promise<CacheConfigError> {
  const logs = ['output.log', 'error.log', 'cache.log', 'diags.log'].map((file) =>
    readIfThere(join(child.directory, file)),
  );
  const lines = logs.flatMap((log) =>
    log
      .split('\n')
      .filter((line) => line !== '')
      .slice(-LOG_LINES_SHOWN),
  );
  const why = child.ended() ?? `not ready after ${START_MILLISECONDS / 1000} s`;
  await child.stop();
  return new CacheConfigError('service-failed', [`${name} did not start: ${why}`, ...lines].join('\n  '));
}

async function requests(name: ServerName, directory: string): Promise<LogLine[]> {
  if (name !== 'varnish') {
    const log = await readFile(join(directory, SERVERS[name].log), 'utf8').catch(() => '');
    return parseAccessLog(name, log);
  }
  // Varnish logs to shared memory; this prints all that is there, and ends.
  const reader = findServer('varnishncsa');
  if (reader === undefined) throw new CacheConfigError('service-failed', 'varnishncsa is not installed');
  const args = ['-d', '-n', join(directory, 'varnishd'), '-F', VARNISH_LOG_FORMAT];
  const { stdout } = await run(reader, args, { maxBuffer: 256 * 1_048_576 });
  return parseAccessLog(name, stdout);
}

function makeDirectory(name: ServerName, parent = tmpdir()): string {
  mkdirSync(parent, { recursive: true });
  // Servers that root starts run as other users, except nginx, and need a way in; there is nothing secret inside.
  const closed = isRoot() && name !== 'nginx' ? closedAncestor(parent) : undefined;
  if (closed !== undefined) {
    throw new CacheConfigError('service-failed', `${name}, as its own user, cannot enter ${closed}`, {
      fields: { directory: closed },
    });
  }
  const directory = mkdtempSync(join(parent, `wispr-${name}-`));
  if (isRoot()) chmodSync(directory, 0o711);
  return directory;
}

function closedAncestor(directory: string): string | undefined {
  if ((statSync(directory).mode & 0o001) === 0) return directory;
  return dirname(directory) === directory ? undefined : closedAncestor(dirname(directory));
}

/** Its disk cache has to be made before it starts. */
async function makeSquidDirectories(program: string, args: readonly string[], user: User | undefined): Promise<void> {
  await run(program, ['-z', ...args], { ...(user && { uid: user.uid, gid: user.gid }) });
}

/** The segments that collapsed forwarding works with. */
function squidSharedMemory(directory: string): string[] {
  const kinds = ['metadata', 'queues', 'readers'];
  return kinds.map((kind) => `/dev/shm/${squidServiceName(directory)}-cf__${kind}.shm`);
}

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
