/** What lies at a target, in little memory: a path is kept as 48 bits of its hash. Two paths that share them cost a second look, or a file that stays. */
import { hash } from 'node:crypto';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { StorageError } from '../../node-support/storage/errors.ts';
import type { StoredFile, Target } from '../../node-support/storage/target.ts';
import { isImmutablePath } from '../publication/files.ts';

const BYTES = 6;
/**
 * Characters of names and tags that are kept whole: those of a million files of metadata. The largest publication has 65,536 bins, and a new
 * publication brings those again that changed.
 */
export const KEPT_CHARACTERS = 134_217_728;

function shortOf(path: string): number {
  return hash('sha256', path, 'buffer').readUIntBE(0, BYTES);
}

/** A set of paths. */
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

/** Counts what is kept whole of a listing: how long that is, and its names, the target alone decides. */
export class KeptNames {
  readonly #target: Target;
  readonly #maximum: number;
  #length = 0;

  constructor(target: Target, maximum: number) {
    this.#target = target;
    this.#maximum = maximum;
  }

  /** @throws StorageError `target-failed` where it is too much */
  add(...texts: readonly (string | undefined)[]): void {
    for (const text of texts) this.#length += text?.length ?? 0;
    if (this.#length <= this.#maximum) return;
    throw new StorageError('target-failed', `${this.#target.name} lists far more metadata than a publication has`, {
      hint: `see what lies below ${METADATA_PATH} there: what others have put there can be removed`,
    });
  }
}

export class Inventory {
  readonly #lengths = new Map<number, number>();
  /** Of files that may be replaced, whose content is compared. */
  readonly #digests = new Map<number, string | undefined>();
  /** By their paths: there are few, and they are replaced only if they are what was seen here. */
  readonly #metadata = new Map<string, StoredFile>();

  /** @throws StorageError */
  static async of(target: Target, keptCharacters: number = KEPT_CHARACTERS): Promise<Inventory> {
    const inventory = new Inventory();
    const kept = new KeptNames(target, keptCharacters);
    for await (const file of target.list('/')) inventory.#add(file, kept);
    return inventory;
  }

  get size(): number {
    return this.#lengths.size;
  }

  /** What is known of the file at a path. */
  find(path: string): Pick<StoredFile, 'path' | 'length' | 'digest'> | undefined {
    if (path.startsWith(METADATA_PATH)) return this.#metadata.get(path);
    const short = shortOf(path);
    const length = this.#lengths.get(short);
    return length === undefined ? undefined : { path, length, digest: this.#digests.get(short) };
  }

  /** By which the target knows whether metadata at a path were changed meanwhile; `null` where there were none. */
  tagOf(path: string): string | null {
    return this.#metadata.get(path)?.tag ?? null;
  }

  #add(file: StoredFile, kept: KeptNames): void {
    const { path, length, digest, tag } = file;
    const short = shortOf(path);
    this.#lengths.set(short, length);
    if (path.startsWith(METADATA_PATH)) {
      kept.add(path, tag, digest);
      this.#metadata.set(path, file);
    } else if (!isImmutablePath(path)) this.#digests.set(short, digest);
  }
}
