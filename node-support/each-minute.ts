const MINUTE = 60_000;

/**
 * Does something every minute, one run at a time, without keeping the program alive.
 *
 * @param work - handles its own errors
 * @returns runs it once, after the run that is under way
 */
export function eachMinute(work: () => Promise<void>): {
  readonly run: () => Promise<void>;
  readonly stop: () => Promise<void>;
} {
  let last = Promise.resolve();
  const run = () => {
    last = last.then(work);
    return last;
  };
  const timer = setInterval(run, MINUTE);
  timer.unref();
  return {
    run,
    stop: () => {
      clearInterval(timer);
      return last;
    },
  };
}
