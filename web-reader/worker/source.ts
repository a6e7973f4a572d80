/**
 * Where the files of the publication come from: the content hosts in the publisher's order, and the key server's copies of roots, snapshot and
 * timestamp, which this origin has where there is one. A browser that comes for the first time gets all that is small in one file from there, the
 * bundle: it need not go from one file to the next with a round trip for each. Nothing is verified here, and no place is believed more than another.
 */
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { FIRST_ROOT_FILE, METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import type { SiteSource } from '../../core/publication/site-publication.ts';
import { type IsGood, inTurn, type TimestampAnswer } from '../../core/publication/sources.ts';
import { fetchSmall, type SmallFile } from '../fetching.ts';
import { scope } from './scope.ts';

/** Milliseconds: for one file, and for one that is asked for to learn whether there is one. */
const FILE_TIMEOUT = 20_000;
const QUESTION_TIMEOUT = 5_000;

/** Places whose timestamps are asked for before it is known whether they are needed: the key server, and the first content host. */
const ASKED_AHEAD = 2;

/** Where this origin has what the key server knows, and all of it in one. */
const OWN_PATH = '/-/publication/';
const BUNDLE = 'current';

/** Bytes of the longest bundle that is read. */
const BUNDLE_LENGTH = 1_048_576;

const ROOT_FILE = /^\d+\.root\.json$/;
const SNAPSHOT_FILE = /^\d+\.snapshot\.json$/;

type Place = Pick<SmallFile, 'origin' | 'path'>;
type Answer = { readonly bytes?: Uint8Array | undefined; readonly error?: unknown };

export class HostsSource implements SiteSource {
  readonly #hosts: () => Promise<readonly string[]>;
  #bundle: Promise<ReadonlyMap<string, Uint8Array>> = Promise.resolve(new Map());
  /** Whether the bundle's own timestamp has not been used yet: then it also says which roots there are. */
  #isFirstLook = false;
  /** Timestamps that were asked for ahead. */
  #ahead: readonly Promise<Uint8Array | undefined>[] = [];

  /** @param hosts - origins of the content hosts, as they are known now */
  constructor(hosts: () => Promise<readonly string[]>) {
    this.#hosts = hosts;
  }

  async metadata(
    file: string,
    maximumLength: number,
    sha256?: string,
    isGood?: IsGood,
  ): Promise<Uint8Array | undefined> {
    if (file === FIRST_ROOT_FILE) this.#beginWithBundle();
    const isNextRoot = ROOT_FILE.test(file) && file !== FIRST_ROOT_FILE;
    const bundled = await this.#bundled(METADATA_PATH + file, sha256);
    if (bundled || (isNextRoot && this.#isFirstLook)) return bundled;
    if (isNextRoot) await this.#askAhead();
    const hosts = await this.#at(METADATA_PATH + file);
    const places = isNextRoot || SNAPSHOT_FILE.test(file) ? [...hosts, ...own(file)] : hosts;
    return find(places, maximumLength, isNextRoot, isGood ?? wantedBy(sha256));
  }

  async *timestamps(maximumLength: number, isEnough: () => boolean): AsyncGenerator<TimestampAnswer, undefined> {
    const first = this.#isFirstLook && (await this.#bundle).get(METADATA_PATH + TIMESTAMP_FILE);
    this.#isFirstLook = false;
    if (first) yield { result: first };
    if (isEnough()) return;
    const ahead = this.#ahead;
    this.#ahead = [];
    const ask = (place: Place, index: number) => () => ahead[index] ?? fetchTimestamp(place, maximumLength);
    yield* inTurn((await this.#timestampPlaces()).map(ask), isEnough);
  }

  /** A look for a next root comes before one for a timestamp, and seldom finds one: a page that waits for both waits for the longer one only. */
  async #askAhead(): Promise<void> {
    const places = (await this.#timestampPlaces()).slice(0, ASKED_AHEAD);
    this.#ahead = places.map((place) => fetchTimestamp(place, PUBLICATION_LIMITS.timestampLength));
    for (const answer of this.#ahead) answer.catch(() => undefined); // told to whom asks
  }

  async #timestampPlaces(): Promise<Place[]> {
    return [...own(TIMESTAMP_FILE), ...(await this.#at(METADATA_PATH + TIMESTAMP_FILE))];
  }

  async file(urlPath: string, maximumLength: number, sha256?: string): Promise<Uint8Array | undefined> {
    const bundled = await this.#bundled(urlPath, sha256);
    return bundled ?? find(await this.#at(urlPath), maximumLength, false, wantedBy(sha256));
  }

  /** Nothing is kept yet. */
  #beginWithBundle(): void {
    this.#bundle = fetchBundle().catch(() => new Map());
    this.#isFirstLook = true;
  }

  /** A file of the bundle, if it is the one that is wanted. The hosts may have what else there is. */
  async #bundled(urlPath: string, sha256: string | undefined): Promise<Uint8Array | undefined> {
    const files = await this.#bundle;
    if (files.size === 0) this.#isFirstLook = false;
    const bytes = files.get(urlPath);
    return bytes && (this.#isFirstLook || sha256 !== undefined) && (await wantedBy(sha256)(bytes)) ? bytes : undefined;
  }

  async #at(path: string): Promise<Place[]> {
    return (await this.#hosts()).map((origin) => ({ origin, path }));
  }
}

/** What this origin has of the key server's, where there is one. */
function own(file: string): Place[] {
  const { location, wisprSite } = scope;
  return wisprSite.reading === undefined ? [] : [{ origin: location.origin, path: OWN_PATH + file }];
}

function fetchTimestamp(place: Place, maximumLength: number): Promise<Uint8Array | undefined> {
  return fetchSmall({ ...place, maximumLength, milliseconds: QUESTION_TIMEOUT, cache: 'no-cache' });
}

/** Texts by URL path, as JSON. */
async function fetchBundle(): Promise<ReadonlyMap<string, Uint8Array>> {
  const wish = { maximumLength: BUNDLE_LENGTH, milliseconds: QUESTION_TIMEOUT, cache: 'no-cache' } as const;
  const [place] = own(BUNDLE);
  const bytes = place && (await fetchSmall({ ...place, ...wish }));
  const files = JSON.parse(fromUtf8(bytes ?? new Uint8Array()) ?? '{}') as Readonly<Record<string, unknown>>;
  return new Map(Object.entries(files).map(([path, text]) => [path, utf8(String(text))]));
}

function wantedBy(sha256: string | undefined): (bytes: Uint8Array) => boolean | Promise<boolean> {
  return async (bytes) => sha256 === undefined || (await hexDigest(bytes)) === sha256;
}

/**
 * The first that is wanted. A host with other bytes may be out of date, or hide the file, so the next one is asked.
 *
 * @param mayBeMissing - nothing signed says that there is such a file: all are asked at once, so that the usual answer, none, comes soon
 */
async function find(
  places: readonly Place[],
  maximumLength: number,
  mayBeMissing: boolean,
  isWanted: (bytes: Uint8Array) => boolean | Promise<boolean>,
): Promise<Uint8Array | undefined> {
  const wish = mayBeMissing
    ? ({ milliseconds: QUESTION_TIMEOUT, cache: 'no-cache' } as const)
    : ({ milliseconds: FILE_TIMEOUT, cache: 'default' } as const);
  const ask = (place: Place): Promise<Answer> =>
    fetchSmall({ ...place, maximumLength, ...wish }).then(
      (bytes) => ({ bytes }),
      (error: unknown) => ({ error }),
    );
  const begun = mayBeMissing ? places.map(ask) : [];
  let other: Uint8Array | undefined;
  let failure: unknown;
  let isMissing = false;
  for (const [index, place] of places.entries()) {
    const answer = await (begun[index] ?? ask(place));
    if (answer.bytes && (await isWanted(answer.bytes))) return answer.bytes;
    if ('error' in answer) failure ??= answer.error;
    else if (answer.bytes) other ??= answer.bytes;
    else isMissing = true;
  }
  if (mayBeMissing && isMissing) return undefined;
  if (other === undefined && failure !== undefined && !isMissing) throw failure;
  return other;
}
