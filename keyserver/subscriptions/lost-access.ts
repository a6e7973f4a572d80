/** Finds the sets that somebody could read, and cannot any more, since their keys came: the publisher may give them new ones. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { type Access, decideAccess } from './access.ts';

interface Loss {
  /** Separated by spaces. */
  readonly patterns: string;
  readonly zone: string | null;
  /** Last time, in seconds since 1970. */
  readonly lost: number;
}

/**
 * The last end of each plan, which an index finds; of each named set; and what was noted below, which covers all sets of a plan, also of a dated one.
 * A subscriber who holds the same plan again has lost nothing.
 */
const LOSSES = `SELECT patterns, zone, lost FROM (
    SELECT patterns, zone, (SELECT ends FROM subscriptions AS ended WHERE plan = plans.name AND ends < ? AND NOT EXISTS (
      SELECT 1 FROM subscriptions AS other WHERE other.subscriber = ended.subscriber AND other.plan = ended.plan
        AND other.begins <= ? AND (other.ends IS NULL OR other.ends >= ?)) ORDER BY ends DESC LIMIT 1) AS lost FROM plans
    UNION ALL SELECT pattern, NULL, max(granted_until) FROM grants WHERE granted_until < ? GROUP BY pattern
    UNION ALL SELECT patterns, NULL, lost FROM lost_access
  ) AS losses WHERE lost IS NOT NULL`;

/**
 * The newest keys of those sets that at least one person has lost since the key came here: by an end, a revocation, or a deleted account. Devices that
 * were disconnected, and plans that have fewer sets now, do not count. Where in doubt, a key is among them.
 */
export async function keysOfFormerReaders({ database, now }: KeyServerState): Promise<KeyId[]> {
  const time = now();
  const newest = new Map<string, { readonly id: KeyId; readonly name: string; readonly imported: number }>();
  const sets = 'SELECT id, name, imported FROM sets ORDER BY imported';
  for (const set of await database.all<{ id: KeyId; name: string; imported: number }>(sets)) newest.set(set.name, set);
  const losses = await database.all<Loss>(LOSSES, time, time, time, time);
  const ended = losses.map(({ patterns, zone, lost }) => ({
    patterns: patterns.split(' '),
    from: 0,
    until: lost,
    zone,
  }));
  const isLost = (right: Access & { readonly until: number }, name: string) =>
    decideAccess([right], name, right.until).denied === undefined &&
    decideAccess([right], name, Math.max(time, right.until + 1)).denied !== undefined;
  return [...newest.values()]
    .filter(({ name, imported }) => ended.some((right) => right.until >= imported && isLost(right, name)))
    .map(({ id }) => id);
}

/**
 * Notes what a subscriber, and the members of a group, lose at once: before it goes, within the caller's transaction.
 *
 * @param time - seconds since 1970
 */
export async function noteLostAccess(database: Database, subscriber: number, time: number): Promise<void> {
  const whose = '(subscribers.id = ? OR member_of = ?) AND revoked IS NULL';
  const right = (table: string) => `${table} ON ${table}.subscriber IN (subscribers.id, member_of)`;
  const sql = `INSERT INTO lost_access (patterns, lost)
    SELECT patterns, max(CASE WHEN ends < ? THEN ends ELSE ? END) FROM (
      SELECT patterns, begins, ends FROM subscribers JOIN ${right('subscriptions')} JOIN plans ON plans.name = plan WHERE ${whose}
      UNION ALL SELECT pattern, granted_from, granted_until FROM subscribers JOIN ${right('grants')} WHERE ${whose}
    ) AS rights WHERE begins <= ? GROUP BY patterns
    ON CONFLICT (patterns) DO UPDATE SET lost = CASE WHEN excluded.lost > lost_access.lost THEN excluded.lost ELSE lost_access.lost END`;
  await database.run(sql, time, time, subscriber, subscriber, subscriber, subscriber, time);
}
