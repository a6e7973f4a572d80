/** Takes timestamps from the publisher. Nothing goes back. */
import { equalBytes } from '../../core/encoding/bytes.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { parseHandOver } from '../../core/publication/hand-over.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { hasLostOnlineKeys, type RootMetadata, type TimestampMetadata } from '../../core/publication/metadata.ts';
import { isoTime, verifyTimestamp } from '../../core/publication/verify-roles.ts';
import { withdrawsItself } from '../../core/publication/withdrawals.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { KeyServerError } from '../errors.ts';
import type { KeyServerState } from '../state.ts';
import {
  ifGood,
  type Publication,
  publicationAfter,
  readPublication,
  readRoots,
  remembered,
  STRICT,
  storePublication,
  storeRoots,
  verifyRoots,
} from './state.ts';

export interface Accepted {
  readonly outcome: 'accepted' | 'unchanged';
  /** Version of the publication, and of its timestamp. */
  readonly publication: number;
  readonly timestamp: number;
}

/**
 * Takes what the publisher tells of a new publication.
 *
 * @throws PublicationError of the metadata; KeyServerError `no-provider`. Nothing was changed then.
 */
export function acceptHandOver({ database, now }: KeyServerState, bytes: Uint8Array): Accepted {
  const message = parseHandOver(bytes);
  return inTransaction(database, () => {
    const roots = readRoots(database);
    if (!roots) throw new KeyServerError('no-provider', 'no key bundle with a root has been imported yet');
    const [firstRoot, ...later] = roots;
    if (message.roots.length < later.length)
      throw new PublicationError('metadata-rollback', `root ${later.length + 1} was seen before`);
    const known = verifyRoots(roots);
    const root = verifyRoots([firstRoot as Uint8Array, ...message.roots]);
    const before = readPublication(database);
    const timestamp = verify(message.timestamp, root, known, before, now());
    storeRoots(database, message.roots);
    // Whoever had a key that is gone could withdraw anything.
    const withdrawn = before && !hasLostOnlineKeys(known, root) ? remembered(before) : [];
    // Whoever signed it did not know, or will not know: that does not bring it back.
    if (withdrawn.includes(timestamp.snapshot.version) && !withdrawsItself(timestamp))
      throw new PublicationError(
        'metadata-rollback',
        `publication ${timestamp.snapshot.version} was withdrawn, and this timestamp does not say so`,
      );
    const { expiries } = message;
    const { version: handedOver } = timestamp.snapshot;
    const after = publicationAfter(message.timestamp, timestamp, { handedOver, withdrawn, expiries });
    const owed = before && ifGood(before.timestamp, root) ? before.least : 0;
    storePublication(database, { ...after, least: Math.max(after.least, owed) });
    const unchanged = before !== undefined && equalBytes(message.timestamp, before.timestamp);
    return { outcome: unchanged ? 'unchanged' : 'accepted', publication: handedOver, timestamp: timestamp.version };
  });
}

/** 5.3.11, 5.4.2, 5.4.3, P7, P8. The very timestamp that is known already is good as well. */
function verify(
  bytes: Uint8Array,
  root: RootMetadata,
  knownRoot: RootMetadata,
  before: Publication | undefined,
  now: number,
): TimestampMetadata {
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
  checkClock(timestamp, now);
  if (now <= timestamp.expires) return timestamp;
  throw new PublicationError('publication-expired', `the timestamp expired at ${isoTime(timestamp.expires)}`);
}

/** @throws PublicationError `clock-behind` */
export function checkClock({ version }: TimestampMetadata, now: number): void {
  if (version <= now + PUBLICATION_LIMITS.clockTolerance) return;
  throw new PublicationError(
    'clock-behind',
    `this machine's clock says ${isoTime(now)}, and the timestamp was signed at ${isoTime(version)}`,
  );
}
