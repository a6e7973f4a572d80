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
import { timestampShown } from './overtaken.ts';
import { publishCommand } from './publish-command.ts';

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
  /** The name of the target that shows that. */
  readonly target: string;
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
    const unsure = isSure ? '' : '; the key server does not say whether it has it';
    const here = isBegun ? '; here it counts as withdrawn' : isSure ? ': nobody has it' : '';
    const later = isBegun && isSure ? '; if it appears there after all, run the same command again' : '';
    const change = `change what was wrong before you run "${publishAgain}"${later}`;
    const what = `publication ${version} is not at ${target.name}, which shows ${shown}${unsure}${here}`;
    super('version-unknown', what, { hint: isSure ? change : `run the same command again when it does; ${change}` });
    this.target = target.name;
    this.isBegun = isBegun;
    this.isSure = isSure;
  }
}

/**
 * @param remembered - of this target
 * @throws PublishError `target-behind` where it is not known to be out; what {@link LivePublication.of} throws
 */
export async function chooseToConfirm(remembered: LastPublished, places: ChoicePlaces): Promise<ToConfirm> {
  const shown = remembered.begun.length > 0 ? await shownAt(places) : undefined;
  const last = lastBy(remembered, shown);
  const maybe = remembered.begun.at(-1);
  if (last === undefined && maybe !== undefined) throw notShown(maybe.version, places);
  return { live: last && (await LivePublication.of({ ...places, last })), last };
}

/**
 * @param version - that is to be withdrawn
 * @param remembered - of this target
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
  const maybe = lowestFrom(begun, version);
  const isKnown = last !== undefined && version <= last.version;
  if (!isKnown && (maybe || (last === undefined && begun.length > 0)))
    return chooseUnknown(version, begun, shown, places);
  const live = last && (await LivePublication.of({ ...places, last }));
  if (!isKnown && live) return chooseUnknown(version, [], shown, places);
  const isBegun = last !== published;
  const maybeLater = shown ? undefined : laterOf(begun, last?.version ?? version);
  return { live, mayBeOut: isBegun, isBegun, isSeen: true, maybeLater };
}

/** Of those that were on their way, the lowest: nothing that was not seen yet has to go online to stop a mistake. */
async function chooseUnknown(
  version: number,
  begun: LastPublished['begun'],
  shown: MetaFile | undefined,
  places: WithdrawPlaces,
): Promise<ToWithdraw> {
  const maybe = lowestFrom(begun, version);
  const isBegun = maybe !== undefined;
  const current = (await openOwn(places)).state.snapshot.version;
  const isBelow = shown !== undefined && shown.version < version;
  if (version > current && !isBelow) throw notMadeHere(version, current);
  const live = maybe && (await LivePublication.of({ ...places, last: maybe }));
  const isConfirmed = isBelow && version <= current && (await places.isConfirmed(live));
  if (isBelow && !isConfirmed)
    throw new NotOut(version, shown.version, places, { isBegun, isSure: isConfirmed === false });
  const maybeLater = shown ? undefined : laterOf(begun, maybe?.version ?? version);
  return { live, mayBeOut: true, isBegun, isSeen: shown !== undefined, maybeLater };
}

function lowestFrom(begun: LastPublished['begun'], version: number): PublishedSnapshot | undefined {
  const from = begun.filter((each) => each.version >= version);
  return from.sort((one, other) => one.version - other.version)[0];
}

function laterOf(begun: LastPublished['begun'], version: number): number | undefined {
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

function openOwn({ out, now }: ChoicePlaces): Promise<OpenedPublication> {
  return openOutput(out, { now });
}
