/** Runs the real `bin/wispr.js`, in an environment of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BIN = fileURLToPath(new URL('../../bin/wispr.js', import.meta.url));

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly process: ChildProcess;
  /** What it has said so far. */
  stderr(): string;
  /** Resolves with the first line on standard output. */
  readonly firstLine: Promise<string>;
  readonly ended: Promise<CliResult>;
}

/** @param home - stands in for the person's home directory and XDG folders */
export function startCli(
  home: string,
  args: readonly string[],
  options: { input?: string; env?: Record<string, string> } = {},
): RunningCli {
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_DATA_HOME: join(home, 'data'),
    XDG_CONFIG_HOME: join(home, 'config'),
    ...options.env,
  };
  const child = spawn(process.execPath, [BIN, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdin.end(options.input ?? '');
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (part: Buffer) => {
      stdout += part.toString();
      if (stdout.includes('\n')) resolve(stdout.slice(0, stdout.indexOf('\n')));
    });
    child.once('close', () => reject(new Error(`ended without a line: ${stderr}`)));
  });
  firstLine.catch(() => undefined); // not everybody waits for it
  child.stderr.on('data', (part: Buffer) => {
    stderr += part.toString();
  });
  const ended = new Promise<CliResult>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
  return { process: child, stderr: () => stderr, firstLine, ended };
}

export function runCli(...parameters: Parameters<typeof startCli>): Promise<CliResult> {
  return startCli(...parameters).ended;
}
