/** How a run ends that is told to. */
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';

/**
 * Does what may be ended at any moment: what the target has under way is given up then, and it is closed.
 *
 * @throws PublishError `stopped`; whatever `work` throws
 */
export async function untilStopped<Result>(
  target: Target,
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  const giveUp = () => target.close();
  if (signal?.aborted) giveUp();
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted && error instanceof StorageError ? stopped() : error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

export function stopped(): PublishError {
  return new PublishError('stopped', 'stopped; readers find the publication before', {
    hint: 'run the same command again: it goes on where this run ended',
  });
}
