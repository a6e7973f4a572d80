/**
 * Takes timestamps that lie where they are pushed to. What one of them withdraws counts, however old it is, for nothing that was signed brings it
 * back; what it confirms counts if it is newer.
 */
import { PublicationError } from '../../core/publication/errors.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { withdrawsItself } from '../../core/publication/withdrawals.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import type { KeyServerState } from '../state.ts';
import { fromTheFuture } from './clock.ts';
import {
  ifGood,
  isWithdrawn,
  newestRoot,
  type Publication,
  publicationAfter,
  readPublication,
  storePublication,
} from './state.ts';
import { isEnded, namedBy, withdrawalsWith } from './withdrawals.ts';

/** What is known, when something is found. */
interface Known extends Publication {
  /** Its timestamp; `undefined` where the keys that signed it are none any more. */
  readonly current: TimestampMetadata | undefined;
}

/** Whether something is taken; or why not, where nothing of ours may take its place either. */
type Verdict = 'taken' | 'passed' | PublicationError;

/**
 * Takes what was found, if it is good and newer than what is known: the publisher, or a cron job, signs too. Whatever else lies there is passed
 * over; it is about to be replaced.
 *
 * @returns whether it was taken
 * @throws PublicationError where it is good, cannot be taken, and nothing of ours may take its place: `clock-behind`, if it comes from the
 * future; where it names a higher publication, `publication-withdrawn`, if that is withdrawn, and either it does not say so or readers have a
 * good one here, and `metadata-rollback`, if it has no higher version, which its publisher is told at the hand-over
 */
export function adoptTimestamp({ database, now }: KeyServerState, bytes: Uint8Array): boolean {
  const verdict = inTransaction(database, (): Verdict => {
    const root = newestRoot(database);
    const before = readPublication(database);
    if (!root || !before) return 'passed'; // nothing is signed for a publisher who has not handed over
    const found = ifGood(bytes, root);
    if (!found) return 'passed';
    const current = ifGood(before.timestamp, root);
    const known = { ...before, ...withdrawalsWith(before, current, found), current };
    const judged = fromTheFuture(found, now()) ?? judge(found, known, now());
    storePublication(database, judged === 'taken' ? taking(bytes, found, known, now()) : passing(found, known, judged));
    return judged;
  });
  if (verdict instanceof PublicationError) throw verdict;
  return verdict === 'taken';
}

function judge(found: TimestampMetadata, known: Known, now: number): Verdict {
  const { version } = found.snapshot;
  if (version < known.snapshot || isMadeUp(found, known)) return 'passed';
  const isHigher = version > known.snapshot;
  const isNewer = found.version > known.least;
  const isFresh = now <= found.expires;
  if (isEnded(known, namedBy(found))) {
    // Nobody loses by it where the one here is withdrawn, too.
    if (isWithdrawn(known) && withdrawsItself(found) && (isNewer || !isSaid(found, known))) return 'taken';
    return isHigher ? withdrawnThere() : 'passed';
  }
  if (isHigher && !isNewer && isFresh)
    return new PublicationError('metadata-rollback', 'a higher publication lies there, under an older timestamp');
  return isNewer && isFresh ? 'taken' : 'passed';
}

/** Another of the number that was handed over is none of the publisher's. */
function isMadeUp({ snapshot }: TimestampMetadata, { handedOver, current }: Known): boolean {
  return snapshot.version <= handedOver && current !== undefined && snapshot.sha256 !== current.snapshot.sha256;
}

function isSaid({ snapshot }: TimestampMetadata, known: Known): boolean {
  return snapshot.version === known.snapshot && known.current !== undefined && withdrawsItself(known.current);
}

function withdrawnThere(): PublicationError {
  return new PublicationError('publication-withdrawn', 'a higher publication lies there, which is withdrawn');
}

/** A withdrawal may be older than what readers have seen, or have expired: one is to be signed above that. */
function taking(bytes: Uint8Array, found: TimestampMetadata, known: Known, now: number): Publication {
  const above = now <= found.expires ? found.version : found.version + 1;
  return { ...publicationAfter(bytes, found, known), least: Math.max(above, known.least + 1) };
}

/** What leaves out that its publication is withdrawn has to be outrun. */
function passing(found: TimestampMetadata, known: Known, judged: Verdict): Publication {
  const isHiding = found.snapshot.version === known.snapshot && isWithdrawn(known) && !withdrawsItself(found);
  return { ...known, least: isHiding && judged === 'passed' ? Math.max(found.version + 1, known.least) : known.least };
}
