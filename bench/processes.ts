/** Programs that print a line when they are ready. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type ProgramOptions, startCommand } from '../tests/support/programs.ts';

export const WISPR = fileURLToPath(new URL('../bin/wispr.js', import.meta.url));
export const NODE = process.execPath;

export interface Ready {
  readonly line: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a program, and waits for its first line. @throws Error with what it said if it ends before that */
export async function runToReady(
  command: readonly string[],
  cwd?: string,
  options: Pick<ProgramOptions, 'env'> = {},
): Promise<Ready> {
  const program = startCommand(command, { ...options, ...(cwd !== undefined && { cwd }) });
  const line = await program.line(/^/);
  return { line, pid: program.pid, stop: async () => void (await program.stop()) };
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
