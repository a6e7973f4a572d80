/** Signals that end a command which has something to clean up. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Milliseconds in which signals are one: `npx` passes on a Ctrl-C that the terminal has sent to everybody already. */
const TOGETHER = 500;

/** What tests have others of. */
export interface SignalSupport {
  /** Milliseconds. */
  readonly clock?: () => number;
  /** Ends this process as it would have ended by itself. */
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
  const controller = new AbortController();
  let first: number | undefined;
  const stop = (signal: NodeJS.Signals) => {
    first ??= clock();
    if (clock() - first > TOGETHER) end(signal);
    else controller.abort();
  };
  for (const signal of ENDING) process.on(signal, stop);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of ENDING) process.off(signal, stop);
  }
}

function endAtOnce(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
