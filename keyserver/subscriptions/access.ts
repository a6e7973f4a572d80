/**
 * Decides whether the rights of a person cover a set, with nothing but the rights, the name of the set and the time. A right comes from a plan, or
 * names sets by itself.
 */
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import { timeOf } from '../../core/keys/set-time.ts';

/** Seconds for which a key is handed out at most: what a revoked device keeps at the longest. */
export const MAXIMUM_VALIDITY = 30 * 86_400;

/** A right to read. Times in seconds since 1970, inclusive. */
export interface Access {
  /** Patterns of set names; `*` stands for any characters. */
  readonly patterns: readonly string[];
  readonly from: number;
  /** `null`: without end. */
  readonly until: number | null;
  /**
   * The time zone of a dated plan, such as `Europe/Berlin`: a set with a day, month or year in its name is for those whose right covers a part of
   * that time, and they may read it for ever. `null`: all that matches may be read from `from` to `until`.
   */
  readonly zone: string | null;
}

/** Tells whether a right stands now, whatever sets it covers. */
export function isStanding({ from, until }: Pick<Access, 'from' | 'until'>, now: number): boolean {
  return from <= now && (until === null || until >= now);
}

export type Verdict<Right extends Access> =
  /** `notAfter`: until when a key is handed out. */
  | { readonly denied: undefined; readonly by: Right; readonly notAfter: number }
  /** `by`: the right that has ended. */
  | { readonly denied: 'lapsed'; readonly by: Right }
  | { readonly denied: 'not-entitled' };

/** Decides whether, and until when, rights cover a set. The one that lasts longest counts. */
export function decideAccess<Right extends Access>(
  rights: readonly Right[],
  setName: string,
  now: number,
): Verdict<Right> {
  const matching = rights.filter(({ patterns }) => patterns.some((pattern) => matchesPattern(pattern, setName)));
  const standing = matching.map((right) => ({ right, end: endOf(right, setName, now) }));
  const [best] = standing.filter(({ end }) => end !== undefined && end >= now).sort(longestFirst);
  if (best) return { denied: undefined, by: best.right, notAfter: Math.min(best.end ?? 0, now + MAXIMUM_VALIDITY) };
  const [ended] = standing.filter(({ end }) => end !== undefined).sort(longestFirst);
  return ended ? { denied: 'lapsed', by: ended.right } : { denied: 'not-entitled' };
}

function longestFirst(one: { end: number | undefined }, other: { end: number | undefined }): number {
  return (other.end ?? 0) - (one.end ?? 0);
}

/** Finds when a right to this set ends, or has ended; `undefined` where it never covered it, or does not yet. */
function endOf({ from, until, zone }: Access, setName: string, now: number): number | undefined {
  if (from > now || (until !== null && until <= from)) return undefined; // an empty interval is no right
  const end = until ?? Number.POSITIVE_INFINITY;
  const time = zone === null ? undefined : timeOf(setName, zone);
  if (time === undefined) return end;
  if (from >= time.end) return undefined; // the set's time was over before
  if (time.start <= end) return Number.POSITIVE_INFINITY;
  return end < now ? end : undefined; // the set's time comes after it
}
