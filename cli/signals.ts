/** Signals that end a command which has something to clean up. */
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Does `work`, whose signal is aborted by Ctrl-C, SIGTERM and SIGHUP. They end nothing by themselves meanwhile, however often they come:
 * `npx` passes on a Ctrl-C that the terminal has sent to everybody already.
 */
export async function untilSignal<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  for (const signal of ENDING) process.on(signal, stop);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of ENDING) process.off(signal, stop);
  }
}
