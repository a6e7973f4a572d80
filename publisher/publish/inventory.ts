/** What lies at a target, in little memory: a path is kept as 48 bits of its hash. Two paths that share them cost a second look, or a file that stays. */
import { hash } from 'node:crypto';
import { METADATA_PATH } from '../../core/publication/names.ts';
import type { StoredFile, Target } from '../../node-support/storage/target.ts';
import { isImmutablePath } from '../publication/files.ts';

const BYTES = 6;

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

export class Inventory {
  readonly #lengths = new Map<number, number>();
  /** Of files that may be replaced, whose content is compared. */
  readonly #digests = new Map<number, string | undefined>();
  /** By their paths: there are few, and they are replaced only if they are what was seen here. */
  readonly #metadata = new Map<string, StoredFile>();

  static async of(target: Target): Promise<Inventory> {
    const inventory = new Inventory();
    for await (const file of target.list('/')) inventory.#add(file);
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

  #add(file: StoredFile): void {
    const { path, length, digest } = file;
    const short = shortOf(path);
    this.#lengths.set(short, length);
    if (path.startsWith(METADATA_PATH)) this.#metadata.set(path, file);
    else if (!isImmutablePath(path)) this.#digests.set(short, digest);
  }
}
