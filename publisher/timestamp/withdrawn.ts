/** What a timestamp withdraws, of all that its signer knows of. */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { highestVersions } from '../../core/publication/withdrawals.ts';

type Saying = Pick<TimestampMetadata, 'withdrawn' | 'snapshot'>;

/** As many versions as readers take, the highest; none that is still to come. @param current - the version of the publication that is confirmed */
export function namedWithdrawn(versions: readonly number[], current: number): number[] {
  const there = versions.filter((version) => version <= current);
  return highestVersions(there, PUBLICATION_LIMITS.withdrawn);
}

/**
 * What our timestamp withdraws, and what somebody else's does. Theirs withdraws the publication
 * of ours only if it is theirs too: it may be still to come for them.
 */
export function joinWithdrawn(own: Saying, other: Saying): number[] {
  const isSame = other.snapshot.sha256 === own.snapshot.sha256;
  const theirs = other.withdrawn.filter((version) => isSame || version < own.snapshot.version);
  return namedWithdrawn([...own.withdrawn, ...theirs], own.snapshot.version);
}

/** Whether ours repeats all of theirs that counts. */
export function repeatsWithdrawn(own: Saying, other: Saying): boolean {
  return joinWithdrawn(own, other).every((version) => own.withdrawn.includes(version));
}
