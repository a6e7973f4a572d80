/**
 * Starts real servers with this folder's configurations, as they are: for the demonstration, the tests and the benchmarks.
 * Each listens on a free port of 127.0.0.1 and keeps everything it writes in a directory of its own, which goes with it.
 */
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
import { findServer, findUser, programOf, serverVersion, type User } from './find-server.ts';
import type { CacheName, CacheParameters } from './parameters.ts';
import { configFileName, renderCacheConfig, serverCommand, squidServiceName } from './render.ts';

export type { LogLine } from './access-log.ts';
export { stopAll } from './child.ts';
export { findServer } from './find-server.ts';

const run = promisify(execFile);
const START_MILLISECONDS = 20_000;
const ATTEMPTS = 5;
const LOG_LINES_SHOWN = 12;
const PORT_TAKEN = /Address already in use|Unable to open HTTP|Could not get socket/i;

/** A server that runs. */
export interface CacheServer {
  readonly name: CacheName;
  readonly version: string;
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly url: string;
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly pid: number;
  /** The file with its messages or, for nginx and Squid, its requests. */
  readonly logPath: string;
  /** The requests that it has logged, oldest first. It logs a request shortly after it answered: wait for the line. */
  requests(): Promise<LogLine[]>;
  /** Ends it and everything it started, and removes its directory. */
  stop(): Promise<void>;
}

/** What all of them can be given. */
export interface StartOptions {
  /** Where the server's own directory is made; by default in the system's directory for temporary files. */
  stateDirectory?: string | undefined;
  /** The port to try first. */
  port?: number | undefined;
}

type Own = 'address' | 'port' | 'stateDirectory';
export type NginxOptions = StartOptions & Omit<CacheParameters['nginx'], Own> & { root: string };
export type VarnishOptions = StartOptions &
  Omit<CacheParameters['varnish'], Own> & { backend: { host: string; port: number } };
export type SquidOptions = StartOptions &
  Omit<CacheParameters['squid'], Own | 'allowLoopback'> & {
    /** Whether it may fetch from this machine, from any port. */
    connectLoopback?: boolean | undefined;
  };

/**
 * Starts nginx as a content host.
 *
 * @throws {CacheConfigError} `service-failed` (with the last lines of its log), `argument-invalid`,
 * `service-failed`
 */
export function startNginx({ stateDirectory, port, ...parameters }: NginxOptions): Promise<CacheServer> {
  // Started by root, its worker shall read what root can: a site in a private temporary directory, for example.
  const user = isRoot() ? { user: 'root' } : {};
  return start('nginx', { stateDirectory, port }, { ...user, ...parameters });
}

/** Starts Varnish in front of a content host. @throws {CacheConfigError} like {@link startNginx} */
export function startVarnish({ stateDirectory, port, ...parameters }: VarnishOptions): Promise<CacheServer> {
  return start('varnish', { stateDirectory, port }, parameters);
}

/** Starts Squid as a forward proxy. @throws {CacheConfigError} like {@link startNginx} */
export function startSquid(options: SquidOptions = {}): Promise<CacheServer> {
  const { stateDirectory, port, connectLoopback, ...parameters } = options;
  const user = isRoot() ? squidUser() : undefined;
  const anyPort = ['80', '443', '1024-65535'];
  const loopback = connectLoopback ? { allowLoopback: true, webPorts: anyPort, tunnelPorts: anyPort } : {};
  const small = { diskMegabytes: 1024 };
  return start(
    'squid',
    { stateDirectory, port },
    { ...small, ...loopback, ...(user && { user: user.name }), ...parameters },
  );
}

