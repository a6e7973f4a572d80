/**
 * What is remembered of the places that were published to, and how it changes. A place is a target, or the output itself; the key server is one
 * more. Each owes the withdrawals that it may have to show and was not brought yet, and nothing but what is known of that very place takes one away.
 */
import { PUBLICATION_LIMITS } from '../core/publication/limits.ts';
import { highestVersions, joinWithdrawals, type Withdrawal } from '../core/publication/withdrawals.ts';

/** A target's name, or `null`: the output itself, served as it is. */
export type Place = string | null;

/** A publication, by its snapshot. */
export interface PublishedSnapshot {
  readonly version: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** The version of the root under which readers have it; earlier versions of wispr did not write it. */
  readonly root?: number;
  /** The version of the last timestamp that was signed here to be shown for it; earlier versions of wispr did not write it. */
  readonly timestamp?: number;
}

/** What is known of a place. */
export interface KnownPlace {
  readonly target: Place;
  /** What was published there last. */
  readonly publication: PublishedSnapshot | undefined;
  /** Those that it may have besides, in the order in which they were begun: whoever ended the run that put their timestamp, readers may have it. */
  readonly begun: readonly PublishedSnapshot[];
  /** Versions whose withdrawal it was not brought yet. */
  readonly owed: readonly number[];
}

export interface KeyServerMemory {
  /** The highest publication that a run with a token may have told it of; 0 where there was no such run, and so nobody can have told it. */
  readonly told: number;
  /** Versions of whose withdrawal it was not told yet. */
  readonly owed: readonly number[];
}

export interface LastPublished {
  /** Where it was published last, and completely: that is confirmed. `undefined` where nothing was yet. */
  readonly current: Place | undefined;
  /** In the order in which they were published to, or begun, last. */
  readonly places: readonly KnownPlace[];
  readonly keyServer: KeyServerMemory;
  /** The highest number that was ever given, or seen: it never goes down. */
  readonly highest: number;
  /** The versions that were withdrawn here: the highest. */
  readonly withdrawn: readonly number[];
  /** What was learned of besides, and whose keys have signed it: whoever stole a key can withdraw anything, until it is changed. */
  readonly elsewhere: readonly Withdrawal[];
}

/** What a place shows, or a key server was told: a publication, and what its timestamp withdraws. */
export interface Shown {
  readonly publication: number;
  readonly withdrawn: readonly number[];
}

export const NOTHING: LastPublished = {
  current: undefined,
  places: [],
  keyServer: { told: 0, owed: [] },
  highest: 0,
  withdrawn: [],
  elsewhere: [],
};

/** How many are remembered: the last of each place, and the places that were used last, besides those that matter still. */
export const PLACES_LIMITS = { begun: 16, places: 64 } as const;

export function placeOf({ places }: LastPublished, target: Place): KnownPlace {
  return places.find((one) => one.target === target) ?? { target, publication: undefined, begun: [], owed: [] };
}

/** The place that is confirmed: where nothing was published completely, the one that the last publication was on its way to. */
export function currentPlace(last: LastPublished): KnownPlace | undefined {
  if (last.current !== undefined) return placeOf(last, last.current);
  return last.places.findLast(({ begun }) => begun.length > 0);
}

/** What was published last, where it was published completely. */
export function currentPublication(last: LastPublished): PublishedSnapshot | undefined {
  return last.current === undefined ? undefined : placeOf(last, last.current).publication;
}

/** The timestamp of a publication is about to be put at a target. */
export function withBegun(last: LastPublished, target: Place, publication: PublishedSnapshot): LastPublished {
  const place = placeOf(last, target);
  const begun = [...place.begun.filter(({ version }) => version !== publication.version), publication];
  return asLast(last, { ...place, begun });
}

/** A publication is at a place, all of it. @param shown - what readers find there; `undefined` where the host goes on showing something else */
export function withPublished(
  last: LastPublished,
  target: Place,
  publication: PublishedSnapshot,
  shown: Shown | undefined,
): LastPublished {
  const after = asLast(last, { ...placeOf(last, target), publication });
  return withShown({ ...after, current: target }, target, shown);
}

