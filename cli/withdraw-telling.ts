/** With what the key server is told of a withdrawal: never with a publication that its readers cannot have. */
import type { MetaFile } from '../core/publication/metadata.ts';
import { nowInSeconds } from '../node-support/clock.ts';
import { openOutput } from '../publisher/publication/own.ts';
import type { KeyServerSays } from '../publisher/publish/key-server-says.ts';
import { currentPublication, type LastPublished } from '../publisher/published-places.ts';
import type { WithdrawAt } from './withdraw-at.ts';

export interface Telling {
  readonly withdraw: number;
  /** As it is by now. */
  readonly last: LastPublished;
  readonly says: KeyServerSays;
  /** What it has, for itself alone, where that can be signed for. */
  readonly openItself: () => Promise<WithdrawAt | undefined>;
}

/**
 * The place whose publication it is told of: the one that it has, if that is signed; else that of the place that is confirmed. What lies in the
 * output goes on with every `wispr protect`, so it counts only where the output is what is confirmed. A slip elsewhere that it does not know would
 * end what it confirms.
 *
 * @param signing - where something is signed
 */
export async function tellingOf(signing: readonly WithdrawAt[], telling: Telling): Promise<WithdrawAt | undefined> {
  const { withdraw, last, says } = telling;
  const current = last.current ?? null;
  const versions = new Map<WithdrawAt, number>();
  for (const at of signing) versions.set(at, await versionAt(at));
  const least = isPast(says, withdraw, last) ? says.version : 0; // what is lower it refuses
  const has = typeof says === 'object' ? says.version : undefined;
  const isAble = (at: WithdrawAt) => {
    const version = versions.get(at) ?? 0;
    const isNews = isUnseen(at) && version !== withdraw && version !== has; // and nobody shall hear of it by this
    return version >= least && (at.place !== null || current === null) && !isNews;
  };
  const able = signing.filter(isAble);
  const having = (version: number) => able.filter((at) => versions.get(at) === version);
  const confirmed = able.find(({ place }) => place === current);
  if (has !== undefined) {
    const known = having(has);
    if (known.length > 0) return known.find((at) => at === confirmed) ?? known[0];
    const itself = has === withdraw ? await telling.openItself() : undefined;
    if (itself) return itself;
  }
  if (isGoodElsewhere(signing, telling)) return undefined;
  if (confirmed) return confirmed;
  if (last.current === undefined) return highestOf(able, versions);
  return isSlip(telling) ? undefined : having(withdraw)[0];
}

/** Whether it has this very publication. */
export function isOf(says: KeyServerSays, { sha256 }: Pick<MetaFile, 'sha256'>): boolean {
  return typeof says === 'object' && says.sha256 === sha256;
}

/** Whether it has something later of ours than what is withdrawn: its readers take nothing below that. */
export function isPast(says: KeyServerSays, version: number, { highest }: LastPublished): says is MetaFile {
  return typeof says === 'object' && says.version > version && says.version <= highest;
}

/** Whether it may confirm what is withdrawn, as far as is known, and so owes that. */
export function mayConfirm(says: KeyServerSays, version: number, last: LastPublished): boolean {
  if (typeof says === 'object') return says.version >= version && !isPast(says, version, last);
  return says === 'unknown';
}

function highestOf(able: readonly WithdrawAt[], versions: ReadonlyMap<WithdrawAt, number>): WithdrawAt | undefined {
  const of = (at: WithdrawAt) => versions.get(at) ?? 0;
  return able.toSorted((one, other) => of(other) - of(one))[0];
}

/** Whether nobody knows whether its place shows it. */
function isUnseen({ chosen }: WithdrawAt): boolean {
  return chosen?.mayBeOut === true && !chosen.isSeen;
}

/** Whether it sends readers to something earlier, which a place has that may not show what is withdrawn: a slip elsewhere, complete or not, is none of theirs. */
function isGoodElsewhere(signing: readonly WithdrawAt[], { withdraw, last, says }: Telling): boolean {
  if (typeof says !== 'object' || says.version >= withdraw) return false;
  const others = last.places.filter(({ target }) => !signing.some(({ place }) => place === target));
  return others.some(({ publication }) => publication !== undefined && isOf(says, { sha256: publication.sha256 }));
}

/** Whether something good is published, and what is withdrawn was on its way elsewhere, of which it knows nothing. */
function isSlip({ withdraw, last, says }: Telling): boolean {
  const published = currentPublication(last);
  const mayKnow = typeof says === 'object' ? says.version >= withdraw : says === 'unknown';
  return published !== undefined && published.version < withdraw && !mayKnow;
}

async function versionAt({ chosen, places }: WithdrawAt): Promise<number> {
  if (chosen?.live) return chosen.live.version;
  return (await openOutput(places.out, { now: nowInSeconds() })).state.snapshot.version;
}
