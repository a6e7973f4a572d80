/**
 * The publication that readers have, where `out` has gone on: protected again, and not published yet. What is urgent cannot wait for that.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { hexDigest } from '../../core/encoding/digest.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { MetaFile } from '../../core/publication/metadata.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { verifySnapshot } from '../../core/publication/verify-roles.ts';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { PublishError } from '../errors.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import type { PublishedSnapshot } from '../last-published.ts';
import { type OpenedPublication, openPublication, type PublicationPlace } from '../publication/open.ts';
import { placeAtTarget, placeInDirectory } from '../publication/places.ts';
import { fileOfRole } from '../publication/roles.ts';
import { readPublished } from '../timestamp/published.ts';
import { TIMESTAMP_PATH, timestampIfGood } from './overtaken.ts';

const FILES_AT_A_TIME = 16;

export interface LivePlaces {
  readonly out: string;
  readonly target: Target;
  /** What was published from here last. Nothing else is believed: a host could show something older, and have it confirmed. */
  readonly last: PublishedSnapshot;
  /** Seconds since 1970. */
  readonly now: number;
}

/** Its metadata, in a directory of their own for as long as it is needed: verified file by file, or out of `out`. */
export class LivePublication implements AsyncDisposable {
  /** As `out`, but for documents. */
  readonly out: string;
  readonly version: number;

  private constructor(out: string, version: number) {
    this.out = out;
    this.version = version;
  }

  /**
   * @returns `undefined` where that is what is in `out`, and where the target does not show what was published last, confirmed by keys of today,
   *   or cannot be asked
   * @throws PublicationError where what is in `out` is not good
   */
  static async of(places: LivePlaces): Promise<LivePublication | undefined> {
    const publication = await openPublication(placeInDirectory(places.out), { now: places.now });
    if (publication.state.timestamp.snapshot.sha256 === places.last.sha256) return undefined;
    await using stack = new AsyncDisposableStack();
    const live = stack.use(new LivePublication(await mkdtemp(join(tmpdir(), 'wispr-live-')), places.last.version));
    if (!(await live.#gather(places, publication).catch(notThere))) return undefined;
    stack.move();
    return live;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.out, { recursive: true, force: true });
  }

  /** @param publication - the one in `out` */
  async #gather({ target, last }: LivePlaces, publication: OpenedPublication): Promise<boolean> {
    const [own, there] = [publication.place, placeAtTarget(target)];
    const bytes = await there.read(TIMESTAMP_PATH, PUBLICATION_LIMITS.timestampLength);
    const timestamp = bytes && timestampIfGood(bytes, publication)?.timestamp;
    if (bytes === undefined || timestamp?.snapshot.sha256 !== last.sha256) return false;
    const snapshot = await this.#take('snapshot', timestamp.snapshot, [own, there]);
    if (snapshot === undefined || !(await this.#takeRoots(own, there))) return false;
    await this.#write(TIMESTAMP_PATH, bytes);
    const { roles } = await verifySnapshot(snapshot, publication.state.root, timestamp.snapshot, READER_OPTIONS);
    // Lists of earlier numbers of bins may be gone: nobody asks them.
    await forEachInFlight(roles, FILES_AT_A_TIME, async ([role, file]) => {
      await this.#take(role, file, [own, there]);
    });
    await readPublished(join(this.out, METADATA_PATH), publication.rootId as KeyId);
    return true;
  }

  /** Those that the target has: a later one may be in `out` as well. */
  async #takeRoots(own: PublicationPlace, there: PublicationPlace): Promise<boolean> {
    for (let version = 1; ; version++) {
      const path = fileOfRole('root', version);
      const bytes = await own.read(path, PUBLICATION_LIMITS.rootLength);
      const shown = bytes && (await there.read(path, bytes.length));
      if (bytes === undefined || !shown || !Buffer.from(bytes).equals(shown)) return version > 1;
      await this.#write(path, bytes);
    }
  }

  /** Whatever its hash proves, from the first place that has it. */
  async #take(
    role: string,
    { version, length, sha256 }: MetaFile,
    places: readonly PublicationPlace[],
  ): Promise<Uint8Array | undefined> {
    const path = fileOfRole(role, version);
    for (const place of places) {
      const bytes = await place.read(
        path,
        Math.min(length ?? Number.POSITIVE_INFINITY, PUBLICATION_LIMITS.snapshotLength),
      );
      if (bytes === undefined || (await hexDigest(bytes)) !== sha256) continue;
      await this.#write(path, bytes);
      return bytes;
    }
    return undefined;
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    const file = join(this.out, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
  }
}

function notThere(error: unknown): false {
  if (error instanceof StorageError) return false;
  if (error instanceof PublishError && error.code === 'publication-missing') return false;
  throw error;
}
