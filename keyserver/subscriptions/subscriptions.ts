/** Subscriptions: who subscribes to which plan, from when and until when. Earlier ones stay, for what dated plans gave for ever. */
import { mistyped } from '../errors.ts';
import type { Database } from '../storage/database.ts';
import { noteEndedHere } from './kept-elsewhere.ts';
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
  /** Time zone of a dated plan, by which its days are counted. */
  readonly zone: string | null;
  readonly from: number;
  readonly until: number | null;
}

/** The subscriptions of a subscriber, and of their group, by plan and time. */
export async function plansOf(database: Database, subscriber: number): Promise<HeldPlan[]> {
  const sql = `SELECT plan, title, zone, begins AS "from", ends AS until FROM subscriptions JOIN plans ON plans.name = plan
    WHERE ${OWN_OR_OF_GROUP} ORDER BY plan, begins`;
  return database.all<HeldPlan>(sql, subscriber, subscriber);
}

/** A right as a row: sets that were named, where it has no plan. */
export interface RightRow {
  readonly name: string | null;
  readonly title: string | null;
  /** Separated by spaces. */
  readonly patterns: string;
  readonly zone: string | null;
  readonly begins: number;
  readonly ends: number | null;
}

export function rightOf({ name, title, patterns, zone, begins, ends }: RightRow): Right {
  const plan = name === null ? null : { name, title: title ?? '' };
  return { patterns: patterns.split(' '), from: begins, until: ends, zone, plan };
}

/** Finds all that entitles a subscriber: named sets, and current and ended subscriptions; their own, and those of their group. */
export async function rightsOf(database: Database, subscriber: number): Promise<Right[]> {
  const grants = await grantsOf(database, subscriber);
  const sql = `SELECT plans.name, title, patterns, zone, begins, ends FROM subscriptions JOIN plans ON plans.name = plan
    WHERE ${OWN_OR_OF_GROUP} ORDER BY plans.name, begins`;
  const rows = await database.all<RightRow>(sql, subscriber, subscriber);
  return [
    ...grants.map(({ pattern, from, until }) => ({ patterns: [pattern], from, until, zone: null, plan: null })),
    ...rows.map(rightOf),
  ];
}

/** Outcome of {@link subscribe}. */
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
  if (from < 0) throw mistyped('it begins before 1970');
  if (until !== null && until <= from) throw mistyped('it ends before it begins');
  if (!(await findPlan(database, plan))) throw noPlan(plan);
  // A subscription that ended the second before goes on.
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
  await noteEndedHere(database, subscriber, at, plan);
  const ended = `UPDATE subscriptions SET ends = ? WHERE ${of} AND begins < ? AND (ends IS NULL OR ends > ?)`;
  const notBegun = await database.run(`DELETE FROM subscriptions WHERE ${of} AND begins >= ?`, ...values, at);
  return notBegun + (await database.run(ended, at, ...values, at, at));
}
