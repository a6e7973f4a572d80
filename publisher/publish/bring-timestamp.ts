/**
 * Takes a timestamp that was signed apart from a publication (`wispr timestamp`, `wispr withdraw`) to where readers find it. Somebody else may
 * have confirmed the publication in the meantime, so the newest one is fetched first, and what is signed then is newer than that.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { rememberPublished } from '../last-published.ts';
import { replaceOutputFile } from '../protect/replace-output-file.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { openPublication } from '../publication/open.ts';
import { fileOfRole } from '../publication/roles.ts';
import { joinWithdrawn, repeatsWithdrawn } from '../timestamp/withdrawn.ts';
import { type Workspace, withLock } from '../workspace.ts';
import { expiriesOf } from './expiries.ts';
import { fetchTimestamp, isUnreachable, type KeyServerAccess, tellOfPublication } from './key-server.ts';
import {
  type CheckedTimestamp,
  checkIsThere,
  checkNotNewer,
  type OwnAndThere,
  TIMESTAMP_PATH,
  timestampIfGood,
} from './overtaken.ts';
import { placeInDirectory, readBounded } from './places.ts';
import { isOfFuture, ownTimestamp, putTimestamp, reverted } from './timestamp-step.ts';

export interface TimestampPlaces {
  /** The protected site. */
  readonly out: string;
  /** Left out where `out` itself is what is served. */
  readonly target?: Target | undefined;
  /** Left out where the key server is told by hand. */
  readonly keyServer?: KeyServerAccess | undefined;
  /** Seconds since 1970. */
  readonly now: number;
}

export interface AdoptPlaces extends TimestampPlaces {
  readonly workspace: Workspace;
}

/**
 * Takes over the newest timestamp that was signed for the publication in `out`, so that the next one is newer, and keeps what was withdrawn. A
 * target or a key server that cannot be asked keeps nobody from signing: withdrawing may be urgent.
 *
 * @returns what the key server could not be asked for
 * @throws PublishError `target-newer`, `target-forked`, `workspace-busy`; `target-behind` where the key server does not have this publication either;
 * PublicationError
 */
export async function adoptTimestamp(places: AdoptPlaces): Promise<PublishError | undefined> {
  const { out, target, keyServer, now, workspace } = places;
  const publication = await openPublication(placeInDirectory(out), { now });
  const asked = await attempt(async () => keyServer && fetchTimestamp(keyServer), isUnreachable);
  const looked = await attempt(async () => target && lookAt({ out, target, publication }), isTargetFailure);
  if (isBehind(looked.failure) && !names(asked.value, publication)) throw looked.failure;
  for (const bytes of [looked.value, asked.value]) {
    const found = bytes && checkedTimestamp(bytes, publication);
    if (found && saysMore(found, publication)) await withLock(workspace, () => takeOver(found, places));
  }
  return asked.failure;
}