/**
 * A place shows a timestamp that was signed here. What may have been there is, if it is that; it becomes the place that is confirmed only where
 * none is yet: withdrawing a slip moves nothing.
 */
export function withShown(last: LastPublished, target: Place, shown: Shown | undefined): LastPublished {
  if (shown === undefined) return last;
  const place = placeOf(last, target);
  const isIt = ({ version }: PublishedSnapshot) => version === shown.publication;
  const found = place.begun.find((one) => isIt(one) && one.version > (place.publication?.version ?? 0));
  const after = inPlace(last, { ...place, publication: found ?? place.publication, owed: stillOwed(place, shown) });
  return found && after.current === undefined ? { ...after, current: target } : after;
}

/** Where several have the first publication, one of them is confirmed from then on. */
export function withCurrent(last: LastPublished, target: Place): LastPublished {
  return placeOf(last, target).publication === undefined ? last : { ...last, current: target };
}

/** It is known by now that a place does not show a version, and nothing has to be brought there: it may still arrive. */
export function withoutOwed(last: LastPublished, target: Place, version: number): LastPublished {
  const place = placeOf(last, target);
  return inPlace(last, { ...place, owed: place.owed.filter((one) => one !== version) });
}

/** The places that may show a version, or something later whose timestamp is to name it, and those that still owe it; the one that is confirmed first. */
export function placesToWithdraw(last: LastPublished, version: number): Place[] {
  const all = last.places.filter((place) => place.owed.includes(version) || mayShow(place, version)).toReversed();
  const first = all.filter(({ target }) => target === last.current);
  return [...first, ...all.filter((place) => !first.includes(place))].map(({ target }) => target);
}

/** Nothing is on its way to the output: `wispr protect` is what shows there what it has made. */
function mayShow({ target, publication, begun }: KnownPlace, version: number): boolean {
  if (publication && (publication.version >= version || target === null)) return true;
  return begun.some((one) => one.version === version);
}

/** A version is withdrawn: written before anybody can see that. */
export function withWithdrawn(
  last: LastPublished,
  version: number,
  { places, keyServer }: { readonly places: readonly Place[]; readonly keyServer: boolean },
): LastPublished {
  const owing = places.map((target) => placeOf(last, target));
  const after = owing.reduce((all, place) => inPlace(all, { ...place, owed: [...place.owed, version] }), last);
  const owed = keyServer ? [...last.keyServer.owed, version] : last.keyServer.owed;
  const withdrawn = [...last.withdrawn, version];
  return tidy({ ...after, withdrawn, keyServer: { ...last.keyServer, owed } });
}

/** A key server is about to be told of a publication. */
export function withTelling({ keyServer, ...last }: LastPublished, publication: number): LastPublished {
  return tidy({ ...last, keyServer: { ...keyServer, told: Math.max(keyServer.told, publication) } });
}

/** It has taken that. */
export function withTold({ keyServer, ...last }: LastPublished, shown: Shown): LastPublished {
  return tidy({ ...last, keyServer: { ...keyServer, owed: stillOwed(keyServer, shown) } });
}

/** A key server may have a version, and did not say whether it does. */
export function withOwedByKeyServer({ keyServer, ...last }: LastPublished, version: number): LastPublished {
  return tidy({ ...last, keyServer: { ...keyServer, owed: [...keyServer.owed, version] } });
}

/** It is known that a key server does not have a version. */
export function withoutOwedByKeyServer({ keyServer, ...last }: LastPublished, version: number): LastPublished {
  return { ...last, keyServer: { ...keyServer, owed: keyServer.owed.filter((one) => one !== version) } };
}

/** A timestamp was signed for a publication, wherever that is. */
export function withTimestamp(last: LastPublished, publication: number, timestamp: number): LastPublished {
  const signed = <One extends PublishedSnapshot | undefined>(one: One) =>
    one?.version === publication ? { ...one, timestamp } : one;
  const places = last.places.map((place) => {
    return { ...place, publication: signed(place.publication), begun: place.begun.map(signed) };
  });
  return { ...last, places };
}

