/**
 * Subscriptions that another system keeps, such as a payment service. All that it tells is kept, and the rights follow from all of it, and from the
 * best word on whose the subscription is: so they are the same in whichever order it comes.
 */
import type { Database } from '../storage/database.ts';
import { findPlan, noPlan } from './plans.ts';
import type { Subscriber } from './subscribers.ts';

/** Progress of a subscription: of two tellings of one second, the one that is further on is the later one. */
export const STEPS = ['created', 'updated', 'ended here', 'deleted'] as const;

/** State of a subscription at one time, as it is told. Times in seconds since 1970. */
export interface Telling {
  readonly at: number;
  /** `deleted`: whatever else is told of it was so before. */
  readonly step: (typeof STEPS)[number];
  /** Plans that it is for; others that it was for before end. Of `ended here`, plans that end. */
  readonly plans: readonly string[];
  readonly from: number;
  /** Time from which it stands again, where it had ended. */
  readonly periodFrom: number;
  readonly until: number;
  /** Time until which it is paid for; left out where the system does not say. */
  readonly paid?: number | undefined;
  /** Says that it is not renewed then. */
  readonly ends?: true | undefined;
  /** Says that the last payment has failed. */
  readonly failed?: true | undefined;
}

/** Time for which a plan may be read. */
export interface Span {
  readonly plan: string;
  begins: number;
  ends: number;
}

/**
 * Finds the rights that follow from what was told. What has ended is not made longer: a further span begins. Nothing begins before it stood once.
 *
 * @param tellings - in any order, each once
 */
export function spansOf(tellings: readonly Telling[]): Span[] {
  const spans: Span[] = [];
  const endedHere = new Set<Span>();
  for (const { at, step, plans, from, periodFrom, until } of [...tellings].sort(inOrder)) {
    const stands = until > at;
    const before = spans.filter(({ ends }) => ends >= at).map(({ plan }) => plan);
    for (const span of spans) {
      const isHere = step === 'ended here';
      if (isHere ? !plans.includes(span.plan) : stands && plans.includes(span.plan)) continue;
      if (isHere && span.ends > at) endedHere.add(span);
      span.ends = Math.min(span.ends, at, until);
    }
    for (const plan of stands ? new Set(plans) : []) {
      const own = spans.findLast((span) => span.plan === plan);
      if (own && before.includes(plan)) {
        own.ends = until;
        continue;
      }
      // Payments until now were for the other plan, or are no reason any more.
      const isNew = before.some((each) => each !== plan) || (own && endedHere.has(own));
      const begins = isNew ? Math.max(from, at) : own ? Math.max(from, periodFrom) : from;
      spans.push({ plan, begins, ends: until });
    }
  }
  return spans.filter(({ begins, ends }) => ends > begins);
}

