/** What was signed by a clock that was ahead: no reader takes it, and what is signed after it with the same key has to be later still. */
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';

/** Whoever only reads it can tell the publisher. */
export const SIGNED_IN_FUTURE =
  'if the clock of this machine is wrong, set it; if it is right, the clock that signed this was ahead, and readers refuse it until that time comes, or until "wispr keys rotate timestamp" and then "wispr publish" begin anew';

/**
 * @param place - how messages name where it is
 * @throws PublicationError `clock-behind`
 */
export function checkSignedInPast({ version }: TimestampMetadata, now: number, place: string): void {
  if (version <= now + PUBLICATION_LIMITS.clockTolerance) return;
  throw new PublicationError(
    'clock-behind',
    `the timestamp in ${place} was signed at ${isoTime(version)}, by the clock of then; this machine's clock says ${isoTime(now)}`,
    { hint: SIGNED_IN_FUTURE },
  );
}
