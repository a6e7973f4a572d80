/** The `wispr` command line, as a person or a script runs it: in this process, or as a program of its own where the process matters. */
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { COMMANDS } from '../../cli/commands/index.ts';
import { runCommandLine } from '../../cli/run.ts';
import { type Ended, type ProgramOptions, ROOT, type RunningProgram, runProgram, startProgram } from './programs.ts';

const PROGRAM = 'bin/wispr.js';

/** Runs `wispr` to its end in this process, without a terminal: nothing has to be loaded anew. */
export function runWispr(args: readonly string[], options: ProgramOptions = {}): Promise<Ended> {
  const { cwd = process.cwd(), env = process.env, input = '' } = options;
  if (isForNode(env)) return runWisprProgram(args, options);
  const [stdout, stderr] = [new Collected(), new Collected()];
  const io = { argv: args, stdin: Readable.from([input]), stdout, stderr, cwd, env, signal: NEVER };
  return inPlace({ cwd, env: { ...env } }, async () => {
    const code = await runCommandLine(COMMANDS, io);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  });
}

/** Runs `wispr` to its end as a program: for signals, and whatever else belongs to a process. */
export function runWisprProgram(args: readonly string[], options?: ProgramOptions): Promise<Ended> {
  return runProgram(PROGRAM, args, options);
}

/** Tells whether there are variables that Node.js itself reads, when it starts. */
function isForNode(env: NodeJS.ProcessEnv): boolean {
  return Object.keys(env).some((name) => name.startsWith('NODE_') && env[name] !== process.env[name]);
}

/** Signal without which each command would listen for the signals of this process. */
const NEVER = new AbortController().signal;

class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    this.emit('collected');
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
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

/** The same without a process of its own. The command has its directory and environment until it is ready; `stop` is what Ctrl-C is. */
export async function startInProcess<Ready = Record<string, string>>(
  args: readonly string[],
  { cwd = process.cwd(), env = process.env }: ProgramOptions = {},
): Promise<Omit<RunningWispr<Ready>, 'pid' | 'line'>> {
  const [stdout, stderr, ending] = [new Collected(), new Collected(), new AbortController()];
  const io = { argv: [...args, '--json'], stdin: Readable.from([]), stdout, stderr, cwd, env, signal: ending.signal };
  const told = () => ({ stdout: stdout.text(), stderr: stderr.text() });
  const { ended } = await inPlace({ cwd, env: { ...env } }, async () => {
    const ended = runCommandLine(COMMANDS, io).then((code) => ({ code, ...told() }));
    await Promise.race([firstLine(stdout), ended]);
    return { ended };
  });
  const [line = ''] = stdout.text().split('\n');
  if (line === '') throw new Error(`ended with ${(await ended).code}: ${stderr.text()}`);
  return {
    ready: JSON.parse(line),
    stdout: () => stdout.text(),
    stderr: () => stderr.text(),
    ended,
    stop: () => {
      ending.abort();
      return ended;
    },
  };
}

function firstLine(output: Collected): Promise<void> {
  return new Promise((resolve) => {
    output.on('collected', () => {
      if (output.text().includes('\n')) resolve();
    });
  });
}

/** Pairs of a text that is waited for, and what is typed then. */
export type Answers = readonly (readonly [question: string, typed: string])[];

/**
 * Runs a command in this process on what is a terminal to it, and types each answer once its question is there.
 *
 * @returns what the terminal showed: output, and what was typed while the command had it shown
 */
export function runOnTerminal(
  args: readonly string[],
  answers: Answers,
  { cwd, env = process.env }: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<{ code: number | null; shown: string }> {
  const terminal = new Terminal(answers);
  const { stdin, output, ending } = terminal;
  const io = { argv: args, stdin, stdout: output, stderr: output, cwd, env, signal: ending.signal };
  return inPlace({ cwd, env: { ...env } }, async () => {
    const code = await runCommandLine(COMMANDS, io);
    return { code, shown: terminal.shown };
  });
}

class Terminal {
  shown = '';
  readonly ending = new AbortController();
  #isRaw = false;
  #read = 0;
  readonly #waiting: (readonly [question: string, typed: string])[];
  readonly stdin = Object.assign(new Readable({ read: () => undefined }), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => {
      this.#isRaw = isRaw;
    },
  });
  readonly output = Object.assign(
    new Writable({
      write: (chunk, _, done) => {
        this.shown += chunk;
        this.#answer();
        done();
      },
    }),
    { isTTY: true },
  );

  constructor(answers: Answers) {
    this.#waiting = [...answers];
  }

  #answer(): void {
    const [question = '', typed = ''] = this.#waiting[0] ?? [];
    const at = this.#waiting.length === 0 ? -1 : this.shown.indexOf(question, this.#read);
    if (at < 0) return;
    this.#read = at + question.length;
    this.#waiting.shift();
    if (!this.#isRaw) this.shown += typed;
    if (!this.#isRaw && typed === '\u0003') this.ending.abort();
    else this.stdin.push(this.#isRaw ? typed : typed.replaceAll('\r', '\n'));
  }
}

/** The same as {@link runOnTerminal}, as a program on a pseudo-terminal of util-linux's `script`. */
export function runOnPseudoTerminal(
  args: readonly string[],
  answers: Answers,
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

/** Directory and environment of a command that runs in this process. */
interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Variables that the test runner needs stay. */
const OWN = /^(?:VITEST|NODE_|WISPR_)/;

let current: { readonly key: string; readonly leave: () => void; commands: number } | undefined;
const waiting: (() => void)[] = [];

/** Does `work` with this process in a place. Work in the same place may run at the same time, work in another one waits. */
async function inPlace<Result>(place: Place, work: () => Promise<Result>): Promise<Result> {
  const key = JSON.stringify(place);
  while (current && current.key !== key) await new Promise<void>((resolve) => waiting.push(resolve));
  current ??= { key, leave: enter(place), commands: 0 };
  const mine = current;
  mine.commands += 1;
  try {
    return await work();
  } finally {
    mine.commands -= 1;
    if (mine.commands === 0 && current === mine) leavePlace();
  }
}

/** Leaves the place of a command that hangs: those that wait for its place would hang as well. */
export function leavePlace(): void {
  current?.leave();
  current = undefined;
  for (const proceed of waiting.splice(0)) proceed();
}

/** @returns what leads back */
function enter(place: Place): () => void {
  const before = { cwd: process.cwd(), env: { ...process.env } };
  become(place);
  return () => become(before);
}

function become({ cwd, env }: Place): void {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!OWN.test(name) && !(name in env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}
