/** How a run ends that is told to. */
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { isUnreachable } from './key-server.ts';

/**
 * Does what may be ended at any moment: what the target has under way is given up then, and it is closed.
 *
 * @param ended - says what readers find then
 * @throws PublishError `stopped`; whatever `work` throws
 */
export async function untilStopped<Result>(
  target: Target | undefined,
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
  ended: () => PublishError = stopped,
): Promise<Result> {
  const giveUp = () => target?.close();
  if (signal?.aborted) giveUp();
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted && isOfOthers(error) ? ended() : error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

/** By whom it was waited for. */
function isOfOthers(error: unknown): boolean {
  return error instanceof StorageError || isUnreachable(error);
}

const GOES_ON = { hint: 'run the same command again: it goes on where this run ended' };

export function stopped(): PublishError {
  return new PublishError('stopped', 'stopped; readers find the publication before', GOES_ON);
}

/** Where the timestamp was on its way. */
export function stoppedAtTimestamp(): PublishError {
  const message = 'stopped while the timestamp was put there; readers find this publication, or the one before';
  return new PublishError('stopped', message, GOES_ON);
}

/** Where the output itself is what is served. */
export function stoppedBeforeTelling(): PublishError {
  const message = 'stopped before the key server was told; readers find this publication, as far as it is served';
  return new PublishError('stopped', message, GOES_ON);
}
