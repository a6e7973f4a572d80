/** Where a key server puts the timestamp besides answering readers itself: directories and buckets that content hosts serve. */
import { stat } from 'node:fs/promises';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { METADATA_PATH, metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { FileTooLong, type Target } from '../../node-support/storage/target.ts';

const PATH = METADATA_PATH + TIMESTAMP_FILE;

/** What lies at a target. */
export interface Found {
  /** `undefined` if there is nothing, or what is too long for a timestamp. */
  readonly bytes: Uint8Array | undefined;
  /** By which the target knows whether it was changed meanwhile; `null` where there is nothing. */
  readonly tag: string | null;
}

/** What a directory is asked at a time: by a run that looks, and by what is being pushed. */
const MOST_ASKED = 2;

export class PushTarget {
  readonly #target: Target;
  #asked = 0;

  private constructor(target: Target) {
    this.#target = target;
  }

  /**
   * @param text - a directory, or `s3://bucket/prefix`
   * @throws StorageError `target-invalid`
   */
  static async open(text: string): Promise<PushTarget> {
    return new PushTarget(await openTarget(text));
  }

  /** For people; holds no secret. */
  get name(): string {
    return this.#target.name;
  }

  /** @throws StorageError */
  read(): Promise<Found> {
    return this.#ask(() => this.#read());
  }

  async #read(): Promise<Found> {
    const file = await this.#target.head(PATH);
    if (!file) return { bytes: undefined, tag: null };
    if (file.length > PUBLICATION_LIMITS.timestampLength) return { bytes: undefined, tag: file.tag };
    return { bytes: await this.#target.get(PATH, PUBLICATION_LIMITS.timestampLength), tag: file.tag };
  }

  /**
   * Whether a publication is there. Its snapshot comes after what it names, and before the timestamp.
   *
   * @throws StorageError; the system's own where a directory is not there
   */
  holds(publication: number): Promise<boolean> {
    return this.#ask(async () => {
      await this.#checkMounted();
      return (await this.#target.head(METADATA_PATH + metadataFile('snapshot', publication))) !== undefined;
    });
  }

  /** A root as it lies there, whoever put it; `undefined` also where it is too long for one. @throws StorageError */
  readRoot(version: number): Promise<Uint8Array | undefined> {
    return this.#ask(() =>
      this.#target
        .get(METADATA_PATH + metadataFile('root', version), PUBLICATION_LIMITS.rootLength)
        .catch((error: unknown) => {
          if (error instanceof FileTooLong) return undefined;
          throw error;
        }),
    );
  }

  /**
   * Puts a timestamp in the place of what was found, whole or not at all.
   *
   * @throws StorageError, `target-changed` where something else lies there by now; the system's own where a directory is not there
   */
  write(bytes: Uint8Array, { tag }: Found): Promise<void> {
    return this.#ask(async () => {
      await this.#checkMounted();
      const options = { contentType: 'application/json', cacheControl: 'public, max-age=60', replacing: tag };
      await this.#target.put(PATH, bytes, options);
    });
  }

  close(): void {
    this.#target.close();
  }

  /**
   * A file system that hangs keeps one of the few threads of this process for each thing that is asked of it, however long ago whoever asked has
   * given it up: until that is answered, it is asked nothing.
   */
  async #ask<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (this.#target instanceof DirectoryTarget && this.#asked >= MOST_ASKED)
      throw new StorageError('target-failed', 'it has not answered yet what it was asked before');
    this.#asked++;
    try {
      return await work();
    } finally {
      this.#asked--;
    }
  }

  /** A site that is not there may be a file system that is not mounted: it is not made here. */
  async #checkMounted(): Promise<void> {
    if (this.#target instanceof DirectoryTarget) await stat(this.#target.name);
  }
}
