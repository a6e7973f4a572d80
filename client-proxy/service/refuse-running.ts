/** A Reader that runs on a database has to be stopped before some things can be done with it. */
import { ReaderError } from '../errors.ts';
import { askStatus } from '../running/read-status.ts';

export interface InTheWay {
  /** Follows "a Reader runs already, on …". */
  readonly why: string;
  /** The process of the service: that one is not in the way. */
  readonly but?: number;
}

/** @throws ReaderError `reader-running`; `reader-unreachable` where it gives no answer */
export async function refuseRunning(directory: string, { why, but }: InTheWay): Promise<void> {
  const running = await askStatus(directory);
  if (running === undefined || running.process === but) return;
  const { url, process } = running;
  throw new ReaderError('reader-running', `a Reader runs already, on ${url}, ${why}`, { fields: { process } });
}
