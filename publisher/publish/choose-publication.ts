/**
 * Which publication is confirmed, or withdrawn. It is the one that readers have, and more than one may be that: where a run of `wispr publish`
 * ended while it put the timestamp there, nobody knows but the target, which may be silent, or hide it.
 */
import type { MetaFile } from '../../core/publication/metadata.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { openOutput } from '../publication/own.ts';
import type { KnownPlace, PublishedSnapshot } from '../published-places.ts';
import { notMadeHere } from '../timestamp/sign-timestamp.ts';
import { LivePublication } from './live-publication.ts';
import type { LivePlaces } from './live-root.ts';
import { timestampShown } from './overtaken.ts';
import { publishCommand } from './publish-command.ts';

export interface ChoicePlaces extends Omit<LivePlaces, 'last'> {
  readonly target: Target;
}

export interface WithdrawPlaces extends ChoicePlaces {
  /** The highest number that was ever given here: what is not above it is ours. */
  readonly highest: number;
}

export interface ToConfirm {
  /** `undefined`: what is in `out`. */
  readonly live: LivePublication | undefined;
  /** What was published last. */
  readonly last: PublishedSnapshot | undefined;
}

export interface ToWithdraw extends Pick<ToConfirm, 'live'> {
  /** The SHA-256 of the snapshot in `out` that is to be signed for; `undefined` for that of `live`, or whatever lies there. */
  readonly snapshot: string | undefined;
  /** Whether readers may have it, though nobody here knows that they do. */
  readonly mayBeOut: boolean;
  /** Whether all of it but the timestamp is known to have been brought to the target. */
  readonly isBegun: boolean;
  /** Whether the target shows it, or something later. */
  readonly isSeen: boolean;
  /** A later one that readers may have instead, where the target does not show what they have. */
  readonly maybeLater?: number | undefined;
}

/** What a target does not show, for certain: it shows another publication of ours. */
export interface NotShown {
  /** The version that it shows: higher ones end what was withdrawn below them. */
  readonly shown: number;
  /** What was on its way there, all of it but the timestamp, which may still arrive. */
  readonly begun: PublishedSnapshot | undefined;
}

export type Chosen = { readonly sign: ToWithdraw } | { readonly notShown: NotShown };

/**
 * @param remembered - of this target
 * @throws PublishError `target-behind` where it is not known to be out; what {@link LivePublication.of} throws
 */
export async function chooseToConfirm(remembered: KnownPlace, places: ChoicePlaces): Promise<ToConfirm> {
  const shown = remembered.begun.length > 0 ? await shownAt(places) : undefined;
  const last = lastBy(remembered, shown);
  const maybe = remembered.begun.at(-1);
  if (last === undefined && maybe !== undefined) throw notShown(maybe.version, places);
  return { live: last && (await LivePublication.of({ ...places, last })), last };
}

/**
 * @param version - that is to be withdrawn
 * @param remembered - of this target
 * @throws PublishError `version-unknown` where it was never made here; what {@link LivePublication.of} throws
 */
export async function chooseToWithdraw(
  version: number,
  remembered: KnownPlace,
  places: WithdrawPlaces,
): Promise<Chosen> {
  const { begun, publication: published } = remembered;
  const own = (await openOwn(places)).state.timestamp.snapshot;
  const shown = await shownAt(places);
  const brought = shown && broughtByOthers(shown, remembered, places);
  if (brought && brought.version > version) return { notShown: { shown: brought.version, begun: undefined } };
  const last = brought?.version === version ? brought : lastBy(remembered, shown);
  const maybe = lowestFrom(begun, version);
  const isKnown = last !== undefined && version <= last.version;
  if (!isKnown && (maybe || (last === undefined && begun.length > 0)))
    return chooseUnknown(version, begun, shown, places);
  const live = last && (await LivePublication.of({ ...places, last }));
  const wasMade = last !== undefined && version <= places.highest; // though it may be in `out` no more
  if (!isKnown && (live || wasMade)) return chooseUnknown(version, [], shown, places);
  const isBegun = last !== published;
  const snapshot = live ? undefined : own.sha256;
  const maybeLater = shown ? undefined : laterOf(begun, last?.version ?? version);
  return { sign: { live, snapshot, mayBeOut: isBegun, isBegun, isSeen: true, maybeLater } };
}

