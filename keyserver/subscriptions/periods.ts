/** Decides whether a right is worth the key of a period, which opens every set in the period's envelope. */
import type { Period } from '../publication/period-keys.ts';
import type { Access } from './access.ts';

export interface Plan {
  /** Name in commands and lists. */
  readonly name: string;
  /** Title that readers see. */
  readonly title: string;
  readonly patterns: readonly string[];
  /** The time zone of a dated plan; `null`: sets may be read while the subscription stands. */
  readonly zone: string | null;
}

/** A right, and where it comes from. */
export interface Right extends Access {
  /** Plan by name and title; `null` where sets were named. */
  readonly plan: { readonly name: string; readonly title: string } | null;
}

/** Finds when the key of a period is given out, in seconds since 1970: a quarter of its length ahead, so that the border is no rush. */
export function givenFrom({ starts, ends }: Pick<Period, 'starts' | 'ends'>): number {
  return starts - Math.floor((ends + 1 - starts) / 4);
}

/** Tells whether the key of a period is given out at a time. */
export function isGivenAt(period: Pick<Period, 'starts' | 'ends'>, now: number): boolean {
  return givenFrom(period) <= now && now <= period.ends;
}

/** Tells whether the publisher means the same by a plan as this key server: only then does a right to the plan cover what is in its envelopes. */
export function isSamePlan(
  period: Pick<Period, 'plan' | 'sets' | 'zone'>,
  here: Pick<Plan, 'name' | 'patterns' | 'zone'>,
): boolean {
  return period.plan === here.name && period.zone === here.zone && hasSameSets(period, here);
}

/** Tells whether the publisher has the same sets in a plan. */
export function hasSameSets({ sets }: Pick<Period, 'sets'>, { patterns }: Pick<Plan, 'patterns'>): boolean {
  return sets === JSON.stringify([...new Set(patterns)].sort());
}

/**
 * Tells whether one of the rights covers all sets that stand in the envelope of a period, now and until the period ends. Those of a dated plan begin
 * with the period; of another plan, all may be read from now on.
 */
export function coversPeriod(rights: readonly Right[], period: Period, now: number): boolean {
  return rights.some(({ plan, patterns, from, until, zone }) => {
    if (plan === null || !isSamePlan(period, { name: plan.name, patterns, zone })) return false;
    const begins = zone === null ? now : Math.min(now, period.starts);
    return from <= begins && (until === null || until >= period.ends);
  });
}
