/**
 * Which publication is confirmed, or withdrawn. It is the one that readers have, and more than one may be that: where a run of `wispr publish`
 * ended while it put the timestamp there, nobody knows but the target, which may be silent, or hide it.
 */
import type { MetaFile } from '../../core/publication/metadata.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { PublishError } from '../errors.ts';
import { type LastPublished, lastBy, type PublishedSnapshot } from '../last-published.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { openOutput } from '../publication/own.ts';
import { notMadeHere } from '../timestamp/sign-timestamp.ts';
import { LivePublication } from './live-publication.ts';
import type { LivePlaces } from './live-root.ts';
import { snapshotShown } from './overtaken.ts';

export type ChoicePlaces = Omit<LivePlaces, 'last'>;

export interface WithdrawPlaces extends ChoicePlaces {
  /** Whether the key server has it for readers; `undefined` where it does not say. @param live - `undefined`: what is in `out` */
  readonly isConfirmed: (live: LivePublication | undefined) => Promise<boolean | undefined>;
  /** What publishes there, as it is to be typed. */
  readonly publishAgain: string;
}

export interface ToConfirm {
  /** `undefined`: what is in `out`. */
  readonly live: LivePublication | undefined;
  /** What was published last. */
  readonly last: PublishedSnapshot | undefined;
}

export interface ToWithdraw extends Pick<ToConfirm, 'live'> {
  /** Whether readers may have it, though nobody here knows that they do. */
  readonly mayBeOut: boolean;
  /** Whether all of it but the timestamp is known to have been brought to the target. */
  readonly isBegun: boolean;
  /** Whether the target shows it, or something later. */
  readonly isSeen: boolean;
  /** A later one that readers may have instead, where the target does not show what they have. */
  readonly maybeLater?: number | undefined;
}

/** The version that was to be withdrawn is not out, and so nothing was signed. */
export class NotOut extends PublishError {
  /** Whether it was on its way: its timestamp may still arrive. */
  readonly isBegun: boolean;
  /** Whether all who could have it were asked. */
  readonly isSure: boolean;

  constructor(
    version: number,
    shown: number,
    { target, publishAgain }: WithdrawPlaces,
    { isBegun, isSure }: { readonly isBegun: boolean; readonly isSure: boolean },
  ) {
    const here = isBegun ? '; here it counts as withdrawn' : isSure ? ': nobody has it' : '';
    const later = isBegun ? '; if it appears there after all, run the same command again' : '';
    super('version-unknown', `publication ${version} is not at ${target.name}, which shows ${shown}${here}`, {
      hint: `change what was wrong before you run "${publishAgain}"${later}`,
    });
    this.isBegun = isBegun;
    this.isSure = isSure;
  }
}

/** @throws what {@link LivePublication.of} throws */
export async function chooseToConfirm(remembered: LastPublished, places: ChoicePlaces): Promise<ToConfirm> {
  const shown = remembered.begun.length > 0 ? await shownAt(places) : undefined;
  const last = lastBy(remembered, shown);
  return { live: last && (await LivePublication.of({ ...places, last })), last };
}

/**
 * @param version - that is to be withdrawn
 * @throws NotOut where the target shows for certain that it is not out; PublishError `version-unknown` where it was never made here; what
 * {@link LivePublication.of} throws
 */
export async function chooseToWithdraw(
  version: number,
  remembered: LastPublished,
  places: WithdrawPlaces,
): Promise<ToWithdraw> {
  const { begun, publication: published } = remembered;
  const isLater = published !== undefined && version > published.version;
  const shown = isLater || begun.length > 0 ? await shownAt(places) : undefined;
  const last = lastBy(remembered, shown);
  const maybe = begun.find((each) => each.version >= version);
  const isKnown = last !== undefined && version <= last.version;
  if (!isKnown && (maybe || (last === undefined && begun.length > 0)))
    return chooseUnknown(version, maybe, shown, places);
  const live = last && (await LivePublication.of({ ...places, last }));
  if (!isKnown && live) return chooseUnknown(version, undefined, shown, places);
  const isBegun = last !== published;
  const maybeLater = shown ? undefined : begun.find((each) => each.version > version)?.version;
  return { live, mayBeOut: isBegun, isBegun, isSeen: true, maybeLater };
}

/** @param maybe - that was on its way, the lowest of them: nothing that was not seen yet has to go online to stop a mistake */
async function chooseUnknown(
  version: number,
  maybe: PublishedSnapshot | undefined,
  shown: MetaFile | undefined,
  places: WithdrawPlaces,
): Promise<ToWithdraw> {
  const isBegun = maybe !== undefined;
  const current = (await openOwn(places)).state.snapshot.version;
  const isBelow = shown !== undefined && shown.version < version;
  if (version > current && !isBelow) throw notMadeHere(version, current);
  const live = maybe && (await LivePublication.of({ ...places, last: maybe }));
  const isConfirmed = isBelow && version <= current && (await places.isConfirmed(live));
  if (isBelow && !isConfirmed)
    throw new NotOut(version, shown.version, places, { isBegun, isSure: isConfirmed === false });
  return { live, mayBeOut: true, isBegun, isSeen: shown !== undefined };
}

/** What does not answer shows nothing. */
async function shownAt(places: ChoicePlaces): Promise<MetaFile | undefined> {
  try {
    return await snapshotShown(places.target, await openOwn(places));
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

function openOwn({ out, now }: ChoicePlaces): Promise<OpenedPublication> {
  return openOutput(out, { now });
}
