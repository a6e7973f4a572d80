/** Programs as people start them: what they print, how they end, and what they leave behind. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface ProgramOptions {
  /** Replaces this process's own. */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Text on its standard input; nothing, if left out. */
  readonly input?: string;
}

export interface Ended {
  /** `null`: ended by a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProgram {
  /** Resolves with the first line of standard output that fits; rejects if the program ends before. */
  line(pattern: RegExp): Promise<string>;
  /** Returns what it has said so far on standard error. */
  stderr(): string;
  /** Returns what it has printed so far. */
  stdout(): string;
  readonly pid: number;
  /** Resolves when it has ended. */
  readonly ended: Promise<Ended>;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

/** Starts a program of this repository with the Node.js that runs the tests. */
export function startProgram(file: string, args: readonly string[], options?: ProgramOptions): RunningProgram {
  return startCommand([process.execPath, `${ROOT}${file}`, ...args], options);
}

/** A test that fails or times out must not leave a process behind: what still runs ends with the tests. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a command as it is typed. */
export function startCommand(command: readonly string[], options: ProgramOptions = {}): RunningProgram {
  const [program = '', ...args] = command;
  const { input = '', ...place } = options;
  const child = spawn(program, args, { ...place, stdio: 'pipe' });
  running.add(child);
  child.once('close', () => running.delete(child));
  child.stdin.on('error', () => undefined).end(input); // a program that ends early does not read it
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...output }));
  return {
    line: (pattern) => lineOf(child, output, ended, pattern),
    stderr: () => output.stderr,
    stdout: () => output.stdout,
    pid: child.pid ?? -1,
    ended,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return ended;
    },
  };
}

/** Runs a program to its end. */
export function runProgram(file: string, args: readonly string[], options?: ProgramOptions): Promise<Ended> {
  return startProgram(file, args, options).ended;
}

function lineOf(
  child: ChildProcess,
  output: { readonly stdout: string; readonly stderr: string },
  ended: Promise<Ended>,
  pattern: RegExp,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const found = output.stdout
        .split('\n')
        .slice(0, -1)
        .find((line) => pattern.test(line));
      if (found !== undefined) resolve(found);
    };
    child.stdout?.on('data', look);
    ended.then(({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)), reject);
    look();
  });
}

/** Processes that work in a directory or name it in their arguments; this one's own children stand there while they run. */
export function processesIn(directory: string): string[] {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.flatMap((id) => {
    try {
      const command = readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ');
      const place = readlinkSync(`/proc/${id}/cwd`);
      return command.includes(directory) || place.startsWith(directory) ? [`${id} ${command}`] : [];
    } catch {
      return []; // ended meanwhile
    }
  });
}

/** The listening sockets on ports of loopback, by inode: another program on the same port has another. */
export function listeningOn(ports: readonly number[]): string[] {
  const LISTEN = '0A';
  const [, ...lines] = readFileSync('/proc/net/tcp', 'utf8').trimEnd().split('\n');
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const port = Number.parseInt(local.split(':')[1] ?? '', 16);
    return state === LISTEN && ports.includes(port) ? [inode] : [];
  });
}
