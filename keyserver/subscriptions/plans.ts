/** Plans: what people subscribe to. A plan is a title and patterns of set names, and may be dated: see access.ts. */
import { isDeepStrictEqual } from 'node:util';
import { PLAN_NAME } from '../../core/keys/set-pattern.ts';
import { isTimeZone } from '../../core/keys/set-time.ts';
import type { OfferedPlan } from '../../core/publication/offers.ts';
import { KeyServerError, mistyped } from '../errors.ts';
import { periodsFrom } from '../publication/period-keys.ts';
import { readOffers } from '../publication/signed-plans.ts';
import { audit } from '../storage/audit.ts';
import { countRows, type Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { hasSameSets, isSamePlan, type Plan } from './periods.ts';
import { parseSetPattern, quoted } from './subscribers.ts';

const TITLE = /^[^\p{C}]{1,100}$/u;
const MAXIMUM_PATTERNS = 100;
const DAY = 86_400;
/** Days by which a plan is extended at most. */
export const MOST_DAYS = 366;

export interface PlanOverview extends Plan {
  /** Subscriptions that stand now. */
  readonly subscriptions: number;
  /**
   * Tells whether subscribers get period keys; `different`: not, because the publisher has other sets or another time zone for it. `null`: the
   * publisher has none for it.
   */
  readonly periodKeys: 'given' | 'different' | null;
  /** Offer to strangers; `null`: the publisher does not offer it. */
  readonly offer: OfferedPlan | null;
  /** Parts that the publisher has otherwise than this key server. */
  readonly differs: readonly ('sets' | 'title' | 'zone')[];
}

/** A change of a plan: what is left out stays. */
export interface PlanRequest {
  readonly name: string;
  readonly title?: string | undefined;
  readonly sets?: readonly string[] | undefined;
  /** `''`: not dated any more. */
  readonly zone?: string | undefined;
}

interface PlanRow {
  readonly name: string;
  readonly title: string;
  readonly patterns: string;
  readonly zone: string | null;
}

/** Makes or changes a plan. A change counts for all who subscribe to it, at once. @throws KeyServerError `argument-invalid` */
export async function definePlan(
  state: KeyServerState,
  { name, title, sets, zone }: PlanRequest,
): Promise<{ readonly plan: Plan; readonly created: boolean }> {
  const { database } = state;
  if (!PLAN_NAME.test(name))
    throw mistyped(`${quoted(name)} cannot be the name of a plan: a-z, 0-9 and "-" can be in it`);
  if (title !== undefined && !TITLE.test(title)) throw mistyped(`${quoted(title)} cannot be the title of a plan`);
  if (zone && !isTimeZone(zone)) throw mistyped(`${quoted(zone)} is no time zone such as Europe/Berlin`);
  const patterns = sets?.map(parseSetPattern);
  if (patterns && (patterns.length === 0 || patterns.length > MAXIMUM_PATTERNS))
    throw mistyped(`a plan has 1 to ${MAXIMUM_PATTERNS} patterns of sets`);
  return database.transaction(async () => {
    const known = await findPlan(database, name);
    if (!known && !patterns) throw mistyped(`there is no plan "${name}" yet: a new one needs its sets`);
    const plan: Plan = {
      name,
      title: title ?? known?.title ?? name,
      patterns: patterns ?? known?.patterns ?? [],
      zone: zone === undefined ? (known?.zone ?? null) : zone || null,
    };
    const sql = `INSERT INTO plans (name, title, patterns, zone) VALUES (?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET title = excluded.title, patterns = excluded.patterns, zone = excluded.zone`;
    await database.run(sql, name, plan.title, plan.patterns.join(' '), plan.zone);
    if (!isDeepStrictEqual(plan, known))
      await audit(state, 'plan', name, { title: plan.title, sets: [...plan.patterns], zone: plan.zone });
    return { plan, created: !known };
  });
}

/** Removes a plan that never had a subscription. @throws KeyServerError `argument-invalid` */
export async function removePlan(state: KeyServerState, name: string): Promise<void> {
  const { database } = state;
  await database.transaction(async () => {
    if ((await countRows(database, 'subscriptions WHERE plan = ?', name)) > 0)
      throw mistyped(`the plan ${quoted(name)} has subscriptions: end them, and leave the plan`);
    if ((await database.run('DELETE FROM plans WHERE name = ?', name)) === 0) throw noPlan(name);
    await audit(state, 'plan-removed', name);
  });
}

/**
 * Moves the end of all subscriptions to a plan that stand and have one, as after an outage. Those of a payment service are extended there.
 *
 * @returns how many
 * @throws KeyServerError `argument-invalid`, `no-such-plan`
 */
export async function extendPlan(state: KeyServerState, name: string, days: number): Promise<number> {
  const { database, now } = state;
  if (!Number.isInteger(days) || days < 1 || days > MOST_DAYS)
    throw mistyped(`a plan is extended by 1 to ${MOST_DAYS} days`);
  return database.transaction(async () => {
    if (!(await findPlan(database, name))) throw noPlan(name);
    const sql = `UPDATE subscriptions SET ends = ends + ? WHERE plan = ? AND ends > ? AND coalesce(source, '') = ''`;
    const extended = await database.run(sql, days * DAY, name, now());
    if (extended > 0) await audit(state, 'plan-extended', name, { days, subscriptions: extended });
    return extended;
  });
}

export async function findPlan(database: Database, name: string): Promise<Plan | undefined> {
  const row = await database.first<PlanRow>('SELECT name, title, patterns, zone FROM plans WHERE name = ?', name);
  return row && planOf(row);
}

/** Lists plans, by name. */
export async function listPlans({ database, now }: KeyServerState): Promise<PlanOverview[]> {
  const sql = `SELECT name, title, patterns, zone,
      (SELECT count(*) FROM subscriptions WHERE plan = plans.name AND begins <= ? AND (ends IS NULL OR ends >= ?)) AS subscriptions
    FROM plans ORDER BY name`;
  const rows = await database.all<PlanRow & { subscriptions: number }>(sql, now(), now());
  const periods = await periodsFrom(database, now());
  const offers = await readOffers(database);
  return rows.map((row) => {
    const plan = planOf(row);
    const own = periods.filter((period) => period.plan === plan.name);
    const offer = offers.find(({ name }) => name === plan.name) ?? null;
    const differs = [
      ...(offer && offer.title !== plan.title ? (['title'] as const) : []),
      ...(own.every((period) => hasSameSets(period, plan)) ? [] : (['sets'] as const)),
      ...(own.every(({ zone }) => zone === plan.zone) ? [] : (['zone'] as const)),
    ];
    const periodKeys = own.every((period) => isSamePlan(period, plan)) ? 'given' : 'different';
    return {
      ...{ ...plan, subscriptions: row.subscriptions },
      ...{ periodKeys: own.length === 0 ? null : periodKeys, offer, differs },
    };
  });
}

export function noPlan(name: string): KeyServerError {
  return new KeyServerError('no-such-plan', `there is no plan ${quoted(name)}`, { fields: { missing: name } });
}

function planOf({ name, title, patterns, zone }: PlanRow): Plan {
  return { name, title, patterns: patterns.split(' '), zone };
}