async function lookAt(place: OwnAndThere): Promise<Uint8Array | undefined> {
  await checkNotNewer(place);
  await checkIsThere(place);
  return readBounded(place.target, TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
}

/** Another publication may have been made in `out` while others were asked. */
async function takeOver(found: CheckedTimestamp, { out, now, workspace }: AdoptPlaces): Promise<void> {
  const publication = await openPublication(placeInDirectory(out), { now });
  await rememberPublished(workspace, { withdrawn: joinWithdrawn(publication.state.timestamp, found.timestamp) });
  if (isNewerOfSame(found, publication)) await replaceOutputFile(join(out, TIMESTAMP_PATH), found.bytes);
}

function saysMore(found: CheckedTimestamp, publication: OpenedPublication): boolean {
  return isNewerOfSame(found, publication) || !repeatsWithdrawn(publication.state.timestamp, found.timestamp);
}

/**
 * Puts the timestamp in `out` where readers find it: at the target, and at the key server, which pushes it on. The key server is told whatever
 * state the target is in, and so are readers, who ask it first.
 *
 * @throws PublishError `timestamp-outrun` where somebody else has confirmed it meanwhile, and knows nothing of what is withdrawn by this;
 * `target-newer`, `target-forked`, `key-server-refused`; PublicationError; what {@link isTargetFailure} names, when the key server has been told, unless neither has this publication
 */
export async function bringTimestamp({ out, target, keyServer, now }: TimestampPlaces): Promise<void> {
  const publication = await openPublication(placeInDirectory(out), { now });
  const { bytes: timestamp } = await ownTimestamp({ out, publication });
  const place = target && { out, target, publication };
  const there = await attempt(async () => place && checkIsThere(place), isTargetFailure);
  if (there.failure && !(keyServer && (await confirms(keyServer, publication)))) throw there.failure;
  const { failure } = there.failure ? there : await attempt(async () => place && show(place), isTargetFailure);
  if (keyServer) {
    const expiries = await expiriesOf(publication);
    await tellOfPublication(keyServer, { timestamp, roots: await laterRoots(out, publication), expiries });
  }
  if (failure) throw keyServer ? reworded(failure, `${failure.message}; the key server was told`) : failure;
}

async function show(place: OwnAndThere): Promise<void> {
  const { isShown } = await putTimestamp(place);
  if (!isShown) throw reverted(place.target);
}

/** Whether the key server has this very publication: then it was at the target once. */
async function confirms(keyServer: KeyServerAccess, publication: OpenedPublication): Promise<boolean> {
  const { value } = await attempt(() => fetchTimestamp(keyServer), isUnreachable);
  return names(value, publication);
}

/** What a target, whose state nobody answers for, is to blame for; that somebody else has published is none of it. */
export function isTargetFailure(error: unknown): error is StorageError | PublishError {
  if (error instanceof StorageError) return true;
  return error instanceof PublishError && ['target-foreign', 'target-behind', 'target-reverted'].includes(error.code);
}

/** The same failure in other words. */
export function reworded(
  cause: StorageError | PublishError,
  message: string,
  hint = cause.hint,
): StorageError | PublishError {
  const options = { cause, ...(hint !== undefined && { hint }) };
  return cause instanceof StorageError
    ? new StorageError(cause.code, message, options)
    : new PublishError(cause.code, message, options);
}

function isBehind(failure: StorageError | PublishError | undefined): boolean {
  return failure?.code === 'target-behind';
}

/** Does something that may fail in some ways. */
async function attempt<Value, Failure>(
  work: () => Promise<Value>,
  mayFail: (error: unknown) => error is Failure,
): Promise<{ readonly value?: Value; readonly failure?: Failure }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (mayFail(error)) return { failure: error };
    throw error;
  }
}

/** All roots but the first. */
export async function laterRoots(out: string, { state }: OpenedPublication): Promise<Uint8Array[]> {
  const roots: Uint8Array[] = [];
  for (let version = 2; version <= state.root.version; version++)
    roots.push(await readFile(join(out, fileOfRole('root', version))));
  return roots;
}

/** Whether it is a later timestamp for the very same publication. */
function isNewerOfSame({ timestamp }: CheckedTimestamp, publication: OpenedPublication): boolean {
  return isOfSame(timestamp, publication) && timestamp.version > publication.state.timestamp.version;
}

function names(bytes: Uint8Array | undefined, publication: OpenedPublication): boolean {
  const found = bytes && checkedTimestamp(bytes, publication);
  return found !== undefined && isOfSame(found.timestamp, publication);
}

function isOfSame({ snapshot }: TimestampMetadata, { state }: OpenedPublication): boolean {
  return snapshot.sha256 === state.timestamp.snapshot.sha256;
}

/** A good timestamp, and none of the future. */
function checkedTimestamp(bytes: Uint8Array, publication: OpenedPublication): CheckedTimestamp | undefined {
  const found = timestampIfGood(bytes, publication);
  return found && !isOfFuture(found.timestamp, publication) ? found : undefined;
}
