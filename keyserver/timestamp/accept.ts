/** Takes timestamps from the publisher. Nothing goes back. */
import { equalBytes } from '../../core/encoding/bytes.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { type HandOver, parseHandOver } from '../../core/publication/hand-over-1.ts';
import { hasLostOnlineKeys, type RootMetadata, type TimestampMetadata } from '../../core/publication/metadata.ts';
import { isoTime, verifyTimestamp } from '../../core/publication/verify-roles.ts';
import { withdrawsItself } from '../../core/publication/withdrawals.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { KeyServerError } from '../errors.ts';
import type { KeyServerState } from '../state.ts';
import type { Database } from '../storage/database.ts';
import { fromTheFuture } from './clock.ts';
import {
  followRoots,
  ifGood,
  type Publication,
  publicationAfter,
  readPublication,
  readRoots,
  STRICT,
  storePublication,
  storeRoots,
  verifyRoots,
} from './state.ts';
import { NOTHING_WITHDRAWN, namedBy, type Withdrawals, withdrawalsAfter, withdrawalsWith } from './withdrawals.ts';

export interface Accepted {
  readonly outcome: 'accepted' | 'unchanged';
  /** Version of the publication, and of its timestamp. */
  readonly publication: number;
  readonly timestamp: number;
}

/**
 * Takes what the publisher tells of a new publication.
 *
 * @param canSign - whether what a refused timestamp withdraws can be signed here
 * @throws PublicationError of the metadata; KeyServerError `no-provider`. Nothing was changed then, but that what a good timestamp withdraws is
 * withdrawn, if it is from the future, for the clock that is wrong may be the one here; however old it is, where that can be signed here
 */
export function acceptHandOver({ database, now }: KeyServerState, bytes: Uint8Array, canSign = false): Accepted {
  const message = parseHandOver(bytes);
  const result = inTransaction(database, (): Accepted | PublicationError => {
    const roots = readRoots(database);
    if (!roots) throw new KeyServerError('no-provider', 'no key bundle with a root has been imported yet');
    const known = { roots, root: verifyRoots(roots), before: readPublication(database) };
    try {
      return take(database, message, known, now());
    } catch (error) {
      if (!(error instanceof PublicationError)) throw error;
      // Where it cannot, the publisher signs a newer one, above what is answered until then.
      if (error.code === 'clock-behind' || canSign) learn(database, message, known);
      return error;
    }
  });
  if (result instanceof PublicationError) throw result;
  return result;
}

/** What is known when something is handed over. */
interface Known {
  readonly roots: readonly Uint8Array[];
  /** The last of these. */
  readonly root: RootMetadata;
  readonly before: Publication | undefined;
}

/** @throws PublicationError. Nothing was stored then. */
function take(database: Database, message: HandOver, known: Known, now: number): Accepted {
  const { roots, before } = known;
  const further = furtherRoots(message.roots, roots);
  const root = followRoots(known.root, further);
  const timestamp = verify(message.timestamp, root, known);
  checkTime(timestamp, now);
  // Whoever had a key that is gone could withdraw anything.
  const isOfSameKeys = before !== undefined && !hasLostOnlineKeys(known.root, root);
  const outlived = isOfSameKeys ? withdrawalsAfter(before, namedBy(timestamp)) : NOTHING_WITHDRAWN;
  checkRepeated(timestamp, outlived);
  const { version: handedOver } = timestamp.snapshot;
  const { expiries } = message;
  const after = publicationAfter(message.timestamp, timestamp, { handedOver, ...outlived, expiries });
  const owed = before && ifGood(before.timestamp, root) ? before.least : 0;
  storeRoots(database, further, roots.length);
  storePublication(database, { ...after, least: Math.max(after.least, owed) });
  const unchanged = before !== undefined && equalBytes(message.timestamp, before.timestamp);
  return { outcome: unchanged ? 'unchanged' : 'accepted', publication: handedOver, timestamp: timestamp.version };
}

/** What a timestamp withdraws that is not taken. */
function learn(database: Database, { timestamp }: HandOver, { before, root }: Known): void {
  const found = ifGood(timestamp, root);
  if (before === undefined || found === undefined) return;
  storePublication(database, { ...before, ...withdrawalsWith(before, ifGood(before.timestamp, root), found) });
}

/** Roots that were followed stay what they were: keys that a later one has taken away sign no others (5.3). */
function furtherRoots(given: readonly Uint8Array[], [, ...known]: readonly Uint8Array[]): readonly Uint8Array[] {
  for (const [index, bytes] of known.entries()) {
    const one = given[index];
    if (one === undefined || !equalBytes(one, bytes))
      throw new PublicationError('metadata-rollback', `${one ? 'another' : 'a'} root ${index + 2} was seen before`);
  }
  return given.slice(known.length);
}

/** Whoever signed it did not know, or will not know: that does not bring it back. */
function checkRepeated(timestamp: TimestampMetadata, { withdrawn }: Withdrawals): void {
  const { version } = timestamp.snapshot;
  if (!withdrawn.includes(version) || withdrawsItself(timestamp)) return;
  throw new PublicationError(
    'metadata-rollback',
    `publication ${version} was withdrawn, and this timestamp does not say so`,
  );
}

/** 5.3.11, 5.4.2, 5.4.3, P7, P8. The very timestamp that is known already is good as well. */
function verify(bytes: Uint8Array, root: RootMetadata, { root: knownRoot, before }: Known): TimestampMetadata {
  // Where the root has new timestamp keys, what the old ones signed is forgotten, and versions begin anew (5.3.11).
  const previous = before && ifGood(before.timestamp, root);
  const timestamp = verifyTimestamp(bytes, root, previous, STRICT);
  if (timestamp === undefined) {
    if (previous && before && equalBytes(bytes, before.timestamp)) return previous;
    throw new PublicationError('metadata-rollback', `another timestamp has the version ${previous?.version}`);
  }
  // With new snapshot keys readers forget the old snapshots too; otherwise they refuse to go back, whatever the timestamp's key.
  const sameKeys = root.roles.snapshot.keyids.some((keyid) => knownRoot.roles.snapshot.keyids.includes(keyid));
  if (before && sameKeys && timestamp.snapshot.version < before.snapshot)
    throw new PublicationError('metadata-rollback', `publication ${before.snapshot} was seen before`);
  return timestamp;
}

function checkTime(timestamp: TimestampMetadata, now: number): void {
  const early = fromTheFuture(timestamp, now);
  if (early) throw early;
  if (now > timestamp.expires)
    throw new PublicationError('publication-expired', `the timestamp expired at ${isoTime(timestamp.expires)}`);
}
