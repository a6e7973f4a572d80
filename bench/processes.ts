/** Programs that print a line when they are ready. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const WISPR = fileURLToPath(new URL('../bin/wispr.js', import.meta.url));
export const NODE = process.execPath;

export interface Ready {
  readonly line: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a program, and waits for its first line. @throws Error with what it said if it ends before that */
export async function runToReady(
  [command = '', ...args]: readonly string[],
  directory?: string,
  options: Pick<SpawnOptions, 'env'> = {},
): Promise<Ready> {
  const child = spawn(command, args, { ...options, cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
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

export interface Started<Said> {
  readonly facts: Said;
  stop(): Promise<void>;
}

/** A program of `bench/` that says in a line of JSON what clients have to know, and ends with its standard input. */
export async function startProgram<Said>(file: string, args: readonly string[]): Promise<Started<Said>> {
  const child = spawn(NODE, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const early = ended.then(() => Promise.reject(new Error('the server has ended')));
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), early]);
  return {
    facts: JSON.parse(line),
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}
