/** Describes how fresh the publication is: what expires when, what is late, and who must act. */
import { describePublication, type PublicationOverview } from '../operations/overview.ts';
import { newestRoot } from '../publication/stored.ts';
import type { KeyServerState } from '../storage/state.ts';

const DAY = 86_400;
/** Seconds before its end at which metadata are late, and at which it is time to act; the timestamp has its own. */
const LATE = 7 * DAY;
const SOON = 30 * DAY;
/** Seconds that a full bar stands for. */
const FULL = 365 * DAY;

export interface Rung {
  readonly role: string;
  readonly expires: number;
  /** Seconds that are left; none: it has expired. */
  readonly left: number;
  readonly full: number;
  readonly level: 'fine' | 'late' | 'soon';
  /** Sentence on who must act, where it is soon or late. */
  readonly act: string | undefined;
}

export interface Freshness {
  readonly publication: PublicationOverview;
  /** Roles from root to timestamp. */
  readonly rungs: readonly Rung[];
  readonly pushes: readonly { readonly target: string; readonly succeeded: number | null; readonly failed: boolean }[];
}

/** `undefined` before the first publication. */
export async function freshnessOf(state: KeyServerState): Promise<Freshness | undefined> {
  const publication = await describePublication(state);
  if (!publication) return undefined;
  const now = state.now();
  const { signed, expires, signsHere, expiries } = publication;
  const root = await newestRoot(state.database);
  const others = expiries.filter(({ role }) => role !== 'root' && role !== 'timestamp');
  const fresh = expires - signed;
  const signer = signsHere
    ? 'This key server signs it: look into its log.'
    : 'The publisher has to run “wispr timestamp”.';
  return {
    publication,
    rungs: [
      ...(root ? [rung('root', root.expires, now, 'The holders of the root keys have to sign a new root.')] : []),
      ...others.map((each) => rung(each.role, each.expires, now, 'The publisher has to run “wispr publish”.')),
      rung('timestamp', expires, now, signer, { full: fresh, soon: fresh * 0.75, late: fresh / 2 }),
    ],
    pushes: publication.pushes.map(({ target, succeeded, failed }) => ({
      target,
      succeeded,
      failed: failed !== null && failed >= (succeeded ?? 0),
    })),
  };
}

function rung(
  role: string,
  expires: number,
  now: number,
  who: string,
  { full, soon, late } = { full: FULL, soon: SOON, late: LATE },
): Rung {
  const left = Math.max(0, expires - now);
  const level = left < late ? 'late' : left < soon ? 'soon' : 'fine';
  return { role, expires, left, full, level, act: level === 'fine' ? undefined : who };
}
