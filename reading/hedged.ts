/** Asks several for the same thing: one after the other, and where one is late, the next beside it. */

/** What came of asking one of them. */
export interface Outcome<Candidate, Result> {
  readonly candidate: Candidate;
  readonly result?: Result;
  readonly error?: unknown;
  /** Those that were asked before it, and have not answered yet. */
  readonly late: readonly Candidate[];
}

type Settled<Candidate, Result> = Omit<Outcome<Candidate, Result>, 'late'>;

export interface Patience {
  /** Milliseconds without an outcome after which the next one is asked too. */
  readonly hedgeAfter: number;
  /** Checked before the next one is asked. Those that were asked already are still awaited. */
  readonly isEnough?: () => boolean;
  /** The latest time to wait for an answer, by `performance.now`, once there is one: from then on all that are left are asked at once. */
  readonly until?: () => number | undefined;
}

/** By the order in which they were asked. */
type Running<Candidate, Result> = Map<number, Promise<[number, Settled<Candidate, Result>]>>;

/**
 * Yields results as they arrive. Starts the next candidate if none has answered within `hedgeAfter`. Callers may stop iterating early; pending
 * requests keep running.
 *
 * @param start - asks one of them; what it throws synchronously ends the iteration
 */
export async function* hedged<Candidate, Result>(
  candidates: readonly Candidate[],
  start: (candidate: Candidate) => Promise<Result>,
  { hedgeAfter, isEnough = () => false, until = () => undefined }: Patience,
): AsyncGenerator<Outcome<Candidate, Result>, undefined> {
  const running: Running<Candidate, Result> = new Map();
  let next = 0;
  for (;;) {
    if (next < candidates.length && !isEnough()) {
      const index = next++;
      running.set(index, outcomeOf(candidates[index] as Candidate, index, start));
    }
    if (running.size === 0) return;
    const end = until() ?? Number.POSITIVE_INFINITY;
    const patience = end === Number.POSITIVE_INFINITY ? hedgeAfter : 0;
    const hasNext = next < candidates.length && !isEnough();
    const first = await firstOf(running, Math.min(hasNext ? patience : end, end - performance.now()));
    if (first === undefined && performance.now() >= end) return;
    if (first === undefined) continue;
    const [index, outcome] = first;
    running.delete(index);
    const late = [...running.keys()].filter((one) => one < index);
    yield { ...outcome, late: late.map((one) => candidates[one] as Candidate) };
  }
}

function outcomeOf<Candidate, Result>(
  candidate: Candidate,
  index: number,
  start: (candidate: Candidate) => Promise<Result>,
): Promise<[number, Settled<Candidate, Result>]> {
  return start(candidate).then(
    (result) => [index, { candidate, result }],
    (error: unknown) => [index, { candidate, error }],
  );
}

/** `undefined` when the time is over before any has ended. */
async function firstOf<Candidate, Result>(
  running: Running<Candidate, Result>,
  milliseconds: number,
): Promise<[number, Settled<Candidate, Result>] | undefined> {
  if (milliseconds === Number.POSITIVE_INFINITY) return Promise.race(running.values());
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, milliseconds, undefined);
  });
  try {
    return await Promise.race([...running.values(), late]);
  } finally {
    clearTimeout(timer);
  }
}
