/** Runs programs as another user of this machine: as `nobody`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const NOBODY = 65_534;

/** What a program wrote, when it has ended. */
export async function runAsNobody(program: string, ...args: string[]): Promise<string> {
  const child = start(program, args);
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(child, 'close');
  return text;
}

/** A program that goes on running, and the first thing that it says. */
export async function startAsNobody(program: string, args: string[]): Promise<{ child: ChildProcess; line: string }> {
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
    ? spawn(program, args, { uid: NOBODY, gid: NOBODY, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] })
    : spawn('sudo', ['-n', '-u', `#${NOBODY}`, program, ...args], { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
}
