/** What a timestamp withdraws, of all that its signer knows of. */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { highestVersions } from '../../core/publication/withdrawals.ts';

type Saying = Pick<TimestampMetadata, 'withdrawn' | 'snapshot'>;

/** Versions that stay withdrawn. */
export interface Withdrawn {
  /** By this workspace. */
  readonly own: readonly number[];
  /** What others claim, or is not known to come from here. */
  readonly others: readonly number[];
}

/**
 * As many versions as readers take, the highest; none that is still to come. What was withdrawn here comes first: whoever stole the timestamp key
 * can withdraw as many as there is room for, and would push it out. There is always room for the one that is confirmed: readers have that.
 *
 * @param current - the version of the publication that is confirmed
 */
export function namedWithdrawn({ own, others }: Withdrawn, current: number): number[] {
  const there = (versions: readonly number[]) => versions.filter((version) => version <= current);
  const isEnded = others.includes(current);
  const first = highestVersions([...there(own), ...(isEnded ? [current] : [])], PUBLICATION_LIMITS.withdrawn);
  const room = PUBLICATION_LIMITS.withdrawn - first.length;
  const rest = there(others).filter((version) => !first.includes(version));
  return highestVersions([...first, ...(room > 0 ? highestVersions(rest, room) : [])], PUBLICATION_LIMITS.withdrawn);
}

/**
 * What our timestamp withdraws, and what somebody else's does. Theirs withdraws the publication
 * of ours only if it is theirs too: it may be still to come for them.
 */
export function joinWithdrawn(own: Saying, other: Saying): number[] {
  const isSame = other.snapshot.sha256 === own.snapshot.sha256;
  const theirs = other.withdrawn.filter((version) => isSame || version < own.snapshot.version);
  return namedWithdrawn({ own: own.withdrawn, others: theirs }, own.snapshot.version);
}

/** Whether ours repeats all of theirs that counts. */
export function repeatsWithdrawn(own: Saying, other: Saying): boolean {
  return joinWithdrawn(own, other).every((version) => own.withdrawn.includes(version));
}
