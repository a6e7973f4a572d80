/**
 * Signs the timestamp (docs/spec/publication.md, R1 and R3). Each function makes one transaction of it: verify everything under the newest
 * root, compare, sign above all timestamps seen, store. Nothing is visible before the transaction is committed, and nothing goes back.
 */
import { createHash } from 'node:crypto';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { parseHandOver } from '../../core/publication/hand-over.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { isoTime, type RootMetadata, type TimestampMetadata } from '../../core/publication/metadata.ts';
import { isGreater } from '../../core/publication/pair.ts';
import { checkExpiry, verifyOwnSnapshot } from '../../core/publication/verify-roles.ts';
import { signMetadata, timestampMetadata, timestampVersion } from '../../core/publication/writer.ts';
import { KeyServerError } from '../errors.ts';
import { audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { readTimestampKey } from './key.ts';
import { placeOf } from './publishing.ts';
import {
  followRoots,
  goodSnapshot,
  goodTimestamp,
  type Publication,
  readPublication,
  readRoots,
  STRICT,
  storePublication,
  storeRoots,
  verifyRoots,
} from './stored.ts';

/** Outcome of a hand-over. Where it is older than the current publication, or another one of its version, nothing was changed. */
export interface HandOverOutcome {
  readonly outcome: 'current' | 'publication-older' | 'publication-other';
  readonly timestamp: Uint8Array;
  readonly publication: number;
}

/** A publication found and verified at a push target: roots that follow those here, and a timestamp with its snapshot. */
export interface FoundPublication {
  readonly furtherRoots: readonly Uint8Array[];
  readonly timestamp: Uint8Array;
  readonly snapshot: Uint8Array;
}

interface Signing {
  readonly database: Database;
  readonly signer: RoleSigner | undefined;
  readonly now: number;
  readonly freshSeconds: number;
}

/**
 * Makes a publication current that its publisher hands over. The same snapshot again is answered with the same timestamp, unless this is no
 * longer good under the newest root, or more than half of its time is over.
 *
 * @param freshSeconds - for which a timestamp is good
 * @throws PublicationError of the message or the metadata; KeyServerError `no-provider`, `timestamp-key-unusable`, `clock-off`,
 * `store-unusable`. Nothing was changed then.
 */
export function acceptHandOver(
  state: KeyServerState,
  bytes: Uint8Array,
  freshSeconds: number,
): Promise<HandOverOutcome> {
  const message = parseHandOver(bytes);
  return signing(state, freshSeconds, async (sign) => {
    const { roots, root: known } = await knownRoots(sign.database);
    const further = furtherRoots(message.roots, roots);
    const root = await followRoots(known, further);
    checkExpiry('root', root, sign.now);
    await message.checkSignature(root);
    const { version: publication, expires } = await verifyOwnSnapshot(message.snapshot, root, STRICT);
    checkExpiry('snapshot', { expires }, sign.now);
    const before = await readPublication(sign.database);
    const refusal = before && (await compareWith(before, message.snapshot, publication, root));
    if (before && refusal) return { outcome: refusal, timestamp: before.timestamp, publication };
    await storeRoots(sign.database, further, roots.length);
    const isSame = before !== undefined && equalBytes(before.snapshot, message.snapshot);
    const isYoung = isSame && sign.now < (before.version + before.expires) / 2;
    if (isYoung && (await goodTimestamp(before.timestamp, root))) {
      await storePublication(sign.database, { ...before, expiries: message.expiries });
      return { outcome: 'current', timestamp: before.timestamp, publication };
    }
    const came = isSame ? before : { published: sign.now, who: state.actor, place: await placeOf(state) };
    const { published, who, place } = came;
    const about = { snapshotVersion: publication, published, who, place };
    const timestamp = await storeConfirmed(sign, root, { ...message, ...about });
    if (!isSame) await audit(state, 'publication', String(publication), { from: place || undefined });
    return { outcome: 'current', timestamp, publication };
  });
}

/**
 * Confirms the current publication anew. What is stored was verified when it came, and is verified again: an altered database is no reason
 * to sign something.
 *
 * @returns whether there was something to confirm, and the key to do it
 * @throws as {@link acceptHandOver}
 */
export function confirmAgain(state: KeyServerState, freshSeconds: number): Promise<boolean> {
  return signing(state, freshSeconds, async (sign) => {
    const known = await readPublication(sign.database);
    if (known === undefined || sign.signer === undefined) return false;
    const { root } = await knownRoots(sign.database);
    checkExpiry('snapshot', await verifyOwnSnapshot(known.snapshot, root, STRICT), sign.now);
    await storeConfirmed(sign, root, known);
    return true;
  });
}

/**
 * Adopts what a push target has, where its pair is greater: its publisher signed by itself (R5), or the database here is an old copy.
 *
 * @returns whether it was adopted
 * @throws as {@link acceptHandOver}; KeyServerError `publication-other`
 */
export function adopt(state: KeyServerState, found: FoundPublication, freshSeconds: number): Promise<boolean> {
  return signing(state, freshSeconds, async (sign) => {
    const { roots, root: known } = await knownRoots(sign.database);
    const before = await readPublication(sign.database);
    const root = await followRoots(known, found.furtherRoots);
    const timestamp = await goodTimestamp(found.timestamp, root);
    if (before === undefined || timestamp === undefined || !(await exceeds(timestamp, before, root))) return false;
    const { version: snapshotVersion } = await verifyOwnSnapshot(found.snapshot, root, STRICT);
    await storeRoots(sign.database, found.furtherRoots, roots.length);
    const came = { published: sign.now, who: state.actor, place: '' };
    const adopted = { snapshot: found.snapshot, snapshotVersion, expiries: before.expiries, ...came };
    await storeConfirmed(sign, root, adopted, timestamp.version);
    return true;
  });
}

/**
 * Tells whether a timestamp at a target has a greater pair than the publication here.
 *
 * @throws PublicationError `clock-off` where it is from the future; KeyServerError `publication-other` where it names another snapshot of
 * the same version. Nothing may be put in its place then.
 */
export async function exceeds(found: TimestampMetadata, known: Publication, root: RootMetadata): Promise<boolean> {
  const current = await goodTimestamp(known.timestamp, root);
  const isKnown = (await goodSnapshot(known.snapshot, root)) !== undefined;
  if (isKnown && found.snapshot.version < known.snapshotVersion) return false;
  if (isKnown && found.snapshot.version === known.snapshotVersion && found.snapshot.sha256 !== sha256Of(known.snapshot))
    throw new KeyServerError('publication-other', `another publication ${known.snapshotVersion} lies there`);
  return current === undefined || isGreater(found, current);
}

async function signing<Result>(
  state: KeyServerState,
  freshSeconds: number,
  work: (signing: Signing) => Promise<Result>,
): Promise<Result> {
  const { database, now } = state;
  return database.transaction(async () => {
    const pair = await readTimestampKey(state);
    const signer = pair && (await roleSigner(pair));
    return work({ database, signer, now: now(), freshSeconds });
  });
}

/** @throws KeyServerError `no-provider` */
async function knownRoots(
  database: Database,
): Promise<{ readonly roots: readonly Uint8Array[]; readonly root: RootMetadata }> {
  const roots = await readRoots(database);
  if (!roots) throw new KeyServerError('no-provider', 'no key bundle has been imported yet');
  return { roots, root: await verifyRoots(roots) };
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

/** R1. What the keys of this root have not signed does not count: readers have forgotten it (5.3.11). */
async function compareWith(
  before: Publication,
  snapshot: Uint8Array,
  version: number,
  root: RootMetadata,
): Promise<'publication-older' | 'publication-other' | undefined> {
  if ((await goodSnapshot(before.snapshot, root)) === undefined || version > before.snapshotVersion) return undefined;
  if (version < before.snapshotVersion) return 'publication-older';
  return equalBytes(snapshot, before.snapshot) ? undefined : 'publication-other';
}

/** Signs for a snapshot that was verified under this root, and stores both. @param above - a version that readers may have seen */
async function storeConfirmed(
  { database, signer, now, freshSeconds }: Signing,
  root: RootMetadata,
  known: Omit<Publication, 'expires' | 'timestamp' | 'version'>,
  above = 0,
): Promise<Uint8Array> {
  const before = await readPublication(database);
  const previous = before && (await goodTimestamp(before.timestamp, root));
  const seen = Math.max(previous?.version ?? 0, above);
  checkClock(seen, now);
  const about = { version: timestampVersion(now, seen), expires: now + freshSeconds };
  const { snapshot, snapshotVersion, expiries, published, who, place } = known;
  const facts = { version: snapshotVersion, length: snapshot.length, sha256: sha256Of(snapshot) };
  const timestamp = signMetadata(timestampMetadata(about, facts), [usable(signer, root)]);
  await storePublication(database, { snapshot, timestamp, snapshotVersion, ...about, expiries, published, who, place });
  return timestamp;
}

/** Fails closed: a key that the publisher's root does not name, or that cannot sign alone, signs nothing. */
function usable(signer: RoleSigner | undefined, { roles, keys }: RootMetadata): RoleSigner {
  const { keyids, threshold } = roles.timestamp;
  if (signer && threshold === 1 && keyids.includes(signer.keyid) && keys.has(signer.keyid)) return signer;
  const problem = "the publisher has handed over no timestamp key, or one that is not its root's alone";
  throw new KeyServerError('timestamp-key-unusable', problem);
}

/** The version of a timestamp is the time at which it was signed. @throws KeyServerError `clock-off` */
function checkClock(version: number, now: number): void {
  if (now >= version - PUBLICATION_LIMITS.clockTolerance) return;
  const times = `this machine's clock says ${isoTime(now)}, and the last timestamp was signed at ${isoTime(version)}`;
  throw new KeyServerError('clock-off', times);
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
