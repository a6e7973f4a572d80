/** Servers as child processes in process groups of their own. A program that is told to end calls `stopAll()`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { CacheConfigError } from './errors.ts';

const POLL_MILLISECONDS = 20;
const STOP_MILLISECONDS = 5_000;
const GROUP_MILLISECONDS = 500;
/** Replaces this process's own environment: nothing secret goes along. Varnish looks for a compiler in PATH. */
const ENVIRONMENT = { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin`, LC_ALL: 'C' };

export interface Child {
  readonly pid: number;
  readonly directory: string;
  /** Says why it does not run (any more). */
  ended(): string | undefined;
  /** Ends it in order, and leaves its files for another start. */
  end(): Promise<void>;
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** Signal that ends it at once. */
  readonly stopSignal: NodeJS.Signals;
  /** Files that it leaves behind elsewhere, removed too. */
  readonly moreRemains?: readonly string[];
  /** The user it runs as; the user of this process, if left out. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

const running = new Set<Child>();

/** Ends every server that this process started, and waits until they are gone. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running.values()].map((child) => child.stop()));
}

/** Starts a program in a process group of its own: Ctrl-C reaches this process alone, which stops it in order. */
export function startChild(
  command: readonly string[],
  directory: string,
  { stopSignal, moreRemains = [], user }: ChildOptions,
): Child {
  const [program = '', ...args] = command;
  const output = openSync(`${directory}/output.log`, 'a', 0o600);
  const child = spawn(program, args, {
    cwd: directory,
    detached: true,
    env: ENVIRONMENT,
    stdio: ['ignore', output, output],
    ...(user && { uid: user.uid, gid: user.gid }),
  });
  closeSync(output);
  let failure: string | undefined;
  child.once('error', (error) => {
    failure = error.message;
  });
  const pid = child.pid ?? 0;
  const ended = () => {
    if (failure !== undefined || child.exitCode === null) return failure ?? child.signalCode ?? undefined;
    return `exit code ${child.exitCode}`;
  };
  const remains = [directory, ...moreRemains];
  const watchdog = pid === 0 ? undefined : startWatchdog(pid, remains);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= endGroup(pid, stopSignal, ended)
      .finally(() => Promise.all(remains.map((path) => rm(path, { recursive: true, force: true, maxRetries: 3 }))))
      .finally(() => watchdog?.kill('SIGKILL'))
      .finally(() => running.delete(started));
    return stopping;
  };
  const end = async () => {
    // The watchdog would end what is started next, and remove its files.
    watchdog?.kill('SIGKILL');
    running.delete(started);
    await endGroup(pid, 'SIGTERM', ended);
  };
  const started: Child = { pid, directory, ended, end, stop };
  if (pid !== 0) running.add(started);
  return started;
}

/** Ends the process group, and removes its files, when the pipe to this process closes: also after SIGKILL. */
function startWatchdog(pid: number, remains: readonly string[]): ChildProcess {
  const script = 'cat; kill -KILL "-$1"; sleep 0.1; shift; rm -rf "$@"';
  const args = ['-c', script, 'sh', String(pid), ...remains];
  const watchdog = spawn('/bin/sh', args, { detached: true, env: ENVIRONMENT, stdio: ['pipe', 'ignore', 'ignore'] });
  watchdog.on('error', () => {});
  watchdog.unref();
  return watchdog;
}

/** The program ends in order where it can; what is left of its process group then is killed. */
async function endGroup(pid: number, stopSignal: NodeJS.Signals, ended: () => unknown): Promise<void> {
  if (pid === 0) return;
  const hasEnded = () => ended() !== undefined;
  if (!hasEnded()) signal(pid, stopSignal);
  await until(hasEnded, STOP_MILLISECONDS);
  signal(-pid, 'SIGKILL');
  if (!(await until(hasEnded, STOP_MILLISECONDS)))
    throw new CacheConfigError('service-failed', `process ${pid} does not end`);
  // Processes that have been killed may wait for ever for a parent that notices.
  await until(() => !signal(-pid, 0), GROUP_MILLISECONDS);
}

/** @returns whether there is anything to get the signal */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** Waits until `condition` holds; tells whether it did in time. */
export async function until(condition: () => boolean | Promise<boolean>, milliseconds: number): Promise<boolean> {
  const deadline = performance.now() + milliseconds;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MILLISECONDS);
  }
  return true;
}

/** Ports above those that `fetch` refuses (10080 is the last), below those of outgoing connections (Linux: from 32768). */
const PORTS = [10_081, 32_768] as const;

/** A port of 127.0.0.1 that was free a moment ago, outside of the range of outgoing connections. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(...PORTS);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Tells whether a port of 127.0.0.1 takes connections. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}
