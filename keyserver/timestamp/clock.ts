/** What a clock that is wrong keeps from being taken, or signed: the version of a timestamp is the time at which it was signed. */
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';
import { KeyServerError } from '../errors.ts';

/** Why a timestamp is not taken: `clock-behind`, where it comes from the future. */
export function fromTheFuture({ version }: { readonly version: number }, now: number): PublicationError | undefined {
  if (version <= now + PUBLICATION_LIMITS.clockTolerance) return undefined;
  return new PublicationError(
    'clock-behind',
    `this machine's clock says ${isoTime(now)}, and the timestamp was signed at ${isoTime(version)}`,
  );
}

/** @param version - above which one is to be signed @throws KeyServerError `clock-back` */
export function checkNotBack(version: number, now: number): void {
  if (now >= version - PUBLICATION_LIMITS.clockTolerance) return;
  throw new KeyServerError(
    'clock-back',
    `this machine's clock says ${isoTime(now)}, and the last timestamp was signed at ${isoTime(version)}`,
    { hint: 'set the clock of this machine; nothing is signed until it is right' },
  );
}
