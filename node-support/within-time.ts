/** Answer not complete by the deadline. */
export class OutOfTime extends Error {
  constructor() {
    super('it did not answer in time');
    this.name = 'OutOfTime';
  }
}

/**
 * Does something that waits for others, and may take so long. Work that does not heed the signal is left to itself.
 *
 * @param work - gives up when its signal says so, the body of an answer included
 * @param given - gives it up as well
 * @throws OutOfTime; the reason of `given`; whatever `work` throws
 */
export async function withinTime<Result>(
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<Result>,
  given?: AbortSignal,
): Promise<Result> {
  given?.throwIfAborted();
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(new OutOfTime()), milliseconds); // keeps the process, unlike AbortSignal.timeout
  const signal = given ? AbortSignal.any([time.signal, given]) : time.signal;
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  try {
    return await Promise.race([givenUp, work(signal)]);
  } finally {
    clearTimeout(timer);
  }
}
