/** Opens the places where something is to be withdrawn: one that cannot be opened keeps nobody from the others. */
import { nowInSeconds } from '../node-support/clock.ts';
import { lazily } from '../node-support/lazily.ts';
import type { Target } from '../node-support/storage/target.ts';
import { readConfiguration } from '../publisher/configuration/read.ts';
import { openOutput } from '../publisher/publication/own.ts';
import { fetchTimestamp, type KeyServerQuestion } from '../publisher/publish/key-server.ts';
import { lookingUntil } from '../publisher/publish/looking.ts';
import { timestampShown } from '../publisher/publish/overtaken.ts';
import { type LastPublished, type Place, placeOf, placesToWithdraw } from '../publisher/published-places.ts';
import type { Workspace } from '../publisher/workspace.ts';
import { ConfirmSteps, type Onlooker } from './confirm-steps.ts';
import type { ConfirmFlags } from './confirmed.ts';
import { locatePlaces, type PublicationPlaces } from './publication-places.ts';
import { anyOf, type Together, turns, WithdrawAt } from './withdraw-at.ts';
import { isKeyServer } from './withdraw-gone.ts';

export interface OpenedPlaces {
  /** The workspace, wherever its site is served. */
  readonly here: PublicationPlaces;
  /** In the order in which they were named. */
  readonly all: readonly WithdrawAt[];
  /** Those that could not be opened. */
  readonly closed: readonly { readonly place: Place; readonly error: unknown }[];
  /** Where no place has what the key server sends readers to. */
  readonly atKeyServer: WithdrawAt;
  readonly together: Together;
  readonly question: KeyServerQuestion;
}

interface Opening {
  readonly run: Together['run'];
  readonly remembered: LastPublished;
  readonly flags: ConfirmFlags;
  readonly onlooker: Onlooker;
  /** Of looking, and of asking. */
  readonly end: AbortSignal;
}

interface Naming extends Pick<Opening, 'remembered' | 'flags' | 'end'> {
  /** That is to be withdrawn. */
  readonly version: number;
}

/**
 * Where a version is to be withdrawn.
 *
 * @param usual - where nothing is remembered that may show it
 * @returns `undefined` for what `wispr.json` names
 */
export async function namesToWithdraw(
  naming: Naming,
  { configuration }: Workspace,
  usual: Place | undefined,
): Promise<(Place | undefined)[]> {
  const { remembered, version } = naming;
  const found = placesToWithdraw(remembered, version);
  const names = found.length > 0 ? found : [usual];
  const { publish } = await readConfiguration(configuration);
  if (publish === undefined || names.includes(undefined)) return names;
  // Earlier versions of wispr remembered no publication: where only the output owes it by that, the target that is configured may show it.
  const isOfEarlier = found.length > 0 && found.every(isOutput) && placeOf(remembered, null).publication === undefined;
  const isShown = isOfEarlier || (await isShownUnremembered(naming));
  return isShown ? [...names, undefined] : names;
}

const isOutput = (place: Place) => place === null;

/**
 * Whether the target that `wispr.json` names shows a version, or a later one, and nothing is remembered of it: `publisher.last` may have been put
 * back from before. Whoever cannot be asked is none that is known to have it.
 */
async function isShownUnremembered({ version, remembered: { places }, flags, end }: Naming): Promise<boolean> {
  try {
    const { target, out } = await locatePlaces(undefined, flags);
    const show = async (at: Target | undefined) => {
      if (at === undefined || places.some((place) => place.target === at.name)) return undefined;
      return timestampShown(at, await openOutput(out, { now: nowInSeconds() }));
    };
    const shown = await lookingUntil(target, end, show).finally(() => target?.close());
    return shown !== undefined && shown.snapshot.version >= version;
  } catch {
    return false;
  }
}

/**
 * @param names - `undefined` stands for what `wispr.json` names
 * @throws UsageError, PublishError where the configuration, or the token, cannot be read
 */
export async function openPlaces(names: readonly (Place | undefined)[], opening: Opening): Promise<OpenedPlaces> {
  const { flags, onlooker } = opening;
  const here = await locatePlaces(undefined, flags, null);
  const question = askedOnce(here, opening);
  const together = togetherOf(here, question, names.length === 1, opening);
  const all: WithdrawAt[] = [];
  const closed: { place: Place; error: unknown }[] = [];
  for (const name of names) {
    try {
      const places = await locatePlaces(undefined, flags, name);
      const place = name === undefined ? (places.target?.name ?? null) : name;
      const asksClocks = all.length === 0 && together.keyServer !== undefined;
      all.push(new WithdrawAt(place, places, new ConfirmSteps(places, onlooker), together, asksClocks));
    } catch (error) {
      closed.push({ place: name ?? null, error });
    }
  }
  const atKeyServer = new WithdrawAt(undefined, here, new ConfirmSteps(here, onlooker), together, false);
  return { here, all, closed, atKeyServer, together, question };
}

/** One command asks once. */
function askedOnce({ configuration }: PublicationPlaces, { onlooker, end }: Opening): KeyServerQuestion {
  const question = { origin: configuration.keyServer, signal: anyOf(onlooker.signal, end) };
  return { ...question, answered: lazily(() => fetchTimestamp(question)) };
}

function togetherOf(
  { token }: PublicationPlaces,
  { origin, answered }: KeyServerQuestion,
  isOne: boolean,
  { run, remembered, flags: { gone = [] }, onlooker: { signal } }: Opening,
): Together {
  const isGone = gone.some((named) => isKeyServer(named, origin));
  return {
    run,
    remembered,
    keyServer: token === undefined || isGone ? undefined : { origin, token, signal, answered },
    isOne,
    inTurn: turns(),
  };
}
