/**
 * Takes timestamps that lie where they are pushed to. What one of them withdraws counts, however old it is, for nothing that was signed brings it
 * back; what it confirms counts if it is newer.
 */
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { highestVersions, withdrawsItself } from '../../core/publication/withdrawals.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import type { KeyServerState } from '../state.ts';
import { checkClock } from './accept.ts';
import {
  ifGood,
  newestRoot,
  type Publication,
  publicationAfter,
  readPublication,
  remembered,
  storePublication,
} from './state.ts';

/** What is known, when something is found. */
interface Known {
  readonly before: Publication;
  /** Its timestamp; `undefined` where the keys that signed it are none any more. */
  readonly current: TimestampMetadata | undefined;
  /** With what was found, those above what was handed over as well. */
  readonly withdrawn: readonly number[];
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
    checkClock(found, now());
    const known = learn(before, ifGood(before.timestamp, root), found);
    const judged = judge(found, known, now());
    storePublication(database, judged === 'taken' ? taking(bytes, found, known, now()) : passing(found, known));
    return judged;
  });
  if (verdict instanceof PublicationError) throw verdict;
  return verdict === 'taken';
}

/**
 * Whoever has the timestamp key could claim anything of what is still to come: a number counts for the very publication that is named, or one
 * below it, and what is above the one that is known takes no room from what is not.
 */
function learn(before: Publication, current: TimestampMetadata | undefined, found: TimestampMetadata): Known {
  const { version, sha256 } = found.snapshot;
  const isNamed = version > before.snapshot || sha256 === current?.snapshot.sha256;
  const counts = found.withdrawn.filter((one) => one < version || (one === version && isNamed));
  const all = [...before.withdrawn, ...counts];
  const kept = (isAbove: boolean) =>
    highestVersions(
      all.filter((one) => one > before.snapshot === isAbove),
      PUBLICATION_LIMITS.withdrawnKept,
    );
  return { before, current, withdrawn: [...kept(false), ...kept(true)] };
}

function judge(found: TimestampMetadata, known: Known, now: number): Verdict {
  const { before, withdrawn } = known;
  const { version } = found.snapshot;
  if (version < before.snapshot || isMadeUp(found, known)) return 'passed';
  const isHigher = version > before.snapshot;
  const isNewer = found.version > before.least;
  if (withdrawn.includes(version)) {
    const isEnded = withdrawn.includes(before.snapshot); // nobody loses by it
    if (isEnded && withdrawsItself(found) && (isNewer || !isSaid(found, known))) return 'taken';
    return isHigher ? withdrawnThere() : 'passed';
  }
  if (isHigher && !isNewer)
    return new PublicationError('metadata-rollback', 'a higher publication lies there, under an older timestamp');
  return isNewer && now <= found.expires ? 'taken' : 'passed';
}

/** Another of the number that was handed over is none of the publisher's. */
function isMadeUp({ snapshot }: TimestampMetadata, { before, current }: Known): boolean {
  return snapshot.version <= before.handedOver && current !== undefined && snapshot.sha256 !== current.snapshot.sha256;
}

function isSaid({ snapshot }: TimestampMetadata, { before, current }: Known): boolean {
  return snapshot.version === before.snapshot && current !== undefined && withdrawsItself(current);
}

function withdrawnThere(): PublicationError {
  return new PublicationError('publication-withdrawn', 'a higher publication lies there, which is withdrawn');
}

/** A withdrawal may be older than what readers have seen, or have expired: one is to be signed above that. */
function taking(bytes: Uint8Array, found: TimestampMetadata, { before, withdrawn }: Known, now: number): Publication {
  const own = withdrawsItself(found) ? [found.snapshot.version] : [];
  const all = [...remembered({ ...before, withdrawn }), ...own];
  const taken = publicationAfter(bytes, found, before);
  const above = now <= found.expires ? found.version : found.version + 1;
  const least = Math.max(above, before.least + 1);
  return { ...taken, withdrawn: highestVersions(all, PUBLICATION_LIMITS.withdrawnKept), least };
}

/** What leaves out that its publication is withdrawn has to be outrun. */
function passing(found: TimestampMetadata, { before, withdrawn }: Known): Publication {
  const isOfThis = found.snapshot.version === before.snapshot && withdrawn.includes(before.snapshot);
  const isHiding = isOfThis && !withdrawsItself(found);
  return { ...before, withdrawn, least: isHiding ? Math.max(found.version + 1, before.least) : before.least };
}
