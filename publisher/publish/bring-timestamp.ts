/**
 * Takes a timestamp that was signed apart from a publication (`wispr timestamp`, `wispr withdraw`) to where readers find it. Somebody else may
 * have confirmed the publication in the meantime, so the newest one is fetched first, and what is signed then is newer than that.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { TimestampMetadata } from '../../core/publication/metadata.ts';
import type { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import type { PublishError } from '../errors.ts';
import { readIfThere } from '../keys/file-update.ts';
import { rememberPublished } from '../last-published.ts';
import { replaceOutputFile } from '../protect/replace-output-file.ts';
import { headersOf } from '../publication/files.ts';
import type { OpenedPublication, PublicationPlace } from '../publication/open.ts';
import { openPublication } from '../publication/open.ts';
import { openOutput } from '../publication/own.ts';
import { placeInDirectory, readBounded } from '../publication/places.ts';
import { fileOfRole } from '../publication/roles.ts';
import { withNews } from '../published-places.ts';
import { joinWithdrawn, repeatsWithdrawn } from '../timestamp/withdrawn.ts';
import { type Workspace, withLock } from '../workspace.ts';
import { alsoAt, attempt, isBehind, isBringFailure, isRefusal, isTargetFailure } from './bring-failures.ts';
import { expiriesOf } from './expiries.ts';
import { fetchTimestamp, hasRoot, isUnreachable, type KeyServerAccess, tellOfPublication } from './key-server.ts';
import { isRollback, KnowsLater, whatKeyServerSays } from './key-server-says.ts';
import type { LivePublication } from './live-publication.ts';
import {
  type CheckedTimestamp,
  checkIsThere,
  checkNotNewer,
  type OwnAndThere,
  TIMESTAMP_PATH,
  timestampIfGood,
} from './overtaken.ts';
import { isOfFuture, ownTimestamp, putTimestamp, reverted } from './timestamp-step.ts';

/** What somebody may have to wait for. */
export type Step = 'looking' | 'asking' | 'bringing' | 'telling';

export interface TimestampPlaces {
  /** The protected site. */
  readonly out: string;
  /** What is confirmed in place of what is in `out`. */
  readonly live?: LivePublication | undefined;
  /** What is brought: as it was signed, whatever else was put into `out` since. Left out where that is what lies there. */
  readonly signed?: (() => Uint8Array) | undefined;
  /** Left out where `out` itself is what is served. */
  readonly target?: Target | undefined;
  /** Left out where the key server is told by hand. */
  readonly keyServer?: KeyServerAccess | undefined;
  /** Seconds since 1970. */
  readonly now: number;
  /** Does a step, and sees how it goes. */
  readonly during?: <Result>(step: Step, work: () => Promise<Result>) => Promise<Result>;
}

/** What others have of the publication. */
export interface Found {
  /** Why the key server could not be asked. */
  readonly silent: PublishError | undefined;
  /** Why the target could not be looked at, or what is claimed there. */
  readonly failure: StorageError | PublishError | undefined;
  /** Whether the target or the key server has this very publication. */
  readonly isPublished: boolean;
}

export interface AdoptPlaces extends TimestampPlaces {
  readonly workspace: Workspace;
  /** Something is to be withdrawn. */
  readonly urgent?: boolean;
  /** It may be out, whatever the target shows. */
  readonly mayBeOut?: boolean;
  /** Does one after the other what takes the lock, where several targets are looked at. */
  readonly inTurn?: <Result>(work: () => Promise<Result>) => Promise<Result>;
}

/**
 * Takes over the newest timestamp that was signed for the publication in `out`, so that the next one is newer, and keeps what was withdrawn. A
 * target or a key server that cannot be asked keeps nobody from signing: withdrawing may be urgent. So what the target claims does not either,
 * where something is to be withdrawn: whoever stole the timestamp key can claim anything.
 *
 * @returns what the key server could not be asked for
 * @throws PublishError `target-newer` and `target-forked`, unless `urgent`; `workspace-busy`; `target-behind` where the key server does not have this publication either;
 * PublicationError
 */
