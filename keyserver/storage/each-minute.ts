/**
 * Work of a running key server every minute, and once more when it stops: each process stores its counts, and one adds to the audit trail's chain,
 * and removes codes that have ended.
 */
import type { Logger } from 'pino';
import { eachMinute } from '../../node-support/each-minute.ts';
import { chainAudit } from './audit.ts';
import type { KeyServerState } from './state.ts';

/** @param isWorker - whether another process does what is done once @returns the end of it, with a last run */
export function workEachMinute(
  { database, counts, now }: KeyServerState,
  log: Logger,
  isWorker: boolean,
): () => Promise<void> {
  const { run, stop } = eachMinute(async () => {
    try {
      await counts.store();
      if (isWorker) return;
      await chainAudit(database);
      await database.runUnflushed('DELETE FROM invitations WHERE expires < ?', now());
    } catch (error) {
      log.warn({ err: error }, 'counts and audit trail were not stored; tried again in a minute');
    }
  });
  return async () => {
    await stop();
    await run();
  };
}
