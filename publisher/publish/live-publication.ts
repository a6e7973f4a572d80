/**
 * The publication that readers have, where `out` has gone on: protected again, or with other keys, and not published yet. What is urgent cannot
 * wait for that, and nothing that a host hides may keep anybody from it: what was signed lies in `out`, and its hash in `publisher.last`.
 */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { signMetadata, timestampMetadata } from '../../core/publication/writer.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { PublishError } from '../errors.ts';
import type { OpenedPublication, PublicationPlace } from '../publication/open.ts';
import { openOutput } from '../publication/own.ts';
import { type OwnMetadata, placeAtTarget, placeInDirectory, readBounded } from '../publication/places.ts';
import { FilesByHash } from './files-by-hash.ts';
import { type ChosenRoot, chooseRoot, type LivePlaces } from './live-root.ts';
import { checkIsThere, TIMESTAMP_PATH, timestampIfGood } from './overtaken.ts';
import { isOfFuture } from './timestamp-step.ts';

const ROOT = /^(\d{1,15})\.root\.json$/;

/**
 * Its metadata: those in `out`, and at the target where they are gone from there, each proved by its hash. The timestamp, which is signed for it
 * here, is held in memory: `out` stays as it is, and nothing has to be cleared away.
 */
export class LivePublication implements OwnMetadata {
  readonly name: string;
  readonly version: number;
  /** The root under which it was published: those after it, up to {@link root}, have to be brought along. */
  readonly rootThere: number;
  /** The root under which it is confirmed. */
  readonly root: number;
  readonly #own: PublicationPlace;
  readonly #files: FilesByHash;
  readonly #chosen: ChosenRoot;
  #timestamp: Uint8Array;

  private constructor({ out, last }: LivePlaces, chosen: ChosenRoot, files: FilesByHash, timestamp: Uint8Array) {
    this.name = out;
    this.version = last.version;
    this.rootThere = chosen.rootThere;
    this.root = chosen.root.version;
    this.#own = placeInDirectory(out);
    this.#files = files;
    this.#chosen = chosen;
    this.#timestamp = timestamp;
  }

  /**
   * @returns `undefined` where it is what is in `out`, or where readers have that already
   * @throws PublicationError where what is in `out` is not good; what {@link chooseRoot} throws
   */
  static async of(places: LivePlaces): Promise<LivePublication | undefined> {
    const { out, target, last, now } = places;
    const publication = await openOutput(out, { now });
    const { root, timestamp } = publication.state;
    const begin = beginningOf(places, publication);
    const isLast = timestamp.snapshot.sha256 === last.sha256 && last.root === root.version;
    if (isLast && begin.version === timestamp.version) return undefined;
    if (await isShown(places, publication, isLast ? timestamp.version : 0)) return undefined;
    const files = new FilesByHash([publication.place, ...(target ? [placeAtTarget(target)] : [])]);
    const chosen = await chooseRoot(places, publication, Math.min(last.root ?? 1, root.version), files);
    if (places.urgent) for (const [path, file] of chosen.files) await files.read(path, file); // while nobody waits for it to be signed
    const beginning = timestampMetadata(begin, chosen.facts, []);
    return new LivePublication(places, chosen, files, signMetadata(beginning, [chosen.signer]));
  }

  async read(path: string, maximum: number): Promise<Uint8Array | undefined> {
    if (path === TIMESTAMP_PATH) return this.#timestamp;
    const version = Number(ROOT.exec(path.slice(METADATA_PATH.length))?.[1] ?? 0);
    if (version > 0) return version <= this.root ? this.#own.read(path, maximum) : undefined;
    const file = this.#chosen.files.get(path);
    return file && this.#files.read(path, file);
  }

  async replaceTimestamp(bytes: Uint8Array): Promise<void> {
    this.#timestamp = bytes;
  }
}

/**
 * What stands for what is confirmed now until that is known, or signed. As late as what was signed here last: a clock may be behind. But not as
 * late as what a clock that was ahead has signed in `out`, where something earlier was the last that was to be shown.
 */
function beginningOf({ last }: LivePlaces, publication: OpenedPublication): { version: number; expires: number } {
  const { version, expires } = publication.state.timestamp;
  const shown = last.timestamp;
  const isAhead = isOfFuture({ version }, publication);
  if (!isAhead || shown === undefined || isOfFuture({ version: shown }, publication)) return { version, expires };
  return { version: shown, expires: shown + expires - version };
}

/**
 * Whether readers have what is in `out`: a run that was interrupted may have had no time to remember that.
 *
 * @param since - a timestamp before this version is another one
 */
async function isShown({ out, target }: LivePlaces, publication: OpenedPublication, since: number): Promise<boolean> {
  if (target === undefined) return false;
  try {
    await checkIsThere({ out, target, publication });
    const bytes = await readBounded(target, TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
    const there = bytes && timestampIfGood(bytes, publication)?.timestamp;
    if (there === undefined || there.version < since) return false;
    return there.snapshot.sha256 === publication.state.timestamp.snapshot.sha256;
  } catch (error) {
    if (error instanceof StorageError || (error instanceof PublishError && error.code === 'target-behind'))
      return false;
    throw error;
  }
}
