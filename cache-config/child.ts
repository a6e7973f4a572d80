/**
 * Servers as child processes: started in the foreground, ended by their process id with everything they started, and never
 * left behind. Signals are the caller's business: a program that is told to end calls `stopAll()`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { CacheConfigError } from './errors.ts';

const POLL_MILLISECONDS = 20;
const STOP_MILLISECONDS = 5_000;
/** Not this process's own: nothing secret goes along. Varnish looks for a compiler in PATH. */
const ENVIRONMENT = { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin`, LC_ALL: 'C' };

/** A program that runs, and the directory that goes when it ends. */
export interface Child {
  readonly pid: number;
  readonly directory: string;
  /** Why it does not run (any more). */
  ended(): string | undefined;
  stop(): Promise<void>;
}

const running = new Set<Child>();

/** Ends every server that this process started, and waits until they are gone. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running.values()].map((child) => child.stop()));
}

/**
 * Starts a program in a process group of its own, so that Ctrl-C reaches this process alone, which then stops the servers in order.
 *
 * @param command program and arguments
 * @param directory its working directory and state; what it prints goes to `output.log` there; removed when it is stopped
 * @param stopSignal what makes it end at once
 * @param moreRemains further files that it leaves behind, removed too
 */
export function startChild(
  command: readonly string[],
  directory: string,
  stopSignal: NodeJS.Signals,
  moreRemains: readonly string[] = [],
): Child {
  const [program = '', ...args] = command;
  const output = openSync(`${directory}/output.log`, 'a', 0o600);
  const child = spawn(program, args, {
    cwd: directory,
    detached: true,
    env: ENVIRONMENT,
    stdio: ['ignore', output, output],
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
    stopping ??= endWithDescendants(pid, stopSignal, ended)
      .finally(() => Promise.all(remains.map((path) => rm(path, { recursive: true, force: true, maxRetries: 3 }))))
      .finally(() => watchdog?.kill('SIGKILL'))
      .finally(() => running.delete(started));
    return stopping;
  };
  const started: Child = { pid, directory, ended, stop };
  if (pid !== 0) running.add(started);
  return started;
}

/**
 * However this process ends, also by SIGKILL, the system closes its end of the pipe. Then the watchdog ends the server's process
 * group and removes what it leaves.
 */
function startWatchdog(pid: number, remains: readonly string[]): ChildProcess {
  const script = 'cat; kill -KILL "-$1"; sleep 0.1; shift; rm -rf "$@"';
  const args = ['-c', script, 'sh', String(pid), ...remains];
  const watchdog = spawn('/bin/sh', args, { detached: true, env: ENVIRONMENT, stdio: ['pipe', 'ignore', 'ignore'] });
  watchdog.on('error', () => {});
  watchdog.unref();
  return watchdog;
}

async function endWithDescendants(pid: number, stopSignal: NodeJS.Signals, ended: () => unknown): Promise<void> {
  if (pid === 0) return;
  const family = descendants(pid);
  const gone = () => ended() !== undefined && family.every((member) => !isAlive(member));
  if (ended() === undefined) signal(pid, stopSignal);
  if (await until(gone, STOP_MILLISECONDS)) return;
  signal(-pid, 'SIGKILL');
  for (const member of family) if (isAlive(member)) signal(member.pid, 'SIGKILL');
  if (await until(gone, STOP_MILLISECONDS)) return;
  throw new CacheConfigError('service-failed', `process ${pid} does not end`);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already: that is what was wanted.
  }
}

/** A process, told apart from a later one with the same number by when it started. */
interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly startTime: string;
}

/** What `/proc` says of a process; `undefined` when it is gone, or dead and not yet collected. */
function processEntry(pid: number): ProcessEntry | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program's name stands in parentheses and may contain anything; state, parent and the rest follow it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, parent] = fields;
    return state === 'Z' || state === 'X' ? undefined : { pid, parent: Number(parent), startTime: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

function isAlive(entry: ProcessEntry): boolean {
  return processEntry(entry.pid)?.startTime === entry.startTime;
}

/** The process and everything that it started, and those started; empty where there is no `/proc`. */
function descendants(pid: number): ProcessEntry[] {
  const entries = processIds().flatMap((id) => processEntry(id) ?? []);
  const family = new Set([pid]);
  // A parent's entry may stand behind its child's: go over the list until nothing new is found.
  for (let before = 0; before !== family.size; ) {
    before = family.size;
    for (const entry of entries) if (family.has(entry.parent)) family.add(entry.pid);
  }
  return entries.filter((entry) => family.has(entry.pid));
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
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

/** Above those that only administrators listen on, and below those that systems give to outgoing connections: Linux begins at 32768. */
const PORTS = [10_000, 32_768] as const;

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

/** Whether a port of 127.0.0.1 takes connections. */
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
