/**
 * Work of a running key server every minute, and once more when it stops: each process stores its counts and when devices were used, and one adds
 * to the audit trail's chain, and removes what has ended.
 */
import type { Logger } from 'pino';
import { eachMinute } from '../../node-support/each-minute.ts';
import { chainAudit } from './audit.ts';
import { removeOldChanges } from './memory.ts';
import type { KeyServerState } from './state.ts';

/** Seconds. */
const LONGEST_MONTH = 31 * 86_400;
/** Seconds for which tellings of a subscription wait for the word on whose it is, and after which that is said. */
const UNCLAIMED_LIFETIME = 30 * 86_400;
const CLAIMED_WITHIN = 600;

/** @param isWorker - whether another process does what is done once @returns the end of it, with a last run */
export function workEachMinute(state: KeyServerState, log: Logger, isWorker: boolean): () => Promise<void> {
  const { database, counts, lastSeen, now } = state;
  let asked = now() - CLAIMED_WITHIN;
  const sayUnclaimed = async () => {
    const [from, until] = [asked, now() - CLAIMED_WITHIN];
    asked = until;
    const sql = `SELECT DISTINCT source FROM unclaimed_tellings WHERE came > ? AND came <= ? AND told NOT LIKE ?`;
    const sources = await database.all<{ source: string }>(sql, from, until, '%"plans":[]%');
    counts.add('stripe-unused no-checkout', sources.length);
    for (const { source } of sources)
      log.warn(
        { source },
        'neither checkout.session.completed nor metadata.subscriber says whose this subscription is',
      );
  };
  const { run, stop } = eachMinute(async () => {
    try {
      await counts.store();
      await lastSeen.store();
      if (isWorker) return;
      await chainAudit(database);
      await sayUnclaimed();
      for (const table of ['invitations', 'checkouts', 'gift_visits'])
        await database.runUnflushed(`DELETE FROM ${table} WHERE expires < ?`, now());
      await database.runUnflushed('DELETE FROM unclaimed_tellings WHERE came < ?', now() - UNCLAIMED_LIFETIME);
      // Gifts of this month count, also where they have ended.
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
