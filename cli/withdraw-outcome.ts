/** What `wispr withdraw` came to, at all places together. */
import { readLastPublished } from '../publisher/last-published.ts';
import type { NotShown } from '../publisher/publish/choose-publication.ts';
import { isUnreachable } from '../publisher/publish/key-server.ts';
import type { KeyServerSays } from '../publisher/publish/key-server-says.ts';
import { type LastPublished, unfinishedOf } from '../publisher/published-places.ts';
import { aboutPlaces, type Confirmed } from './confirmed.ts';
import type { PublicationPlaces } from './publication-places.ts';
import type { Together, WithdrawAt } from './withdraw-at.ts';
import type { OpenedPlaces } from './withdraw-open.ts';
import { nameOf, notEverywhere, notOut, orGivenUp } from './withdraw-words.ts';

/** A place that shows something else, and owes nothing by that. */
export interface Elsewhere {
  readonly at: WithdrawAt;
  readonly notShown: NotShown;
}

/** All of a command, once it has done what it could. */
export interface Ended extends Pick<OpenedPlaces, 'all' | 'closed'> {
  readonly elsewhere: readonly Elsewhere[];
  /** The place with whose publication the key server was told, if it was. */
  readonly telling: WithdrawAt | undefined;
  readonly together: Together;
  /** Its origin. */
  readonly keyServer: string;
  readonly says: () => Promise<KeyServerSays>;
}

/** Whether a key server has a publication of that number: what was signed for it may be here no more. */
export function hasNumber(says: KeyServerSays | undefined, version: number): boolean {
  return typeof says === 'object' && says.version === version;
}

/** @throws CodedError where not everybody who is to have it does */
export async function outcomeOf(ended: Ended): Promise<Confirmed> {
  const { all, closed, elsewhere, telling } = ended;
  const done = all.filter(({ hasIt, isOnlyTold, error }) => (hasIt || isOnlyTold) && error === undefined);
  const failed = all.filter(({ error }) => error !== undefined);
  if (failed.length + closed.length > 0) throw failureOf(ended, failed);
  const [confirmed, ...others] = done;
  if (confirmed?.signed === undefined) throw await nowhere(ended);
  const last = await readLastPublished(confirmed.places.workspace);
  const keyServerTold = telling?.brought?.isTold ?? false;
  const notShown = elsewhere.map(({ at, notShown: { shown } }) => ({ target: nameOf(at.places), shown }));
  const { withdraw } = ended.together.run;
  const mayBeSent = keyServerTold || last.keyServer.told >= withdraw; // its readers are, wherever they are served from
  const goesOn = mayBeSent ? [] : goodBefore(last, withdraw);
  const [about] = confirmed.isOnlyTold ? [...elsewhere.map(({ at }) => at), confirmed] : [confirmed];
  return {
    ...aboutPlaces((about ?? confirmed).places),
    signed: confirmed.signed,
    isOnlyTold: confirmed.isOnlyTold,
    keyServerTold,
    besides: others.flatMap(({ places }) => places.target?.name ?? []),
    notShown,
    goesOn: goesOn.filter(({ target }) => !notShown.some((one) => one.target === target)),
    unfinished: unfinishedOf(last),
    isConfirmedByKeyServer: goesOnAtKeyServer(ended, confirmed.places),
  };
}

/** Where a publication below was published last, and nothing since. */
function goodBefore({ places, withdrawn }: LastPublished, version: number): { target: string; shown: number }[] {
  return places.flatMap(({ target, publication, begun }) => {
    const shown = publication?.version ?? version;
    const isGood = shown < version && begun.length === 0 && !withdrawn.includes(shown);
    return target !== null && isGood ? [{ target, shown }] : [];
  });
}

/** Without a token, it may confirm what is withdrawn; with one it was told, or knows nothing of that. */
function goesOnAtKeyServer({ together }: Ended, { configuration, token }: PublicationPlaces): boolean {
  if (token !== undefined) return false;
  return configuration.timestampBy === 'keyserver' || together.remembered.keyServer.told >= together.run.withdraw;
}

function failureOf({ all, closed, telling, together, keyServer }: Ended, failed: readonly WithdrawAt[]): unknown {
  const [first] = failed;
  const { isOne, run } = together;
  const isSilent = isUnreachable(telling?.brought?.refusal);
  if (isOne && first) return isSilent ? orGivenUp(first.error, run.withdraw, keyServer) : first.error;
  const has = all.filter(({ hasIt }) => hasIt);
  return notEverywhere(run.withdraw, { has, failed, closed, telling, silent: isSilent ? keyServer : undefined });
}

async function nowhere({ elsewhere, together, keyServer, says: ask }: Ended): Promise<unknown> {
  const { withdraw } = together.run;
  const says = await ask();
  const all = elsewhere.map(({ at, notShown }) => ({ ...notShown, places: at.places }));
  const canTell = together.keyServer !== undefined;
  return notOut(withdraw, all, { keyServer, canTell, says: hasNumber(says, withdraw) ? 'it' : says });
}