/** Tries again on another port when another program took it between finding and using it. */
async function start<Name extends CacheName>(
  name: Name,
  { stateDirectory, port: firstPort }: StartOptions,
  parameters: CacheParameters[Name],
): Promise<CacheServer> {
  const program = findServer(programOf(name));
  if (program === undefined) {
    throw new CacheConfigError('service-failed', `${programOf(name)} is not installed`, {
      fields: { package: name === 'nginx' ? 'nginx-light' : name },
    });
  }
  for (let attempt = 1; ; attempt++) {
    const port = attempt === 1 && firstPort !== undefined ? firstPort : await freePort();
    const directory = makeDirectory(name, stateDirectory);
    try {
      return await startOnce(name, program, port, directory, parameters);
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      if (attempt === ATTEMPTS || !(error instanceof CacheConfigError && PORT_TAKEN.test(error.message))) throw error;
    }
  }
}

async function startOnce<Name extends CacheName>(
  name: Name,
  program: string,
  port: number,
  stateDirectory: string,
  given: CacheParameters[Name],
): Promise<CacheServer> {
  const parameters = { ...given, address: '127.0.0.1', port, stateDirectory } as CacheParameters[Name];
  const [, ...args] = serverCommand(name, parameters);
  writeFileSync(join(stateDirectory, configFileName(name)), renderCacheConfig(name, parameters), { mode: 0o644 });
  if (name === 'squid') await makeSquidDirectories(program, stateDirectory);
  // Squid takes seconds to put its cache in order, which is thrown away anyway.
  const [stopSignal, remains] =
    name === 'squid' ? (['SIGKILL', squidSharedMemory(stateDirectory)] as const) : (['SIGTERM', []] as const);
  const child = startChild([program, ...args], stateDirectory, stopSignal, remains);
  const ready = async () => isReady(name, stateDirectory) && (await accepts(port));
  await until(async () => child.ended() !== undefined || (await ready()), START_MILLISECONDS);
  if (child.ended() !== undefined || !(await ready())) throw await notStarted(name, child);
  return {
    name,
    version: serverVersion(name, program),
    url: `http://127.0.0.1:${port}`,
    host: '127.0.0.1',
    port,
    pid: child.pid,
    logPath: join(stateDirectory, name === 'varnish' ? 'output.log' : 'access.log'),
    requests: () => requests(name, stateDirectory),
    stop: child.stop,
  };
}

/** A connection alone would not tell our server from a stranger on the same port: each also says that it got the port. */
function isReady(name: CacheName, directory: string): boolean {
  if (name === 'nginx') return readIfThere(join(directory, 'nginx.pid')) !== '';
  if (name === 'varnish') return readIfThere(join(directory, 'output.log')).includes('said Child starts');
  return readIfThere(join(directory, 'cache.log')).includes('Accepting HTTP Socket connections at');
}

async function notStarted(name: CacheName, child: Child): Promise<CacheConfigError> {
  const logs = ['output.log', 'error.log', 'cache.log'].map((file) => readIfThere(join(child.directory, file)));
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

async function requests(name: CacheName, directory: string): Promise<LogLine[]> {
  if (name !== 'varnish') return parseAccessLog(name, await readFile(join(directory, 'access.log'), 'utf8'));
  // Varnish logs to shared memory; this prints all that is there, and ends.
  const reader = findServer('varnishncsa');
  if (reader === undefined) throw new CacheConfigError('service-failed', 'varnishncsa is not installed');
  const args = ['-d', '-n', join(directory, 'varnishd'), '-F', VARNISH_LOG_FORMAT];
  const { stdout } = await run(reader, args, { maxBuffer: 256 * 1_048_576 });
  return parseAccessLog(name, stdout);
}

function makeDirectory(name: CacheName, parent = tmpdir()): string {
  mkdirSync(parent, { recursive: true });
  // Varnish and Squid, started by root, become other users, which need a way in; there is nothing secret inside.
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

function squidUser(): User | undefined {
  return findUser(['proxy', 'squid', 'nobody']);
}

async function makeSquidDirectories(program: string, directory: string): Promise<void> {
  const user = isRoot() ? squidUser() : undefined;
  if (user) chownSync(directory, user.uid, user.gid);
  const config = join(directory, configFileName('squid'));
  await run(program, ['-z', '-N', '-n', squidServiceName(directory), '-f', config], { cwd: directory });
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
