/** Asks content hosts in the publisher's order, but those that failed lately come last. All are verified, so the order is a matter of time only. */
import { ReadingError } from '../../reading/errors.ts';
import { faultOf, moreTelling } from '../../reading/host-faults.ts';
import { HostAttempt } from '../fetching.ts';

/** Milliseconds for which a failure counts. */
const COUNTS_FOR = 60_000;

/** Milliseconds until a host must have what is wanted there: where there are others, and where it is the last. */
const TIMEOUT = { withOthers: 10_000, last: 60_000 } as const;

const failures = new Map<string, number>();

export function noteFailure(origin: string): void {
  failures.set(origin, Date.now());
}

export function inOrder(origins: readonly string[]): readonly string[] {
  const hasFailed = (origin: string) => Number(Date.now() - (failures.get(origin) ?? 0) < COUNTS_FOR);
  return origins.toSorted((one, other) => hasFailed(one) - hasFailed(other));
}

/**
 * Does `work` with one host after another, until it succeeds.
 *
 * @param hosts - origins
 * @param passedOver - hosts to leave out
 * @throws the most telling failure; at once, where another host would not help
 */
export async function askHosts<Result>(
  hosts: readonly string[],
  work: (attempt: HostAttempt) => Promise<Result>,
  passedOver: ReadonlySet<string> = new Set(),
): Promise<Result> {
  const waiting = hosts.filter((origin) => !passedOver.has(origin));
  let failure: unknown = new ReadingError('content-host-unreachable', 'the site has no content host');
  for (const [index, origin] of waiting.entries()) {
    const attempt = new HostAttempt(origin);
    const isLast = index === waiting.length - 1;
    const timer = setTimeout(() => attempt.end(), TIMEOUT[isLast ? 'last' : 'withOthers']);
    try {
      return await work(attempt);
    } catch (error) {
      attempt.end();
      if (faultOf(error) === undefined) throw error;
      noteFailure(origin);
      failure = index === 0 ? error : moreTelling(failure, error);
    } finally {
      clearTimeout(timer);
    }
  }
  throw failure;
}
