import { ReadingError } from './errors.ts';
import type { ContentAnswer } from './open-at.ts';

/**
 * Asks the content hosts of a site in the publisher's order. The next one is asked where one cannot be reached, or does not have what the
 * publication says there is; the last one's answer stands.
 *
 * @throws ReadingError `content-host-unreachable` if none can be reached; whatever else `ask` throws, at once
 */
export async function askInOrder<Host, Answer extends ContentAnswer>(
  hosts: readonly Host[],
  ask: (host: Host) => Promise<Answer>,
): Promise<Answer> {
  let failure: unknown = new ReadingError('content-host-unreachable', 'the site has no content host');
  for (const [index, host] of hosts.entries()) {
    try {
      const answer = await ask(host);
      if (answer.status === 200 || answer.status === 206 || index === hosts.length - 1) return answer;
      await answer.body[Symbol.asyncIterator]().return?.();
    } catch (error) {
      if (!(error instanceof ReadingError) || error.code !== 'content-host-unreachable') throw error;
      failure = error;
    }
  }
  throw failure;
}
