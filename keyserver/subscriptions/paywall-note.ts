/** Keeps what the publisher's own system said as subscriptions, so that all else finds them where it finds the others. */
import type { Database } from '../storage/database.ts';
import type { AnsweredPlan } from './paywall-question.ts';

interface KeptPlan {
  readonly id: number;
  readonly plan: string;
  readonly begins: number;
  readonly ends: number;
}

/**
 * Records an answer, within the caller's transaction. A subscription in it begins, or is moved; one that is not in it any more ends. Time that a
 * subscription had stays its time: what a dated plan gave for ever is not taken back by a later beginning.
 *
 * @param at - seconds since 1970
 * @param outage - seconds for which a plan without an end counts after this answer
 * @returns the plans of the answer that are unknown here
 */
export async function recordAnswer(
  database: Database,
  subscriber: number,
  answered: readonly AnsweredPlan[],
  at: number,
  outage: number,
): Promise<string[]> {
  const sql = `SELECT id, plan, begins, ends FROM subscriptions WHERE subscriber = ? AND source LIKE 'paywall %'`;
  const kept = await database.all<KeptPlan>(sql, subscriber);
  const plans = new Set((await database.all<{ name: string }>('SELECT name FROM plans')).map(({ name }) => name));
  const known = answered.filter(({ plan, from, until }) => plans.has(plan) && (until ?? at + outage) > from);
  const now: KeptPlan[] = [];
  for (const { plan, from, until } of known) {
    const ends = until ?? at + outage;
    const meets = (each: KeptPlan) => each.plan === plan && each.begins <= ends && each.ends >= from - 1;
    const same = now.findIndex(meets);
    const met = now[same] ?? kept.find((each) => meets(each) && !now.some(({ id }) => id === each.id));
    const begins = Math.min(met?.begins ?? from, from);
    const noted = { plan, begins, ends: Math.max(now[same]?.ends ?? 0, ends) };
    const id = met ? await move(database, met.id, noted) : await begin(database, subscriber, noted);
    now.splice(same < 0 ? now.length : same, 1, { ...noted, id });
  }
  for (const { id, plan, begins, ends } of kept) {
    if (now.some((each) => each.id === id)) continue;
    if (begins >= at - 1) await database.run('DELETE FROM subscriptions WHERE id = ?', id);
    else if (ends >= at) await move(database, id, { plan, begins, ends: at - 1 });
  }
  return answered.flatMap(({ plan }) => (plans.has(plan) ? [] : [plan]));
}

type Noted = Omit<KeptPlan, 'id'>;

async function move(database: Database, id: number, { begins, ends }: Noted): Promise<number> {
  await database.run('UPDATE subscriptions SET begins = ?, ends = ? WHERE id = ?', begins, ends, id);
  return id;
}

async function begin(database: Database, subscriber: number, { plan, begins, ends }: Noted): Promise<number> {
  const sql = `INSERT INTO subscriptions (subscriber, plan, begins, ends, source) VALUES (?, ?, ?, ?, ?) RETURNING id`;
  const source = `paywall ${subscriber} ${begins}`;
  const made = await database.first<{ id: number }>(sql, subscriber, plan, begins, ends, source);
  if (!made) throw new Error('a subscription was not stored');
  return made.id;
}