/** The publisher says that a place is gone for good. Something else is confirmed from then on, if it is published. */
export function withoutPlace(last: LastPublished, target: Place): LastPublished {
  const places = last.places.filter((place) => place.target !== target);
  const next = places.findLast(({ publication }) => publication !== undefined)?.target;
  return { ...last, places, current: last.current === target ? next : last.current };
}

/** As {@link withoutPlace}. */
export function withoutKeyServer(last: LastPublished): LastPublished {
  return { ...last, keyServer: NOTHING.keyServer };
}

/** A withdrawal that is not with everybody who is to have it. */
export interface Unfinished {
  readonly version: number;
  /** The places that were not brought it. */
  readonly places: readonly Place[];
  readonly atKeyServer: boolean;
}

export function unfinishedOf({ places, keyServer }: LastPublished): Unfinished[] {
  const all = highestVersions([...places.flatMap(({ owed }) => owed), ...keyServer.owed], Number.POSITIVE_INFINITY);
  return all.map((version) => ({
    version,
    places: places.filter(({ owed }) => owed.includes(version)).map(({ target }) => target),
    atKeyServer: keyServer.owed.includes(version),
  }));
}

/** What another copy, or an older file, knows, besides. */
export function withNews(last: LastPublished, news: Partial<Pick<LastPublished, 'withdrawn' | 'elsewhere'>>) {
  const withdrawn = [...last.withdrawn, ...(news.withdrawn ?? [])];
  return tidy({ ...last, withdrawn, elsewhere: joinWithdrawals([...last.elsewhere, ...(news.elsewhere ?? [])]) });
}

/** Bounded, and without what says nothing. */
export function tidy(last: LastPublished): LastPublished {
  const most = PUBLICATION_LIMITS.withdrawnKept;
  const { keyServer } = last;
  const numbers = last.places.flatMap(({ publication, begun }) =>
    [publication, ...begun].map((one) => one?.version ?? 0),
  );
  const places = last.places.map(tidyPlace).filter((place) => saysSomething(place) || place.target === last.current);
  return {
    ...last,
    places: boundedPlaces(places, last.current),
    keyServer: { ...keyServer, owed: highestVersions(keyServer.owed, most) },
    highest: Math.max(last.highest, keyServer.told, ...numbers, ...last.withdrawn),
    withdrawn: highestVersions(last.withdrawn, most),
  };
}

/** What was published at a place since is all that is out there of what was on its way before. */
function tidyPlace(place: KnownPlace): KnownPlace {
  const published = place.publication?.version ?? 0;
  const begun = place.begun.filter(({ version }) => version > published).slice(-PLACES_LIMITS.begun);
  return { ...place, begun, owed: highestVersions(place.owed, PUBLICATION_LIMITS.withdrawnKept) };
}

function saysSomething({ publication, begun, owed }: KnownPlace): boolean {
  return publication !== undefined || begun.length + owed.length > 0;
}

/** First those go that owe nothing, and of them those to which nothing was on its way. */
function boundedPlaces(places: readonly KnownPlace[], current: Place | undefined): KnownPlace[] {
  const spare = places.length - PLACES_LIMITS.places;
  if (spare <= 0) return [...places];
  const matters = ({ owed, begun }: KnownPlace) => (owed.length > 0 ? 2 : begun.length > 0 ? 1 : 0);
  const others = places.filter(({ target }) => target !== current);
  const leaving = others.toSorted((one, other) => matters(one) - matters(other)).slice(0, spare);
  return places.filter((place) => !leaving.includes(place));
}

/** Readers of a higher publication take nothing that is below it. */
function stillOwed({ owed }: Pick<KnownPlace, 'owed'>, { publication, withdrawn }: Shown): number[] {
  return owed.filter((version) => version >= publication && !withdrawn.includes(version));
}

function inPlace(last: LastPublished, place: KnownPlace): LastPublished {
  const isThere = last.places.some(({ target }) => target === place.target);
  const places = last.places.map((one) => (one.target === place.target ? place : one));
  return tidy({ ...last, places: isThere ? places : [...places, place] });
}

/** It is the last that was used. */
function asLast(last: LastPublished, place: KnownPlace): LastPublished {
  return tidy({ ...last, places: [...last.places.filter(({ target }) => target !== place.target), place] });
}
