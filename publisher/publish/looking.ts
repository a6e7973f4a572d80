/** A look at a target that may not hold up what is urgent. */
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';

/**
 * Looks at a target for as long as a signal allows. What is found answers after that, too: only the looking has an end.
 *
 * @param end - the time is over; without it, it takes as long as it takes
 */
export async function lookingUntil<Result>(
  target: Target | undefined,
  end: AbortSignal | undefined,
  look: (target: Target | undefined) => Promise<Result>,
): Promise<Result> {
  if (target === undefined || end === undefined) return look(target);
  const over = new AbortController();
  const giveUp = () => over.abort();
  if (end.aborted) giveUp();
  end.addEventListener('abort', giveUp);
  try {
    return await look(answeringUntil(target, over.signal));
  } finally {
    end.removeEventListener('abort', giveUp);
  }
}

/**
 * The same target, of which nothing is waited for after a signal. What it has under way then is left to itself.
 *
 * @param end - the time is over
 */
function answeringUntil(target: Target, end: AbortSignal): Target {
  const over = new Promise<never>((_, reject) => {
    const giveUp = () => reject(tooSlow(target));
    if (end.aborted) giveUp();
    end.addEventListener('abort', giveUp, { once: true });
  });
  over.catch(() => undefined); // nobody may be waiting for it
  const inTime = <Result>(work: () => Promise<Result>) => {
    return end.aborted ? Promise.reject(tooSlow(target)) : Promise.race([over, work()]);
  };
  return {
    name: target.name,
    list: (prefix) => target.list(prefix),
    head: (path) => inTime(() => target.head(path)),
    get: (path, maximum) => inTime(() => target.get(path, maximum)),
    holds: (file, source) => inTime(() => target.holds(file, source)),
    put: (path, source, options) => target.put(path, source, options),
    remove: (paths) => target.remove(paths),
    removeLeftovers: (before) => target.removeLeftovers(before),
    close: () => target.close(),
  };
}

function tooSlow({ name }: Target): StorageError {
  return new StorageError('target-unreachable', `${name} did not show in time what it has`);
}
