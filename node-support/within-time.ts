/** Bounds in time for what others have to answer. */

/** Said where an answer was not there, or not whole, when its time was over. */
export class OutOfTime extends Error {
  constructor() {
    super('it did not answer in time');
    this.name = 'OutOfTime';
  }
}

/** What waits for others: each has its time, and all of it can be given up at once. */
export class UnderWay {
  readonly #running = new Set<AbortController>();
  #isOver = false;

  /**
   * Does something that may take so long. What does not heed the signal is left to itself.
   *
   * @param work - gives up when its signal says so, the body of an answer included
   * @throws OutOfTime; whatever `work` throws
   */
  async within<Result>(milliseconds: number, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#isOver) throw new Error('it was closed');
    const controller = new AbortController();
    const { promise: givenUp, reject } = Promise.withResolvers<never>();
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
    this.#running.add(controller);
    const timer = setTimeout(() => controller.abort(new OutOfTime()), milliseconds);
    try {
      return await Promise.race([givenUp, work(controller.signal)]);
    } finally {
      clearTimeout(timer);
      this.#running.delete(controller);
    }
  }

  /** Gives up what is under way, and begins nothing more. */
  end(): void {
    this.#isOver = true;
    for (const controller of this.#running) controller.abort(new Error('it was closed'));
  }
}

/**
 * As {@link UnderWay.within}, for one thing alone.
 *
 * @param given - gives it up as well
 * @throws OutOfTime; whatever `work` throws
 */
export function withinTime<Result>(
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<Result>,
  given?: AbortSignal,
): Promise<Result> {
  return new UnderWay().within(milliseconds, (end) => work(given ? AbortSignal.any([end, given]) : end));
}
