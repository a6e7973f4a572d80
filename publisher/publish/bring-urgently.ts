/**
 * Takes a withdrawal to where readers find it. They ask the key server first, so it is told at once, beside the target: neither waits for the
 * other, whatever it does or leaves.
 */
import type { StorageError } from '../../node-support/storage/errors.ts';
import { PublishError } from '../errors.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { alsoAt, attempt, isBringFailure, isRefusal, isTargetFailure, saidBesides } from './bring-failures.ts';
import { atOnce, atTarget, confirms, openOwn, show, type TimestampPlaces, tell } from './bring-timestamp.ts';
import type { KeyServerAccess } from './key-server.ts';
import { isRollback, KnowsLater } from './key-server-says.ts';
import { checkIsThere } from './overtaken.ts';
import { ownTimestamp } from './timestamp-step.ts';

/** How often the key server may be quicker. */
const ATTEMPTS = 5;

export interface UrgentPlaces extends TimestampPlaces {
  /** Whether it is known that the target, or the key server, has this publication. */
  readonly isPublished: boolean;
  /** Why the key server could not be asked before. */
  readonly silent: PublishError | undefined;
  /** Takes over what the key server has by now, and signs anew. */
  readonly renew: () => Promise<void>;
}

type Failure = StorageError | PublishError;

/** What became of it at each of the two. */
export interface Brought {
  /** Why the target does not have it. */
  readonly failure: Failure | undefined;
  /** Why the key server does not, where it was told. */
  readonly refusal: PublishError | undefined;
  /** Whether the key server took it. */
  readonly isTold: boolean;
}

/**
 * Puts the timestamp at the target and at the key server.
 *
 * @throws as `bringTimestamp`
 */
export async function bringUrgently(places: UrgentPlaces): Promise<void> {
  const failure = failureOf(places, await bringToBoth(places));
  if (failure) throw failure;
}

/** What is said of it. */
export function failureOf(
  { keyServer, silent }: Pick<UrgentPlaces, 'keyServer' | 'silent'>,
  { failure, refusal, isTold }: Brought,
): Error | undefined {
  if (failure && keyServer && (isTold || refusal)) return alsoAt(failure, refusal);
  return failure && silent ? saidBesides(failure, silent) : (failure ?? refusal);
}

/** As {@link bringUrgently}, of which everything is known then. */
export async function bringToBoth(places: UrgentPlaces): Promise<Brought> {
  const publication = await openOwn(places);
  const there = isThere(places, publication);
  const shown = there.then((failure) => failure ?? showIt(places, publication));
  const [failure, told] = await bothEnded(shown, tellIfPublished(places, publication, there));
  const late = told.isRenewed && !failure ? await showIt(places, publication) : failure;
  const isTold = places.keyServer !== undefined && told.mayBe && told.refusal === undefined;
  return { failure: late, refusal: told.refusal, isTold };
}

/** @returns why it is not known to be at the target */
async function isThere(places: UrgentPlaces, publication: OpenedPublication): Promise<Failure | undefined> {
  const { during = atOnce } = places;
  const place = atTarget(places, publication);
  return (await attempt(async () => place && during('looking', () => checkIsThere(place)), isTargetFailure)).failure;
}

/** @returns why it is not shown there */
async function showIt(places: UrgentPlaces, publication: OpenedPublication): Promise<Failure | undefined> {
  const { during = atOnce } = places;
  const place = atTarget(places, publication);
  return (await attempt(async () => place && during('bringing', () => show(place)), isBringFailure)).failure;
}

interface Told {
  /** `false`: nobody has this publication, as far as can be known. */
  readonly mayBe: boolean;
  readonly isRenewed: boolean;
  readonly refusal: PublishError | undefined;
}

/** Readers who are told of a publication that is not there have none any more. */
async function tellIfPublished(
  places: UrgentPlaces,
  publication: OpenedPublication,
  there: Promise<Failure | undefined>,
): Promise<Told> {
  const { keyServer } = places;
  if (keyServer === undefined) return { mayBe: true, isRenewed: false, refusal: undefined };
  const isAtTarget = async () => (await there) === undefined;
  const mayBe = places.isPublished || (await either(isAtTarget(), confirms(keyServer, publication)));
  return mayBe ? tellNewest(places, publication, keyServer) : { mayBe, isRenewed: false, refusal: undefined };
}

/** Somebody else may have told it of a later one: then ours has to be later still. */
async function tellNewest(places: UrgentPlaces, publication: OpenedPublication, keyServer: KeyServerAccess) {
  const { out, live, during = atOnce } = places;
  for (let attempts = 1; ; attempts++) {
    const { bytes: timestamp } = await ownTimestamp({ out, publication });
    const news = { out, live, publication, timestamp };
    const { failure: refusal } = await attempt(() => during('telling', () => tell(keyServer, news)), isRefusal);
    const isOutrun = refusal !== undefined && isRollback(refusal) && !(refusal instanceof KnowsLater);
    if (!isOutrun || attempts === ATTEMPTS) return { mayBe: true, isRenewed: attempts > 1, refusal };
    const { failure: hindrance } = await attempt(places.renew, isHindrance);
    if (hindrance) return { mayBe: true, isRenewed: attempts > 1, refusal: saidToo(refusal, hindrance) };
  }
}

/** What may come between, while it is signed already: that stays said. A signal ends it in its own words. */
function isHindrance(error: unknown): error is PublishError {
  return error instanceof PublishError && error.code !== 'stopped';
}

/** The key server's refusal stays what it is about. */
function saidToo(refusal: PublishError, { message, hint = refusal.hint }: PublishError): PublishError {
  const words = `${refusal.message}; and it could not be signed once more: ${message}`;
  return new PublishError(refusal.code, words, { cause: refusal, ...(hint !== undefined && { hint }) });
}

/** Whatever ends one of them leaves the other to come to its end. */
async function bothEnded<One, Other>(one: Promise<One>, other: Promise<Other>): Promise<[One, Other]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}

/** As soon as one is so. */
async function either(...questions: readonly Promise<boolean>[]): Promise<boolean> {
  const yes = questions.map(async (question) => {
    if (!(await question)) throw new Error('it is not so');
  });
  return Promise.any(yes).then(
    () => true,
    () => false,
  );
}
