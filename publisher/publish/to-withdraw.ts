/**
 * Which publication a withdrawal is signed for. It is the one that readers have, and more than one may be that: where a run of `wispr publish`
 * ended while it put the timestamp there, nobody knows but the target, which may be silent, or hide it.
 */
import { StorageError } from '../../node-support/storage/errors.ts';
import { PublishError } from '../errors.ts';
import type { LastPublished } from '../last-published.ts';
import type { OpenedPublication } from '../publication/open.ts';
import { openOutput } from '../publication/own.ts';
import { notMadeHere } from '../timestamp/sign-timestamp.ts';
import { LivePublication } from './live-publication.ts';
import type { LivePlaces } from './live-root.ts';
import { versionShown } from './overtaken.ts';

export interface WithdrawPlaces extends Omit<LivePlaces, 'last'> {
  /** What publishes there, as it is to be typed. */
  readonly publishAgain: string;
}

export interface ToWithdraw {
  /** `undefined`: what is in `out`. */
  readonly live: LivePublication | undefined;
  /** Whether readers may have it, though nobody here knows that they do. */
  readonly mayBeOut: boolean;
  /** Whether all of it but the timestamp is known to have been brought to the target. */
  readonly isBegun: boolean;
  /** Whether the target shows it, or something later. */
  readonly isSeen: boolean;
}

const KNOWN = { mayBeOut: false, isBegun: false, isSeen: true };

/**
 * @param version - that is to be withdrawn
 * @throws PublishError `version-unknown` where the target shows for certain that it is not out; what {@link LivePublication.of} throws
 */
export async function chooseToWithdraw(
  version: number,
  { publication: last, begun }: LastPublished,
  places: WithdrawPlaces,
): Promise<ToWithdraw> {
  const known = last && (await LivePublication.of({ ...places, last }));
  const isKnown = last !== undefined && (known === undefined || version <= known.version);
  if (isKnown || (last === undefined && begun === undefined)) return { ...KNOWN, live: known };
  const publication = await openOutput(places.out, { now: places.now });
  const current = publication.state.snapshot.version;
  const isBegun = begun !== undefined && version <= begun.version;
  const shown = await versionIfShown(places, publication);
  if (shown !== undefined && shown < version) throw notPublished(version, places, isBegun);
  if (version > current) throw notMadeHere(version, current);
  const live = isBegun ? await LivePublication.of({ ...places, last: begun }) : undefined;
  return { live, mayBeOut: true, isBegun, isSeen: shown !== undefined };
}

/** What does not answer shows nothing. */
async function versionIfShown(
  { target }: Pick<LivePlaces, 'target'>,
  publication: OpenedPublication,
): Promise<number | undefined> {
  try {
    return await versionShown(target, publication);
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/** Where it was on its way, others may have it all the same: a host can show some what it does not show to us. */
function notPublished(version: number, { target, publishAgain }: WithdrawPlaces, isBegun: boolean): PublishError {
  const what = `publication ${version} is not at ${target.name} yet`;
  return new PublishError('version-unknown', isBegun ? what : `${what}: nobody has it`, {
    typed: true,
    hint: `put right what is wrong, and run "${publishAgain}"`,
  });
}
