/** Runs programs as another user of this machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const OTHER_USER = 65_534;

/** Returns what a program wrote, when it has ended. */
export async function runAsOtherUser(program: string, ...args: string[]): Promise<string> {
  const child = start(program, args);
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(child, 'close');
  return text;
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
  return isRoot
    ? spawn(program, args, { uid: OTHER_USER, gid: OTHER_USER, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] })
    : spawn('sudo', ['-n', '-u', `#${OTHER_USER}`, program, ...args], {
        cwd: '/',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
}
