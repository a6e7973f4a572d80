/**
 * Work of a running key server every minute, and once more when it stops: each process stores its counts and when devices were used, and one adds
 * to the audit trail's chain, and removes what has ended.
 */
import type { Logger } from 'pino';
import { eachMinute } from '../../node-support/each-minute.ts';
import { chainAudit } from './audit.ts';
import { removeOldChanges } from './memory.ts';
import type { KeyServerState } from './state.ts';

/** Seconds for which tellings of a subscription wait for the word on whose it is. */
const UNCLAIMED_LIFETIME = 30 * 86_400;

/** @param isWorker - whether another process does what is done once @returns the end of it, with a last run */
export function workEachMinute(state: KeyServerState, log: Logger, isWorker: boolean): () => Promise<void> {
  const { database, counts, lastSeen, now } = state;
  const { run, stop } = eachMinute(async () => {
    try {
      await counts.store();
      await lastSeen.store();
      if (isWorker) return;
      await chainAudit(database);
      for (const table of ['invitations', 'checkouts'])
        await database.runUnflushed(`DELETE FROM ${table} WHERE expires < ?`, now());
      await database.runUnflushed('DELETE FROM unclaimed_tellings WHERE came < ?', now() - UNCLAIMED_LIFETIME);
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
