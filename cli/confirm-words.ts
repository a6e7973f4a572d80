/** What is said where `wispr timestamp` and `wispr withdraw` cannot do all that they are to do. */
import { PublicationError } from '../core/publication/errors.ts';
import type { StorageError } from '../node-support/storage/errors.ts';
import { PublishError } from '../publisher/errors.ts';
import { readLastPublished } from '../publisher/last-published.ts';
import { isBringFailure, isRefusal, reworded, saidBesides } from '../publisher/publish/bring-failures.ts';
import { type LastPublished, type Place, type PublishedSnapshot, placeOf } from '../publisher/published-places.ts';
import type { PublicationPlaces } from './publication-places.ts';

export function unseen({ message }: StorageError): string {
  return `${message}; it is signed without what others may have published or withdrawn there`;
}

/** Nobody who may hang is to be waited for. @param withdraw - what was to be withdrawn */
export function urgentlyBusy(error: unknown, withdraw: number | undefined): unknown {
  if (withdraw === undefined || !(error instanceof PublishError && error.code === 'workspace-busy')) return error;
  const hint = `end the other, if it does not come to its end at once: the same command goes on there later; then run "wispr withdraw ${withdraw}" again`;
  return new PublishError(error.code, error.message, { cause: error, hint });
}

/** To a place that nobody knew of when it was looked around. */
export function publishedMeanwhile(): PublishError {
  return new PublishError('workspace-busy', 'another wispr has published to it meanwhile');
}

/**
 * What is later than what is to be confirmed, and owed there, comes first: who was told of it takes nothing earlier.
 *
 * @throws PublicationError `publication-withdrawn`
 */
export function checkFinished(remembered: LastPublished, target: Place, last: PublishedSnapshot | undefined): void {
  const later = laterOwed(placeOf(remembered, target), last);
  if (later !== undefined) throw notWithAll(`publication ${later} is withdrawn`, later);
}

/** Why the key server, where that owes it, is told nothing of what is to be confirmed: that keeps nobody from confirming it at the target. */
export function laterAtKeyServer(
  { keyServer }: LastPublished,
  target: Place,
  last: PublishedSnapshot | undefined,
): PublicationError | undefined {
  const later = laterOwed(keyServer, last);
  const done = `it is signed, and at ${target}, and the key server is not told of it: publication ${later} is withdrawn`;
  return later === undefined ? undefined : notWithAll(done, later);
}

function laterOwed({ owed }: Pick<LastPublished['keyServer'], 'owed'>, last: PublishedSnapshot | undefined) {
  return owed.findLast((version) => last !== undefined && version > last.version);
}

/** What only is withdrawn here, readers go on with. @param last - what was to be confirmed */
export async function unfinishedFirst(
  error: unknown,
  { workspace }: PublicationPlaces,
  last: PublishedSnapshot | undefined,
): Promise<never> {
  if (!(error instanceof PublicationError && error.code === 'publication-withdrawn')) throw error;
  const { places, keyServer } = await readLastPublished(workspace);
  const all = [...places.flatMap((place) => place.owed), ...keyServer.owed];
  const owed = all.filter((one) => one >= (last?.version ?? 0)); // what is below ends nothing of this
  const begun = places.flatMap((place) => place.begun).find((one) => one.version === last?.version);
  const version = owed.length > 0 ? Math.max(...owed) : begun?.version;
  throw version === undefined ? error : notWithAll(error.message, version, error);
}

function notWithAll(what: string, version: number, cause?: PublicationError): PublicationError {
  const then = cause?.hint === undefined ? '' : `; then ${cause.hint}`;
  const message = `${what}; but that was not brought to everybody who is to have it`;
  const hint = `run "wispr withdraw ${version}" again: it finishes that${then}`;
  return new PublicationError('publication-withdrawn', message, { cause, hint });
}

export function maybeOut(version: number | undefined, { target }: PublicationPlaces): string {
  return `publication ${version} may be out, for all that ${target?.name} shows; it is withdrawn as if it were`;
}

export function maybeInstead(later: number, { target, publishAgain }: PublicationPlaces): string {
  return `readers may have publication ${later} already, for all that ${target?.name} shows; who has it is shown nothing until you publish again: "${publishAgain}"`;
}

/** It was there: what a host has lost, only another publication puts right. */
export function hiddenOrLost(error: unknown, { publishAgain }: PublicationPlaces): unknown {
  if (!(error instanceof PublishError && error.code === 'target-behind')) return error;
  const hint = `the host has lost what was published, or hides it: "${publishAgain}" puts there what is in "out" by now`;
  return reworded(error, error.message, hint);
}

export function withWhatRemains(error: unknown, silent: PublishError | undefined, places: PublicationPlaces): unknown {
  if (isBringFailure(error)) return signedButNotThere(silent ? saidBesides(error, silent) : error);
  return isRefusal(error) ? signedButNotTold(error, places) : error;
}

/** The next run signs it again, and takes it along. */
function signedButNotThere(error: StorageError | PublishError): Error {
  return reworded(error, `it is signed, but not where the site is served: ${error.message}`, thenAgain(error.hint));
}

export function signedButNotTold(cause: PublishError, { target, out }: PublicationPlaces): PublishError {
  const where = target?.name ?? out;
  return new PublishError(cause.code, `it is signed, and at ${where}; but ${cause.message}`, {
    cause,
    hint: `${thenAgain(cause.hint)}; readers ask the key server first`,
  });
}

/** What is said about it once is enough; and there is no other place to name here. */
function thenAgain(hint: string | undefined): string {
  const again = 'run the same command again';
  if (hint === undefined) return `${again} when that is mended`;
  const said = hint.replace(', or name another directory', '');
  return said.includes(again) ? said : `${said}; then ${again}`;
}
