/** Inputs and outputs of one run of the command line: those of the process, or what a test passes in. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable, Writable } from 'node:stream';

export interface Io {
  /** Words after `wispr`. */
  readonly argv: readonly string[];
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?: (raw: boolean) => unknown };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  /** Directory that relative paths on the command line start from. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Stops the command as Ctrl-C does. Without it, signals of the process do. */
  readonly signal?: AbortSignal | undefined;
}

interface Run {
  readonly io: Io;
  exitCode: number;
  readonly warned: Set<string>;
}

export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  return { argv: process.argv.slice(2), stdin, stdout, stderr, cwd: process.cwd(), env };
}

const runs = new AsyncLocalStorage<Run>();
let outside: Run | undefined;

/** Runs `work` with `io`. @returns the exit code that it has set */
export async function runWith(io: Io, work: () => Promise<void>): Promise<number> {
  const run = startOf(io);
  await runs.run(run, work);
  return run.exitCode;
}

export function currentIo(): Io {
  return currentRun().io;
}

/** Sets the exit code with which the command ends when its work is done. */
export function setExitCode(code: number): void {
  currentRun().exitCode = code;
}

/** Tells whether this is the first call with `warning` in this run. */
export function isFirstTime(warning: string): boolean {
  const { warned } = currentRun();
  return !warned.has(warning) && warned.add(warning) !== undefined;
}

function currentRun(): Run {
  outside ??= startOf(processIo());
  return runs.getStore() ?? outside;
}

function startOf(io: Io): Run {
  return { io, exitCode: 0, warned: new Set() };
}
