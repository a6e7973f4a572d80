/** Asks several for the same thing: one after the other, and where one is late, the next beside it. */
import { atMost } from './at-most.ts';

export interface Outcome<Candidate, Result> {
  readonly candidate: Candidate;
  readonly result?: Result;
  readonly error?: unknown;
  /** Candidates that were asked before it, and have not answered yet. */
  readonly late: readonly Candidate[];
}

export interface HedgeOptions {
  /** Milliseconds without an outcome after which the next one is asked too. */
  readonly hedgeAfter: number;
  /** Checked before the next one is asked. Those that were asked already are still awaited. */
  readonly isEnough?: () => boolean;
}

/** Yields results as they come, starting the next candidate after `hedgeAfter`; what was asked keeps running. */
export async function* hedged<Candidate, Result>(
  candidates: readonly Candidate[],
  start: (candidate: Candidate) => Promise<Result>,
  { hedgeAfter, isEnough = () => false }: HedgeOptions,
): AsyncGenerator<Outcome<Candidate, Result>, undefined> {
  /** Requests by the order in which they were sent. */
  const running = new Map<number, Promise<Omit<Outcome<number, Result>, 'late'>>>();
  const hasNext = () => next < candidates.length && !isEnough();
  let next = 0;
  for (;;) {
    if (hasNext()) {
      const index = next++;
      const asked = start(candidates[index] as Candidate).then(
        (result) => ({ candidate: index, result }),
        (error: unknown) => ({ candidate: index, error }),
      );
      running.set(index, asked);
    }
    if (running.size === 0) return;
    const first = Promise.race(running.values());
    if (hasNext() && (await atMost(hedgeAfter, first))) continue;
    const outcome = await first;
    running.delete(outcome.candidate);
    const late = [...running.keys()].filter((index) => index < outcome.candidate);
    const [candidate, ...slower] = [outcome.candidate, ...late].map((index) => candidates[index] as Candidate);
    yield { ...outcome, candidate: candidate as Candidate, late: slower };
  }
}
