/** Runs programs as another user of this machine. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const OTHER_USER = 65_534;

/** Returns what a program wrote, once it writes no more. */
export async function runAsOtherUser(program: string, ...args: string[]): Promise<string> {
  const { stdout } = start(program, args);
  return stdout ? text(stdout) : '';
}

/** A program that goes on running, and the first thing that it says. */
export async function startAsOtherUser(
  program: string,
  args: string[],
): Promise<{ child: ChildProcess; line: string }> {
  const child = start(program, args);
  const [line] = await Promise.race([
    once(child.stdout ?? child, 'data'),
    once(child, 'close').then(() => Promise.reject(new Error(`${program} ended`))),
  ]);
  return { child, line: String(line) };
}

function start(program: string, args: string[]): ChildProcess {
  const isRoot = process.getuid?.() === 0;
  const options: SpawnOptions = { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] };
  return isRoot
    ? spawn(program, args, { ...options, uid: OTHER_USER, gid: OTHER_USER })
    : spawn('sudo', ['-n', '-u', `#${OTHER_USER}`, program, ...args], options);
}
