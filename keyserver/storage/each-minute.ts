/** What a running key server does every minute, and once more when it stops: adds to the audit trail's chain, and stores counts. */
import type { Logger } from 'pino';
import { chainAudit } from './audit.ts';
import type { KeyServerState } from './state.ts';

const MINUTE = 60_000;

/** @returns the end of it, with a last run */
export function workEachMinute({ database, counts }: KeyServerState, log: Logger): () => Promise<void> {
  let last = Promise.resolve();
  const work = async () => {
    try {
      await counts.store();
      await chainAudit(database);
    } catch (error) {
      log.warn({ err: error }, 'counts and audit trail were not stored; tried again in a minute');
    }
  };
  const run = () => {
    last = last.then(work);
    return last;
  };
  const timer = setInterval(run, MINUTE);
  timer.unref();
  return () => {
    clearInterval(timer);
    return run();
  };
}
