/** Puts the timestamp where content hosts serve it, besides answering readers here: in directories and buckets. */
import { stat } from 'node:fs/promises';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { METADATA_PATH, metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { FileTooLong, type Target } from '../../node-support/storage/target.ts';

const TIMESTAMP = METADATA_PATH + TIMESTAMP_FILE;

/** Roles whose files have a version in their names, and bytes of the longest. */
const MAXIMUM = { root: PUBLICATION_LIMITS.rootLength, snapshot: PUBLICATION_LIMITS.snapshotLength } as const;
type NumberedRole = keyof typeof MAXIMUM;

/** The timestamp at a target. */
export interface StoredTimestamp {
  /** `undefined` if there is none, or a file that is too long for one. */
  readonly bytes: Uint8Array | undefined;
  /** Changes when the file does; `null` where there is none. */
  readonly tag: string | null;
}

/** A push target, whose methods throw StorageError; also the system's own error where a directory is not there. */
export class PushTarget {
  readonly #target: Target;
  #isAsked = false;

  private constructor(target: Target) {
    this.#target = target;
  }

  /** @param text - a directory, or `s3://bucket/prefix` @throws StorageError `argument-invalid` */
  static async open(text: string): Promise<PushTarget> {
    return new PushTarget(await openTarget(text));
  }

  /** Name for people, without secrets. */
  get name(): string {
    return this.#target.name;
  }

  read(): Promise<StoredTimestamp> {
    return this.#ask(async () => {
      const file = await this.#target.head(TIMESTAMP);
      const bytes = file && (await this.#get(TIMESTAMP, PUBLICATION_LIMITS.timestampLength));
      return { bytes, tag: file?.tag ?? null };
    });
  }

  /** The file of a role there; `undefined` also where it is too long for one. */
  readRole(role: NumberedRole, version: number): Promise<Uint8Array | undefined> {
    return this.#ask(() => this.#get(pathOf(role, version), MAXIMUM[role]));
  }

  /** Bytes of the file of a role; `undefined` if there is none. A snapshot is uploaded after all that it names. */
  lengthOf(role: NumberedRole, version: number): Promise<number | undefined> {
    return this.#ask(async () => (await this.#target.head(pathOf(role, version)))?.length);
  }

  /** Puts a snapshot where there is none of this version. */
  uploadSnapshot(version: number, bytes: Uint8Array): Promise<void> {
    const options = { contentType: 'application/json', cacheControl: 'public, max-age=31536000, immutable' };
    return this.#ask(() => this.#target.upload(pathOf('snapshot', version), bytes, { ...options, replacing: null }));
  }

  /**
   * Puts a timestamp in the place of what was found, whole or not at all.
   *
   * @throws StorageError `target-changed` where something else lies there by now
   */
  write(bytes: Uint8Array, { tag }: StoredTimestamp): Promise<void> {
    const options = { contentType: 'application/json', cacheControl: 'public, max-age=60', replacing: tag };
    return this.#ask(() => this.#target.upload(TIMESTAMP, bytes, options));
  }

  /** File or directory there that keeps other users from the timestamp. */
  async closedAt(): Promise<string | undefined> {
    const target = this.#target;
    return target instanceof DirectoryTarget ? this.#ask(() => target.closedAt(TIMESTAMP)) : undefined;
  }

  close(): void {
    this.#target.close();
  }

  #get(path: string, maximum: number): Promise<Uint8Array | undefined> {
    return this.#target.get(path, maximum).catch((error: unknown) => {
      if (error instanceof FileTooLong) return undefined;
      throw error;
    });
  }

  /**
   * A file system that hangs keeps one of the few threads of this process for every call, however long ago the caller gave up: until that
   * call returns, it is not called again. A directory that is not there may be a file system that is not mounted: it is not made here.
   */
  async #ask<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (!(this.#target instanceof DirectoryTarget)) return work();
    if (this.#isAsked) throw new StorageError('target-failed', 'it has not answered the previous request yet');
    this.#isAsked = true;
    try {
      await stat(this.#target.name);
      return await work();
    } finally {
      this.#isAsked = false;
    }
  }
}

function pathOf(role: NumberedRole, version: number): string {
  return METADATA_PATH + metadataFile(role, version);
}
