/** The real `wispr` program, as a person or a script runs it. */
import { spawn } from 'node:child_process';
import { type Ended, type ProgramOptions, ROOT, type RunningProgram, runProgram, startProgram } from './programs.ts';

const PROGRAM = 'bin/wispr.js';

/** Runs `wispr` to its end, without a terminal. */
export function runWispr(args: readonly string[], options?: ProgramOptions): Promise<Ended> {
  return runProgram(PROGRAM, args, options);
}

export interface RunningWispr<Ready> extends RunningProgram {
  /** The JSON that it printed when it was ready. */
  readonly ready: Ready;
}

/** Starts a `wispr` that stays, and waits until it is ready. */
export async function startWispr<Ready = Record<string, string>>(
  args: readonly string[],
  options?: ProgramOptions,
): Promise<RunningWispr<Ready>> {
  const program = startProgram(PROGRAM, [...args, '--json'], options);
  return { ...program, ready: JSON.parse(await program.line(/^\{/)) };
}

/**
 * Runs a command on a terminal (a pseudo-terminal of util-linux's `script`), and types each answer once its question is there.
 *
 * @param answers - pairs of a text that is waited for, and what is typed then
 * @returns what the terminal showed
 */
export function runOnTerminal(
  args: readonly string[],
  answers: readonly (readonly [question: string, typed: string])[],
  { cwd, env }: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<{ code: number | null; shown: string }> {
  const command = [process.execPath, ROOT + PROGRAM, ...args]
    .map((part) => `'${part.replaceAll("'", "'\\''")}'`)
    .join(' ');
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
    cwd,
    ...(env && { env }),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  let read = 0;
  const waiting = [...answers];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    const [question, typed] = waiting[0] ?? [];
    const at = question === undefined ? -1 : shown.indexOf(question, read);
    if (at < 0 || question === undefined) return;
    read = at + question.length;
    waiting.shift();
    child.stdin.write(typed ?? '');
  });
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done({ code, shown }));
  });
}
