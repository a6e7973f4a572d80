/** Runs the real command. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const WISPR = fileURLToPath(new URL('../../bin/wispr.js', import.meta.url));

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `wispr` to its end. */
export async function wispr(folder: string, ...args: string[]): Promise<Outcome> {
  const child = start(folder, args);
  const output = collect(child);
  const [status] = await once(child, 'close');
  return { status, ...output() };
}

export interface RunningCommand {
  readonly child: ChildProcessWithoutNullStreams;
  /** The JSON that it printed when it was ready. */
  readonly ready: Record<string, string>;
  readonly output: () => { stdout: string; stderr: string };
  /** Sends a signal, and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** Starts a `wispr` that stays, and waits for its line of JSON. */
export async function startWispr(folder: string, ...args: string[]): Promise<RunningCommand> {
  const child = start(folder, [...args, '--json']);
  const output = collect(child);
  const closed = once(child, 'close');
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const { stdout } = output();
      if (stdout.includes('\n')) resolve(stdout);
    });
    child.once('close', (status) => reject(new Error(`wispr ended with ${status}: ${output().stderr}`)));
  });
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    const [status] = await closed;
    return status;
  };
  return { child, ready: JSON.parse(line), output, stop };
}

/** A test that fails or times out must not leave a process behind: what still runs ends with the tests. */
const running = new Set<ChildProcessWithoutNullStreams>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function start(folder: string, args: string[]): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [WISPR, ...args], { cwd: folder });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

function collect(child: ChildProcessWithoutNullStreams) {
  const text = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => {
    text.stdout += data;
  });
  child.stderr.on('data', (data) => {
    text.stderr += data;
  });
  return () => text;
}
