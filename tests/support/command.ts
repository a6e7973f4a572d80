/** Runs the real `wispr` program as a person or a script does. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

const PROGRAM = resolve('bin/wispr.js');

/** How a command ended. */
export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command without a terminal. */
export function runWispr(args: readonly string[], options: { cwd?: string } = {}): Promise<CommandResult> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  }
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done({ code, ...output }));
  });
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
  { cwd }: { cwd: string },
): Promise<{ code: number | null; shown: string }> {
  const command = [process.execPath, PROGRAM, ...args].map((part) => `'${part.replaceAll("'", "'\\''")}'`).join(' ');
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
    cwd,
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
