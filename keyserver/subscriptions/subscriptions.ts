/** Subscriptions: who subscribes to which plan, from when and until when. Earlier ones stay, for what dated plans gave for ever. */
import { KeyServerError } from '../errors.ts';
import type { Database } from '../storage/database.ts';
import type { Right } from './periods.ts';
import { findPlan, noPlan } from './plans.ts';
import { grantsOf, OWN_OR_OF_GROUP } from './subscribers.ts';

interface SubscriptionRow {
  readonly id: number;
  readonly begins: number;
  readonly ends: number | null;
}

/** A subscription of one subscriber. Times in seconds since 1970. */
export interface HeldPlan {
  readonly plan: string;
  readonly title: string;
  /** Of a dated plan: by which its days are counted. */
  readonly zone: string | null;
  readonly from: number;
  /** `null`: without end. */
  readonly until: number | null;
}

/** The subscriptions of a subscriber, and of their group, by plan and time. */
export async function plansOf(database: Database, subscriber: number): Promise<HeldPlan[]> {
  const sql = `SELECT plan, title, zone, begins AS "from", ends AS until FROM subscriptions JOIN plans ON plans.name = plan
    WHERE ${OWN_OR_OF_GROUP} ORDER BY plan, begins`;
  return database.all<HeldPlan>(sql, subscriber, subscriber);
}

/** Everything that entitles a subscriber: named sets, and current and ended subscriptions; their own, and those of their group. */
export async function rightsOf(database: Database, subscriber: number): Promise<Right[]> {
  const grants = await grantsOf(database, subscriber);
  const rows = await database.all<
    { name: string; title: string; patterns: string; zone: string | null } & SubscriptionRow
  >(
    `SELECT plans.name, title, patterns, zone, begins, ends FROM subscriptions JOIN plans ON plans.name = plan
     WHERE ${OWN_OR_OF_GROUP} ORDER BY plans.name, begins`,
    subscriber,
    subscriber,
  );
  return [
    ...grants.map(({ pattern, from, until }) => ({ patterns: [pattern], from, until, zone: null, plan: null })),
    ...rows.map(({ name, title, patterns, zone, begins, ends }) => ({
      patterns: patterns.split(' '),
      from: begins,
      until: ends,
      zone,
      plan: { name, title },
    })),
  ];
}

/** What {@link subscribe} did. */
export type Subscribed = 'begun' | 'moved' | 'unchanged';

/**
 * Begins a subscription, or moves the one that it meets: its end, and its beginning where this one is earlier. Done twice, it is the same.
 *
 * @param from - seconds since 1970
 * @param until - seconds since 1970, inclusive; `null`: without end
 * @throws KeyServerError `argument-invalid` where there is no such plan, it ends before it begins, or begins before 1970
 */
export async function subscribe(
  database: Database,
  subscriber: number,
  plan: string,
  from: number,
  until: number | null,
): Promise<Subscribed> {
  if (from < 0) throw new KeyServerError('argument-invalid', 'it begins before 1970', { typed: true });
  if (until !== null && until < from)
    throw new KeyServerError('argument-invalid', 'it ends before it begins', { typed: true });
  if (!(await findPlan(database, plan))) throw noPlan(plan);
  // One that ended the second before goes on.
  const sql = `SELECT id, begins, ends FROM subscriptions
    WHERE subscriber = ? AND plan = ? AND coalesce(source, '') = '' AND begins <= ? AND (ends IS NULL OR ends >= ?)
    ORDER BY begins DESC`;
  const met = await database.first<SubscriptionRow>(sql, subscriber, plan, until ?? Number.MAX_SAFE_INTEGER, from - 1);
  if (met === undefined) {
    const insert = 'INSERT INTO subscriptions (subscriber, plan, begins, ends) VALUES (?, ?, ?, ?)';
    await database.run(insert, subscriber, plan, from, until);
    return 'begun';
  }
  if (met.ends === until && met.begins <= from) return 'unchanged';
  const update = 'UPDATE subscriptions SET begins = ?, ends = ? WHERE id = ?';
  await database.run(update, Math.min(met.begins, from), until, met.id);
  return 'moved';
}

/**
 * Ends the subscriptions that stand, and takes back those that have not begun. What a dated plan gave for ever stays.
 *
 * @param plan - this one only
 * @param at - their last second, since 1970
 * @returns how many
 */
export async function endSubscriptions(
  database: Database,
  subscriber: number,
  at: number,
  plan?: string,
): Promise<number> {
  const [of, values] =
    plan === undefined ? ['subscriber = ?', [subscriber]] : ['subscriber = ? AND plan = ?', [subscriber, plan]];
  const ended = `UPDATE subscriptions SET ends = ? WHERE ${of} AND begins <= ? AND (ends IS NULL OR ends > ?)`;
  const notBegun = await database.run(`DELETE FROM subscriptions WHERE ${of} AND begins > ?`, ...values, at);
  return notBegun + (await database.run(ended, at, ...values, at, at));
}

/** A subscription that another system keeps, such as a payment service. */
export interface KeptElsewhere {
  /** Names it there, and the system. */
  readonly source: string;
  /** Time at which it was as it is told, in seconds since 1970. */
  readonly at: number;
  /** Whatever else is told of it was so before. */
  readonly isLast: boolean;
  /** All that it is for; others that it was for before end. */
  readonly plans: readonly string[];
  readonly from: number;
  /** Time from which it stands again, where it had ended. */
  readonly periodFrom: number;
  readonly until: number;
}

/**
 * Records what another system tells, within the caller's transaction. Of two tellings the later one counts, in whichever order they come; of two
 * of one second, the one with the later end. What has ended is not made longer: a further row begins.
 *
 * @returns whether it was news
 * @throws KeyServerError `argument-invalid` where there is no such plan
 */
export async function recordKeptElsewhere(
  database: Database,
  subscriber: number,
  { source, at, isLast, plans, from, periodFrom, until }: KeptElsewhere,
): Promise<boolean> {
  const known = await database.all<{ plan: string; told: number; ends: number }>(
    'SELECT plan, told, ends FROM subscriptions WHERE source = ?',
    source,
  );
  const told = isLast ? Number.MAX_SAFE_INTEGER : at;
  if (known.some((row) => row.told > told || (row.told === told && (isLast || row.ends > until)))) return false;
  const stands = until > at;
  for (const plan of new Set(plans)) {
    if (!(await findPlan(database, plan))) throw noPlan(plan);
    const row = known.find((each) => each.plan === plan);
    if (row && !stands) continue;
    const hasEnded = row && row.ends < at;
    const kept = `UPDATE subscriptions SET source = source || ' ' || id WHERE source = ? AND plan = ?`;
    if (hasEnded) await database.run(kept, source, plan);
    const sql = `INSERT INTO subscriptions (subscriber, plan, begins, ends, source, told) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (source, plan) DO UPDATE SET subscriber = excluded.subscriber, ends = excluded.ends, told = excluded.told`;
    // Payments until now were for the other plan.
    const wasOther = known.some((each) => each.plan !== plan && each.ends >= at);
    const begins = wasOther ? Math.max(from, at) : hasEnded ? Math.max(from, periodFrom) : from;
    await database.run(sql, subscriber, plan, begins, until, source, told);
  }
  const ended = known.filter(({ plan }) => !stands || !plans.includes(plan));
  const end =
    'UPDATE subscriptions SET told = ?, ends = CASE WHEN ends < ? THEN ends ELSE ? END WHERE source = ? AND plan = ?';
  const last = Math.min(at, until);
  for (const { plan } of ended) await database.run(end, told, last, last, source, plan);
  return plans.length + ended.length > 0;
}