/**
 * What a key server sends readers to, whatever any target shows: what was signed for it lies in `out`.
 *
 * @param places - with a target only where it was on its way there
 * @throws PublishError `target-behind`, `version-unknown` where it is gone; what {@link LivePublication.of} throws
 */
export async function chooseToTell(last: PublishedSnapshot, places: Omit<LivePlaces, 'last'>): Promise<ToWithdraw> {
  const { version, sha256 } = last;
  const { snapshot } = (await openOwn(places)).state.timestamp;
  const isInOutput = snapshot.sha256 === sha256;
  const live = isInOutput ? undefined : await LivePublication.of({ ...places, last });
  if (!isInOutput && live === undefined) throw notMadeHere(version, snapshot.version);
  return { live, snapshot: isInOutput ? sha256 : undefined, mayBeOut: true, isBegun: true, isSeen: true };
}

/** A later publication of ours, which this workspace never took there: its host has copied it from another place. */
function broughtByOthers(
  { version, sha256 = '' }: MetaFile,
  { publication, begun }: KnownPlace,
  { highest }: WithdrawPlaces,
): PublishedSnapshot | undefined {
  const isLater = version > (publication?.version ?? 0) && version <= highest;
  return isLater && !begun.some((one) => one.version === version) ? { version, sha256 } : undefined;
}

/** What was published last, where a target shows this snapshot: what may have been out is, if it is that. */
function lastBy(
  { publication, begun }: Pick<KnownPlace, 'publication' | 'begun'>,
  shown: { readonly sha256?: string | undefined } | undefined,
): PublishedSnapshot | undefined {
  return begun.find(({ sha256 }) => sha256 === shown?.sha256) ?? publication;
}

/** Of those that were on their way, the lowest: nothing that was not seen yet has to go online to stop a mistake; nor what is below what is shown. */
async function chooseUnknown(
  version: number,
  begun: KnownPlace['begun'],
  shown: MetaFile | undefined,
  places: WithdrawPlaces,
): Promise<Chosen> {
  const maybe = lowestFrom(begun, version);
  const isBegun = maybe !== undefined;
  const { snapshot } = (await openOwn(places)).state.timestamp;
  const current = snapshot.version;
  const isBelow = shown !== undefined && shown.version < version;
  if (version > current && !isBelow && !isBegun) throw notMadeHere(version, current);
  const isAbove = maybe && shown && shown.version > maybe.version && shown.version <= places.highest;
  if (isAbove || isBelow) return { notShown: { shown: shown.version, begun: maybe } };
  const live = maybe && (await LivePublication.of({ ...places, last: maybe }));
  const maybeLater = shown ? undefined : laterOf(begun, maybe?.version ?? version);
  const own = live ? undefined : snapshot.sha256;
  return { sign: { live, snapshot: own, mayBeOut: true, isBegun, isSeen: shown !== undefined, maybeLater } };
}

function lowestFrom(begun: KnownPlace['begun'], version: number): PublishedSnapshot | undefined {
  const from = begun.filter((each) => each.version >= version);
  return from.sort((one, other) => one.version - other.version)[0];
}

function laterOf(begun: KnownPlace['begun'], version: number): number | undefined {
  return lowestFrom(begun, version + 1)?.version;
}

function notShown(version: number, { target }: ChoicePlaces): PublishError {
  const again = publishCommand(target.name);
  return new PublishError(
    'target-behind',
    `publication ${version} was on its way to ${target.name}, which does not show it`,
    {
      hint: `run "${again}" first; or "wispr withdraw ${version}", if it is not to be seen`,
    },
  );
}

/** What does not answer shows nothing. */
async function shownAt(places: ChoicePlaces): Promise<MetaFile | undefined> {
  try {
    return (await timestampShown(places.target, await openOwn(places)))?.snapshot;
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

function openOwn({ out, now }: Pick<ChoicePlaces, 'out' | 'now'>): Promise<OpenedPublication> {
  return openOutput(out, { now });
}
