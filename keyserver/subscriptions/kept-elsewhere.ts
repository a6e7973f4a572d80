/**
 * Subscriptions that another system keeps, such as a payment service. All that it tells is kept, and the rights follow from all of it: so they are
 * the same in whichever order it comes.
 */
import type { Database } from '../storage/database.ts';
import { findPlan, noPlan } from './plans.ts';

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

interface Kept {
  readonly subscriber: number;
  readonly told: string;
}

/**
 * Records what another system tells, within the caller's transaction.
 *
 * @param source - names the subscription there, and the system
 * @returns whether it changed a right
 * @throws KeyServerError `no-such-plan`
 */
export async function recordTelling(
  database: Database,
  subscriber: number,
  source: string,
  telling: Telling,
): Promise<boolean> {
  for (const plan of telling.plans) if (!(await findPlan(database, plan))) throw noPlan(plan);
  const news: Kept = { subscriber, told: JSON.stringify(telling) };
  const before = await database.all<Kept>('SELECT subscriber, told FROM tellings WHERE source = ?', source);
  const kept = before.filter(({ told }) => told !== news.told);
  if (kept.length === before.length) await database.run(INSERT, source, subscriber, news.told);
  const tellings = [...kept, news].map(({ subscriber, told }) => ({ ...(JSON.parse(told) as Telling), subscriber }));
  const owner = tellings.sort(inOrder).at(-1)?.subscriber ?? subscriber;
  const spans = spansOf(tellings).map(({ plan, begins, ends }) => [owner, plan, begins, ends]);
  const sql = 'SELECT subscriber, plan, begins, ends FROM subscriptions WHERE source = ? ORDER BY id';
  const rows = (await database.all<object>(sql, source)).map((row) => Object.values(row));
  if (JSON.stringify(rows) === JSON.stringify(spans)) return false;
  await database.run('DELETE FROM subscriptions WHERE source = ?', source);
  const insert = 'INSERT INTO subscriptions (subscriber, plan, begins, ends, source) VALUES (?, ?, ?, ?, ?)';
  for (const span of spans) await database.run(insert, ...span, source);
  return true;
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
