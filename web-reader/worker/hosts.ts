/** Content hosts as the worker asks them: one after the other, each for a limited time. */
import { askInOrder, FailedHosts } from '../../reading/content-hosts.ts';
import { FetchingHost } from '../fetching.ts';

/** Milliseconds until a host must have what is wanted there: where there are others, and where it is the last. */
const TIMEOUT = { withOthers: 10_000, last: 60_000 } as const;

export const failedHosts = new FailedHosts(() => Date.now());

/** Hosts in the order in which they are asked. */
export function inOrder(origins: readonly string[]): readonly string[] {
  return failedHosts.inOrder(origins, (origin) => origin);
}

/**
 * Does `work` with one host after another, until it succeeds.
 *
 * @param hosts - origins
 * @throws as `askInOrder`
 */
export function askHosts<Result>(
  hosts: readonly string[],
  work: (attempt: FetchingHost) => Promise<Result>,
): Promise<Result> {
  const ask = async (origin: string, isLast: boolean) => {
    const attempt = new FetchingHost(origin);
    const timer = setTimeout(() => attempt.end(), TIMEOUT[isLast ? 'last' : 'withOthers']);
    try {
      return await work(attempt);
    } catch (error) {
      attempt.end();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
  return askInOrder(hosts, ask, (origin) => failedHosts.add(origin));
}
