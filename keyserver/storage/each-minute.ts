/**
 * Work of a running key server every minute, and once more when it stops: each process stores its counts and when devices were used, and one adds
 * to the audit trail's chain, and removes what has ended.
 */
import type { Logger } from 'pino';
import { eachMinute } from '../../node-support/each-minute.ts';
import { chainAudit } from './audit.ts';
import { removeOldChanges } from './memory.ts';
import type { KeyServerState } from './state.ts';

/** In seconds. */
const LONGEST_MONTH = 31 * 86_400;

/** @param isWorker - whether another process does what is done once @returns the end of it, with a last run */
export function workEachMinute(state: KeyServerState, log: Logger, isWorker: boolean): () => Promise<void> {
  const { database, counts, lastSeen, now } = state;
  const { run, stop } = eachMinute(async () => {
    try {
      await counts.store();
      await lastSeen.store();
      if (isWorker) return;
      await chainAudit(database);
      await database.runUnflushed('DELETE FROM invitations WHERE expires < ?', now());
      await database.runUnflushed('DELETE FROM gift_visits WHERE expires < ?', now());
      // Those of this month count, also where they have ended.
      await database.runUnflushed('DELETE FROM gifts WHERE expires < ? AND made < ?', now(), now() - LONGEST_MONTH);
      await removeOldChanges(database);
    } catch (error) {
      log.warn({ err: error }, 'counts and audit trail were not stored; tried again in a minute');
    }
  });
  return async () => {
    await stop();
    await run();
  };
}
