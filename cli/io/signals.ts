/** Ctrl-C and signals that end a command. Where the command line was given an `AbortSignal`, that one stands for them. */
import { currentIo } from './context.ts';

/** Signals that end a command after it has cleaned up. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Signals that stop a server. */
const STOPPING = ['SIGINT', 'SIGTERM'] as const;
/** Milliseconds in which signals are one: `npx` and bin/wispr.js pass on a Ctrl-C that the terminal has sent to all processes already. */
const TOGETHER = 500;

export interface SignalSupport {
  /** Milliseconds. */
  readonly clock?: () => number;
  /** Ends this process as the signal would have ended it. */
  readonly end?: (signal: NodeJS.Signals) => void;
}

/**
 * Does `work`, whose signal is aborted by Ctrl-C, SIGTERM and SIGHUP. The next one after that ends the process at once, whatever `work` waits for:
 * it is as if it had been killed, which everything here has to outlive anyway.
 */
export async function untilSignal<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  { clock = () => performance.now(), end = endAtOnce }: SignalSupport = {},
): Promise<Result> {
  const given = currentIo().signal;
  if (given) return await work(given);
  const controller = new AbortController();
  let first: number | undefined;
  const stop = (signal: NodeJS.Signals) => {
    first ??= clock();
    if (clock() - first > TOGETHER) end(signal);
    else controller.abort();
  };
  const forget = () => {
    for (const signal of ENDING) process.off(signal, stop);
  };
  for (const signal of ENDING) process.on(signal, stop);
  try {
    return await work(controller.signal);
  } finally {
    if (first === undefined) forget();
    else setTimeout(forget, TOGETHER).unref();
  }
}

/** Resolves when a server is to stop: Ctrl-C or SIGTERM. To be called before the server is ready, so that no signal is lost. */
export function stopRequested(): Promise<void> {
  const { signal } = currentIo();
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    else if (signal) signal.addEventListener('abort', () => resolve(), { once: true });
    else for (const name of STOPPING) process.on(name, stop);
    function stop(): void {
      setTimeout(forget, TOGETHER).unref();
      resolve();
    }
    function forget(): void {
      for (const name of STOPPING) process.off(name, stop);
    }
  });
}

function endAtOnce(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