function inOrder(one: Telling, other: Telling): number {
  const isLast = ({ step }: Telling) => Number(step === 'deleted');
  const rank = ({ step }: Telling) => STEPS.indexOf(step);
  return (
    isLast(one) - isLast(other) ||
    one.at - other.at ||
    rank(one) - rank(other) ||
    one.plans.length - other.plans.length ||
    one.until - other.until ||
    (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
  );
}

const INSERT = 'INSERT INTO tellings (source, subscriber, told) VALUES (?, ?, ?)';
/** Tellings of subscriptions that are nobody's yet; the oldest make room. They are forgotten after some weeks (storage/each-minute.ts). */
const MOST_UNCLAIMED = 10_000;

/** Word on whose a subscription is. One that names the subscriber counts before one of a checkout, and then the later one. */
export interface Claim {
  readonly subscriber: number;
  readonly said: number;
  readonly isNamed: boolean;
}

interface KnownClaim {
  readonly subscriber: number;
  readonly word: number;
  readonly said: number;
  /** Tells whether its name is above that of the other one: of two words of one second, that is the same in any order. */
  readonly above: number;
}

/**
 * Says whose a subscription is, within the caller's transaction: whatever was told of it, and waits, counts from then on.
 *
 * @param source - names the subscription there, and the system
 * @returns the change of rights
 */
export async function claimSource(
  database: Database,
  source: string,
  { subscriber, said, isNamed }: Claim,
): Promise<Settled> {
  const sql = `SELECT subscriber, word, said,
      CASE WHEN name_key > (SELECT name_key FROM subscribers WHERE id = ?) THEN 1 ELSE 0 END AS above
    FROM sources JOIN subscribers ON subscribers.id = subscriber WHERE source = ?`;
  const known = await database.first<KnownClaim>(sql, subscriber, source);
  const word = Number(isNamed);
  if (known && (word - known.word || said - known.said || -known.above) < 0) return undefined;
  const upsert = `INSERT INTO sources (source, subscriber, word, said) VALUES (?, ?, ?, ?)
    ON CONFLICT (source) DO UPDATE SET subscriber = excluded.subscriber, word = excluded.word, said = excluded.said`;
  await database.run(upsert, source, subscriber, word, said);
  if (known?.subscriber === subscriber) return undefined;
  await database.run('UPDATE tellings SET subscriber = ? WHERE source = ?', subscriber, source);
  const waiting = 'SELECT told FROM unclaimed_tellings WHERE source = ? ORDER BY id';
  for (const { told } of await database.all<{ told: string }>(waiting, source))
    await database.run(INSERT, source, subscriber, told);
  await database.run('DELETE FROM unclaimed_tellings WHERE source = ?', source);
  return settle(database, source, subscriber);
}

/** Tells whether what was told of a subscription that is nobody's yet names no plan. */
export async function isOfNoPlan(database: Database, source: string): Promise<boolean> {
  const sql = 'SELECT told FROM unclaimed_tellings WHERE source = ?';
  const waiting = (await database.all<{ told: string }>(sql, source)).map(({ told }) => JSON.parse(told) as Telling);
  return waiting.length > 0 && waiting.every(({ plans }) => plans.length === 0);
}

/** The subscriber whose a subscription of another system is, if that is known. */
export async function ownerOf(database: Database, source: string): Promise<Subscriber | undefined> {
  const sql = `SELECT subscribers.id AS id, name, revoked FROM sources JOIN subscribers ON subscribers.id = subscriber
    WHERE source = ?`;
  return database.first<Subscriber>(sql, source);
}

/**
 * Records what another system tells, within the caller's transaction. While nobody knows whose the subscription is, it waits.
 *
 * @param source - names the subscription there, and the system
 * @returns the change of rights, and whether a payment has failed now that had not before
 * @throws KeyServerError `no-such-plan`
 */
export async function recordTelling(
  database: Database,
  source: string,
  telling: Telling,
  now: number,
): Promise<{ readonly change: Settled; readonly failsNow: boolean }> {
  for (const plan of telling.plans) if (!(await findPlan(database, plan))) throw noPlan(plan);
  const owner = await ownerOf(database, source);
  const told = JSON.stringify(telling);
  const table = owner ? 'tellings' : 'unclaimed_tellings';
  const sql = `SELECT told FROM ${table} WHERE source = ?`;
  const before = (await database.all<{ told: string }>(sql, source)).map((row) => row.told);
  const isKnown = before.includes(told);
  if (!owner) {
    if (!isKnown) await keepUnclaimed(database, source, told, now);
    return { change: undefined, failsNow: false };
  }
  if (!isKnown) await database.run(INSERT, source, owner.id, told);
  const had = lastOf(before)?.failed;
  const has = lastOf([...before, told])?.failed;
  return { change: await settle(database, source, owner.id), failsNow: has === true && had !== true };
}

async function keepUnclaimed(database: Database, source: string, told: string, now: number): Promise<void> {
  await database.run('INSERT INTO unclaimed_tellings (source, told, came) VALUES (?, ?, ?)', source, told, now);
  const tooMany = `SELECT id FROM unclaimed_tellings ORDER BY id DESC LIMIT 1 OFFSET ${MOST_UNCLAIMED}`;
  await database.run(`DELETE FROM unclaimed_tellings WHERE id <= (${tooMany})`);
}

/** Change of the rights that a subscription gives; `begun`: it gave none before. */
export type Settled = 'begun' | 'changed' | undefined;

/** Gives the owner of a subscription the rights that follow from all that was told. */
async function settle(database: Database, source: string, owner: number): Promise<Settled> {
  const all = await database.all<{ told: string }>('SELECT told FROM tellings WHERE source = ?', source);
  const spans = spansOf(all.map(({ told }) => JSON.parse(told) as Telling)).map(({ plan, begins, ends }) => [
    ...[owner, plan, begins, ends],
  ]);
  const sql = 'SELECT subscriber, plan, begins, ends FROM subscriptions WHERE source = ? ORDER BY id';
  const rows = (await database.all<object>(sql, source)).map((row) => Object.values(row));
  if (JSON.stringify(rows) === JSON.stringify(spans)) return undefined;
  await database.run('DELETE FROM subscriptions WHERE source = ?', source);
  const insert = 'INSERT INTO subscriptions (subscriber, plan, begins, ends, source) VALUES (?, ?, ?, ?, ?)';
  for (const span of spans) await database.run(insert, ...span, source);
  return rows.length === 0 ? 'begun' : 'changed';
}

/** The newest of what another system has told. */
function lastOf(told: readonly string[]): Telling | undefined {
  const tellings = told.map((each) => JSON.parse(each) as Telling).filter(({ step }) => step !== 'ended here');
  return tellings.sort(inOrder).at(-1);
}

/** Subscription of another system that stands. */
export interface Renewal extends Pick<Telling, 'ends' | 'failed' | 'paid'> {
  readonly plan: string;
  readonly source: string;
}

/** Finds what another system said last of the subscriptions of a subscriber that stand. */
export async function renewalsOf(database: Database, subscriber: number, now: number): Promise<Renewal[]> {
  const sql = `SELECT plan, subscriptions.source AS source, told FROM subscriptions
    JOIN tellings ON tellings.source = subscriptions.source WHERE subscriptions.subscriber = ? AND ends >= ?`;
  const rows = await database.all<{ plan: string; source: string; told: string }>(sql, subscriber, now);
  return Array.from(Map.groupBy(rows, ({ plan, source }) => `${plan} ${source}`).values(), (group) => {
    const { plan = '', source = '' } = group[0] ?? {};
    const { ends, failed, paid } = lastOf(group.map(({ told }) => told)) ?? {};
    return { plan, source, ends, failed, paid };
  });
}

/**
 * Notes that subscriptions of a subscriber are ended here, before they are, so that nothing that is told later undoes it for the time before.
 *
 * @param plan - this one only
 */
export async function noteEndedHere(database: Database, subscriber: number, at: number, plan?: string): Promise<void> {
  const sql = `SELECT source, plan FROM subscriptions
    WHERE subscriber = ? AND ends > ? AND source IN (SELECT source FROM tellings) ORDER BY source`;
  for (const row of await database.all<{ source: string; plan: string }>(sql, subscriber, at)) {
    if (plan !== undefined && row.plan !== plan) continue;
    const told: Telling = { at, step: 'ended here', plans: [row.plan], from: at, periodFrom: at, until: at };
    await database.run(INSERT, row.source, subscriber, JSON.stringify(told));
  }
}
