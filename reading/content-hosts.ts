/** Content hosts of a site, one after the other. All they give is verified, so their order is a matter of time only. */
import { ReadingError } from './errors.ts';
import { faultOf, moreTelling } from './host-faults.ts';

/** Milliseconds for which a failure counts. */
const COUNTS_FOR = 60_000;
/** Origins that are remembered. */
const MOST_ORIGINS = 1_000;

/** Remembers hosts that failed lately, so that they are asked last. */
export class FailedHosts {
  readonly #now: () => number;
  readonly #failedAt = new Map<string, number>();

  /** @param now - milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  add(origin: string): void {
    if (this.#failedAt.size >= MOST_ORIGINS) this.#failedAt.clear();
    this.#failedAt.set(origin, this.#now());
  }

  /** The hosts in the publisher's order, but those that failed lately last. */
  inOrder<Host>(hosts: readonly Host[], originOf: (host: Host) => string): readonly Host[] {
    const hasFailed = (host: Host) =>
      Number(this.#now() - (this.#failedAt.get(originOf(host)) ?? -Infinity) < COUNTS_FOR);
    return hosts.toSorted((one, other) => hasFailed(one) - hasFailed(other));
  }
}

/**
 * Does `work` with one host after another, until it succeeds.
 *
 * @param failed - called for each host that fails
 * @throws the most telling failure; at once, where another host would not help
 */
export async function askInOrder<Host, Result>(
  hosts: readonly Host[],
  work: (host: Host, isLast: boolean) => Promise<Result>,
  failed: (host: Host) => void,
): Promise<Result> {
  let failure: unknown = new ReadingError('content-host-unreachable', 'the site has no content host');
  for (const [index, host] of hosts.entries()) {
    try {
      return await work(host, index === hosts.length - 1);
    } catch (error) {
      if (faultOf(error) === undefined) throw error;
      failed(host);
      failure = index === 0 ? error : moreTelling(failure, error);
    }
  }
  throw failure;
}
