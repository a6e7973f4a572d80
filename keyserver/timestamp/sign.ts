/** Signs the timestamp again: the same publication, confirmed for some more time. */
import { isDeepStrictEqual } from 'node:util';
import type { KeyPair } from '#primitives';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata, TimestampMetadata } from '../../core/publication/metadata.ts';
import { verifyTimestamp } from '../../core/publication/verify-roles.ts';
import { signMetadata, timestampMetadata, timestampVersion } from '../../core/publication/writer.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { KeyServerError } from '../errors.ts';
import type { KeyServerState } from '../state.ts';
import { checkNotBack } from './clock.ts';
import { readTimestampKey } from './key.ts';
import {
  isUnsaid,
  isWithdrawn,
  newestRoot,
  type Publication,
  publicationAfter,
  readPublication,
  STRICT,
  storePublication,
} from './state.ts';
import { withdrawalsWith } from './withdrawals.ts';

const HOUR = 3600;

/**
 * How an attempt ended. `nothing`: no publication was handed over. `not-ours`: the publisher keeps the key. `withdrawn`: not confirmed until
 * there is a higher version; what says so is signed where it was not said yet, and once more before it runs out. `overtaken`: something newer
 * came in between, and stays.
 */
export type SignOutcome = 'nothing' | 'not-ours' | 'withdrawn' | 'overtaken' | 'signed';

/**
 * Signs a new timestamp for the publication that is known, and stores it. What is known was verified when it came, and is verified again here:
 * nobody's database is a reason to sign something.
 *
 * @param mostFresh - seconds: the new one is good for as long as the publisher's own was, and at most so long
 * @throws KeyServerError `timestamp-key-foreign`, `clock-back`, `row-unreadable`; PublicationError. Nothing was changed then.
 */
export async function signAgain(state: KeyServerState, mostFresh: number): Promise<SignOutcome> {
  const { database, now } = state;
  const root = newestRoot(database);
  const known = readPublication(database);
  if (!root || !known) return 'nothing';
  const outcome = isWithdrawn(known) ? 'withdrawn' : 'signed';
  if (outcome === 'withdrawn' && !isUnsaid(known, root) && !isHalfOver(known, now())) return outcome;
  const pair = await readTimestampKey(state);
  if (!pair) return outcome === 'withdrawn' ? outcome : 'not-ours';
  const signer = await signerOf(pair, root);
  const current = verifyTimestamp(known.timestamp, root, undefined, STRICT) as TimestampMetadata;
  const time = now();
  checkNotBack(Math.max(known.version, known.least - 1), time); // as far ahead as what was taken may be
  const freshSeconds = Math.min(mostFresh, freshnessOf(current));
  const bytes = encode(current, known, signer, time, freshSeconds);
  const timestamp = verifyTimestamp(bytes, root, current, STRICT) as TimestampMetadata;
  return inTransaction(database, () => {
    // Neither handed over nor learned of anything: a further root may have taken the key away.
    const unchanged =
      isDeepStrictEqual(readPublication(database), known) && newestRoot(database)?.version === root.version;
    const after = { ...known, ...withdrawalsWith(known, current, timestamp) };
    if (unchanged) storePublication(database, publicationAfter(bytes, timestamp, after));
    return unchanged ? outcome : 'overtaken';
  });
}

/** A good one that was signed before may be fresh for longer than what says that it is withdrawn. */
function isHalfOver({ version, expires }: Publication, now: number): boolean {
  return now > (version + expires) / 2;
}

/** Whether a key is here by which readers take what it signs. */
export async function canSign(state: KeyServerState): Promise<boolean> {
  try {
    const [root, pair] = [newestRoot(state.database), await readTimestampKey(state)];
    if (root && pair) await signerOf(pair, root);
    return root !== undefined && pair !== undefined;
  } catch (error) {
    if (error instanceof KeyServerError) return false; // each run says why
    throw error;
  }
}

/** For how long the publisher wants timestamps to be good, in whole hours: a version may lie a little after the time of signing. */
function freshnessOf({ expires, version }: TimestampMetadata): number {
  return Math.max(1, Math.round((expires - version) / HOUR)) * HOUR;
}

/** Fails closed: a key that the publisher's root does not name, or that cannot sign alone, signs nothing. */
async function signerOf(pair: KeyPair, { roles, keys }: RootMetadata): Promise<RoleSigner> {
  const signer = await roleSigner(pair);
  const { keyids, threshold } = roles.timestamp;
  if (threshold === 1 && keyids.includes(signer.keyid) && keys.has(signer.keyid)) return signer;
  throw new KeyServerError(
    'timestamp-key-foreign',
    threshold === 1
      ? "the timestamp key that the publisher handed over is not one of its root's"
      : `the root asks for ${threshold} signatures on a timestamp, and one key is here`,
    { hint: 'let the publisher hand over a new bundle, and publish again' },
  );
}

function encode(
  { version, snapshot }: TimestampMetadata,
  known: Publication,
  signer: RoleSigner,
  now: number,
  freshSeconds: number,
): Uint8Array {
  const about = { version: Math.max(timestampVersion(now, version), known.least), expires: now + freshSeconds };
  const { length, sha256 } = snapshot; // both are there: STRICT
  const facts = { version: snapshot.version, length: length as number, sha256: sha256 as string };
  const there = known.withdrawn.filter((one) => one <= snapshot.version); // none that is still to come
  const highest = there.slice(-PUBLICATION_LIMITS.withdrawn);
  return signMetadata(timestampMetadata(about, facts, highest), [signer]);
}