export async function adoptTimestamp(places: AdoptPlaces): Promise<PublishError | undefined> {
  return (await lookAround(places)).silent;
}

/**
 * As {@link adoptTimestamp}.
 *
 * @throws as {@link adoptTimestamp}
 */
export async function lookAround(places: AdoptPlaces): Promise<Found> {
  const { keyServer, during = atOnce, inTurn = (work) => work() } = places;
  const publication = await openOwn(places);
  const place = atTarget(places, publication);
  const [asked, looked] = await Promise.all([
    attempt(async () => keyServer && during('asking', () => fetchTimestamp(keyServer)), isUnreachable),
    attempt(
      async () => place && during('looking', () => lookAt(place)),
      places.urgent ? isBringFailure : isTargetFailure,
    ),
  ]);
  const isConfirmed = names(asked.value, publication);
  if (isBehind(looked.failure) && !isConfirmed && !places.mayBeOut) throw looked.failure;
  for (const bytes of [looked.value, asked.value]) {
    const found = bytes && checkedTimestamp(bytes, publication);
    if (found && saysMore(found, publication))
      await inTurn(() => withLock(places.workspace, () => takeOver(found.bytes, places)));
  }
  const isPublished = isConfirmed || looked.failure === undefined;
  return { silent: asked.failure, failure: looked.failure, isPublished };
}

/** @returns what {@link TimestampPlaces.during} is where nobody looks on */
export function atOnce<Result>(_: Step, work: () => Promise<Result>): Promise<Result> {
  return work();
}

