/** Opens the places where something is to be withdrawn: one that cannot be opened keeps nobody from the others. */
import { fetchTimestamp, type KeyServerQuestion } from '../publisher/publish/key-server.ts';
import type { LastPublished, Place } from '../publisher/published-places.ts';
import { ConfirmSteps, type Onlooker } from './confirm-steps.ts';
import type { ConfirmFlags } from './confirmed.ts';
import { locatePlaces, type PublicationPlaces } from './publication-places.ts';
import { anyOf, type Together, WithdrawAt } from './withdraw-at.ts';
import { isOrigin } from './withdraw-gone.ts';

export interface OpenedPlaces {
  /** In the order in which they were named. */
  readonly all: readonly WithdrawAt[];
  /** Those that could not be opened. */
  readonly closed: readonly { readonly place: Place; readonly error: unknown }[];
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

/**
 * @param names - `undefined` stands for what `wispr.json` names
 * @throws UsageError, PublishError, StorageError where none can be opened
 */
export async function openPlaces(names: readonly (Place | undefined)[], opening: Opening): Promise<OpenedPlaces> {
  const opened: { name: Place | undefined; places: PublicationPlaces }[] = [];
  const closed: { place: Place; error: unknown }[] = [];
  for (const name of names) {
    try {
      opened.push({ name, places: await locatePlaces(undefined, opening.flags, name) });
    } catch (error) {
      closed.push({ place: name ?? null, error });
    }
  }
  const [first] = opened;
  if (first === undefined) throw closed[0]?.error;
  const question = askedOnce(first.places, opening);
  const together = togetherOf(first.places, question, names.length === 1, opening);
  const all = opened.map(({ name, places }, index) => {
    const place = name === undefined ? (places.target?.name ?? null) : name;
    return new WithdrawAt(
      place,
      places,
      new ConfirmSteps(places, opening.onlooker),
      together,
      index === 0 && together.keyServer !== undefined,
    );
  });
  return { all, closed, together, question };
}

/** One command asks once. */
function askedOnce({ configuration }: PublicationPlaces, { onlooker, end }: Opening): KeyServerQuestion {
  const question = { origin: configuration.keyServer, signal: anyOf(onlooker.signal, end) };
  let answer: Promise<Uint8Array | undefined> | undefined;
  const answered = () => {
    answer ??= fetchTimestamp(question);
    return answer;
  };
  return { ...question, answered };
}

function togetherOf(
  { token }: PublicationPlaces,
  { origin, answered }: KeyServerQuestion,
  isOne: boolean,
  { run, remembered, flags: { gone = [] }, onlooker: { signal } }: Opening,
): Together {
  const isGone = gone.some((named) => isOrigin(named, origin));
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const next = turn.then(work);
    turn = next.catch(() => undefined);
    return next;
  };
  return {
    run,
    remembered,
    keyServer: token === undefined || isGone ? undefined : { origin, token, signal, answered },
    isOne,
    inTurn,
  };
}
