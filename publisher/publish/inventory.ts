/** Files at a target, in little memory: a path is kept as 48 bits of its hash. Two paths that share them cost a second look, or a file that stays. */
import { hash } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { StoredFile, Target } from '../../node-support/storage/target.ts';
import { isImmutablePath } from '../publication/files.ts';
import { checkNotStopped } from './each-target.ts';

const BYTES = 6;
/** Bytes that a file takes in memory besides its texts, at the most: measured while the tables grow, when the old ones are still there. */
const OF_FILE = 300;
const OF_METADATA = 600;
const CHARACTER = 2;
/** Share of the memory that this process can have: the rest is for its own publication, and for all else. */
const SHARE = 0.5;

/** Returns the bytes that a target's listing may take, in a process with the memory of this one. */
function roomForListing(): number {
  return Math.floor(getHeapStatistics().heap_size_limit * SHARE);
}

function shortOf(path: string): number {
  return hash('sha256', path, 'buffer').readUIntBE(0, BYTES);
}

/** Copies a text: a part of a listing would keep all of that in memory. */
export function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

export class PathSet {
  readonly #paths = new Set<number>();

  add(path: string): void {
    this.#paths.add(shortOf(path));
  }

  has(path: string): boolean {
    return this.#paths.has(shortOf(path));
  }

  get size(): number {
    return this.#paths.size;
  }
}

/** Counts the memory that is taken by what is kept of a listing: how much that is, the target alone decides. */
export class KeptListing {
  readonly #target: Target;
  readonly #maximum: number;
  #bytes = 0;

  constructor(target: Target, maximum: number = roomForListing()) {
    this.#target = target;
    this.#maximum = maximum;
  }

  /** Counts a file of which only the length is kept, and perhaps a digest. @throws StorageError `target-failed` where it is too much */
  addFile(digest?: string): void {
    this.#add(OF_FILE + CHARACTER * (digest?.length ?? 0));
  }

  /** Counts a file of metadata, which is kept whole. @throws StorageError `target-failed` where it is too much */
  addMetadata(...texts: readonly (string | undefined)[]): void {
    this.#add(texts.reduce((bytes, text) => bytes + CHARACTER * (text?.length ?? 0), OF_METADATA));
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= this.#maximum) return;
    const mebibytes = Math.round(this.#maximum / 2 ** 20);
    throw new StorageError(
      'target-failed',
      `${this.#target.name} lists more files than fit into ${mebibytes} MiB, half of the memory that this process can have`,
    );
  }
}

export interface Found {
  find(path: string): Promise<Pick<StoredFile, 'path' | 'length' | 'digest'> | undefined>;
  /** Gives the tag by which the target knows whether metadata at a path were changed meanwhile; `null` where there were none. */
  tagOf(path: string): string | null;
}

/** Asks for one file after the other, where few are wanted. */
export class Inquiry implements Found {
  readonly #target: Target;
  readonly #tags = new Map<string, string>();

  constructor(target: Target) {
    this.#target = target;
  }

  async find(path: string): Promise<StoredFile | undefined> {
    const file = await this.#target.head(path);
    if (file && path.startsWith(METADATA_PATH)) this.#tags.set(path, file.tag);
    return file;
  }

  tagOf(path: string): string | null {
    return this.#tags.get(path) ?? null;
  }
}

/** Asks once for all files. */
export class Inventory implements Found {
  readonly #lengths = new Map<number, number>();
  /** Digests of files that may be replaced, whose content is compared. */
  readonly #digests = new Map<number, string | undefined>();
  /** Metadata by their paths: there are few, and they are replaced only if they are what was seen here. */
  readonly #metadata = new Map<string, StoredFile>();

  /**
   * @param room - bytes that it may take
   * @param isThorough - keeps also the digests of files whose names stand for their content
   * @throws StorageError; PublishError `stopped`
   */
  static async of(
    target: Target,
    {
      signal,
      room = roomForListing(),
      isThorough = false,
    }: { readonly signal?: AbortSignal | undefined; readonly room?: number; readonly isThorough?: boolean } = {},
  ): Promise<Inventory> {
    const inventory = new Inventory();
    const kept = new KeptListing(target, room);
    for await (const file of target.list('/')) {
      checkNotStopped(signal);
      inventory.#add(file, kept, isThorough);
    }
    return inventory;
  }

  get size(): number {
    return this.#lengths.size;
  }

  async find(path: string): Promise<Pick<StoredFile, 'path' | 'length' | 'digest'> | undefined> {
    if (path.startsWith(METADATA_PATH)) return this.#metadata.get(path);
    const short = shortOf(path);
    const length = this.#lengths.get(short);
    return length === undefined ? undefined : { path, length, digest: this.#digests.get(short) };
  }

  tagOf(path: string): string | null {
    return this.#metadata.get(path)?.tag ?? null;
  }

  #add(file: StoredFile, kept: KeptListing, isThorough: boolean): void {
    const { path, length, digest, tag } = file;
    const short = shortOf(path);
    if (path.startsWith(METADATA_PATH)) {
      kept.addMetadata(path, tag, digest);
      this.#metadata.set(path, { ...file, path: copyOf(path), tag: copyOf(tag), digest: digest && copyOf(digest) });
    } else if (isImmutablePath(path) && !isThorough) kept.addFile();
    else {
      kept.addFile(digest);
      this.#digests.set(short, digest && copyOf(digest));
    }
    this.#lengths.set(short, length);
  }
}