async function lookAt(place: OwnAndThere): Promise<Uint8Array | undefined> {
  await checkNotNewer(place);
  await checkIsThere(place);
  return readBounded(place.target, TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
}

/** Another publication may have been made in `out` while others were asked, or another root: then a key of before signs nothing any more. */
async function takeOver(bytes: Uint8Array, places: AdoptPlaces): Promise<void> {
  const { out, live, workspace } = places;
  const publication = await openOwn(places);
  const found = checkedTimestamp(bytes, publication);
  if (found === undefined) return;
  const versions = joinWithdrawn(publication.state.timestamp, found.timestamp);
  await rememberPublished(workspace, (last) =>
    withNews(last, { elsewhere: [{ keys: found.timestamp.signers, versions }] }),
  );
  if (!isNewerOfSame(found, publication)) return;
  if (live) await live.replaceTimestamp(found.bytes);
  else await replaceOutputFile(join(out, TIMESTAMP_PATH), found.bytes);
}

export function openOwn({ out, live, signed, now }: TimestampPlaces): Promise<OpenedPublication> {
  if (signed) return openPublication(holding(signed, live ?? placeInDirectory(out)), { now });
  return live ? openPublication(live, { now }) : openOutput(out, { now });
}

/** A publication under a timestamp that nobody else can change. */
function holding(signed: () => Uint8Array, place: PublicationPlace): PublicationPlace {
  return { read: async (path, maximum) => (path === TIMESTAMP_PATH ? signed() : place.read(path, maximum)) };
}

/** The publication, and the target that is to have it. */
export function atTarget(
  { out, target, live }: TimestampPlaces,
  publication: OpenedPublication,
): OwnAndThere | undefined {
  return target && { out, target, publication, ...(live && { rootThere: live.rootThere }) };
}

function saysMore(found: CheckedTimestamp, publication: OpenedPublication): boolean {
  return isNewerOfSame(found, publication) || !repeatsWithdrawn(publication.state.timestamp, found.timestamp);
}

/**
 * Puts the timestamp in `out` where readers find it: at the target, and at the key server, which pushes it on. The key server is told whatever
 * state the target is in, whatever is claimed there, and so are readers, who ask it first.
 *
 * @throws PublishError `timestamp-outrun` where somebody else has confirmed it meanwhile, and knows nothing of what is withdrawn by this;
 * `target-newer`, `target-forked`; PublicationError; what {@link isTargetFailure} names, when the key server has been told, unless neither has this publication. Where the
 * target is well, `key-server-refused`, `key-server-unreachable`; else these are said besides, and are its cause
 */
export async function bringTimestamp(places: TimestampPlaces): Promise<void> {
  const { out, keyServer, during = atOnce } = places;
  const publication = await openOwn(places);
  const { bytes: timestamp } = await ownTimestamp({ out, publication });
  const place = atTarget(places, publication);
  const there = await attempt(async () => place && during('looking', () => checkIsThere(place)), isTargetFailure);
  if (there.failure && !(keyServer && (await confirms(keyServer, publication)))) throw there.failure;
  const { failure } = there.failure
    ? there
    : await attempt(async () => place && during('bringing', () => show(place)), isBringFailure);
  const { failure: refusal } = await attempt(
    async () => keyServer && during('telling', () => tell(keyServer, { ...places, publication, timestamp })),
    isRefusal,
  );
  if (failure && keyServer) throw alsoAt(failure, refusal);
  if (failure ?? refusal) throw failure ?? refusal;
}

/**
 * @param news - what it is told, and whether that is about something else than what is in `out`
 * @throws KnowsLater; PublishError `key-server-refused`, `key-server-unreachable`
 */
export async function tell(
  keyServer: KeyServerAccess,
  news: Pick<TimestampPlaces, 'out' | 'live'> & { publication: OpenedPublication; timestamp: Uint8Array },
): Promise<void> {
  const { out, live, publication, timestamp } = news;
  const roots = await laterRoots(out, publication);
  if (live) roots.push(...(await laterKnownRoots(keyServer, out, publication)));
  const { failure } = await attempt(
    async () => tellOfPublication(keyServer, { timestamp, roots, expiries: await expiriesOf(publication) }),
    isRefusal,
  );
  if (failure === undefined) return;
  const { version } = publication.state.timestamp.snapshot;
  const has = isRollback(failure) ? await whatKeyServerSays(asNow(keyServer), publication) : 'unknown';
  throw typeof has === 'object' && has.version > version ? new KnowsLater(failure, has, version) : failure;
}

/** Whatever it answered before. */
function asNow({ origin, limits, signal }: KeyServerAccess): Omit<KeyServerAccess, 'token'> {
  return { origin, ...(limits && { limits }), signal };
}

/** Those in `out` that the key server has already, with keys.bundle or an upload that was interrupted: it goes back to none before. */
async function laterKnownRoots(
  keyServer: KeyServerAccess,
  out: string,
  { state }: OpenedPublication,
): Promise<Uint8Array[]> {
  const roots: Uint8Array[] = [];
  for (let version = state.root.version + 1; ; version++) {
    const own = await readIfThere(join(out, fileOfRole('root', version)));
    if (own === undefined || !(await hasRoot(keyServer, version, own))) return roots;
    roots.push(own);
  }
}

/** Those after the one that the target has come first: the timestamp may be by a key that only they name. */
export async function show(place: OwnAndThere): Promise<void> {
  await checkNotNewer(place);
  await bringRoots(place);
  const { isShown } = await putTimestamp(place);
  if (!isShown) throw reverted(place.target);
}

async function bringRoots({ target, publication: { state, place }, rootThere }: OwnAndThere): Promise<void> {
  const last = state.root.version;
  for (let version = (rootThere ?? last) + 1; version <= last; version++) {
    const path = fileOfRole('root', version);
    const own = await place.read(path, PUBLICATION_LIMITS.rootLength);
    if (own === undefined) throw new Error(`a publication under root ${last} has root ${version}`);
    const file = await target.head(path);
    const there = file && (await readBounded(target, path, own.length));
    if (there && equalBytes(there, own)) continue;
    const kind = { path, kind: 'metadata', immutable: true, optional: false } as const;
    await target.put(path, own, { ...headersOf(kind), replacing: file?.tag ?? null });
  }
}

/** Whether the key server has this very publication, as far as it answers: then it was at the target once. */
export async function confirms(keyServer: KeyServerAccess, publication: OpenedPublication): Promise<boolean> {
  const says = await whatKeyServerSays(keyServer, publication);
  return typeof says === 'object' && says.sha256 === publication.state.timestamp.snapshot.sha256;
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
