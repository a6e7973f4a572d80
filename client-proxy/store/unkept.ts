/**
 * What was verified and could not be written, because the disk is full or for another reason of its own. It is used from memory for as long as
 * this process runs, so that nothing goes back, and tried again; the reader is told once. All of it is signed, or sealed.
 */
import { isSqliteError, saysConstraint } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { unwritable } from './database.ts';

export interface KeptThen {
  readonly hash: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** Files of a site's publication that are newer than those in the database, by their names there. */
export interface UnkeptPublication {
  readonly files: Map<string, Uint8Array>;
  /** What stood in the database when the first of them could not be written, of what changes with every publication. */
  base: KeptThen | undefined;
}

/** A descriptor that is newer than the one in the database. */
export interface UnkeptDescriptor {
  readonly bytes: Uint8Array;
  /** Seconds since 1970. */
  readonly fetched: number;
}

export class Unkept {
  readonly #publications = new Map<string, UnkeptPublication>();
  /** By `key server publisher`. */
  readonly descriptors = new Map<string, UnkeptDescriptor>();
  /** What is tried again, by name; an attempt takes the place of the one before. */
  readonly #waiting = new Map<string, () => void>();
  #problem: ReaderError | undefined;
  #tell: (problem: ReaderError | undefined) => void = () => undefined;

  /** Why something could not be written, from then until all of it was. */
  get problem(): ReaderError | undefined {
    return this.#problem;
  }

  /** @param tell - called when {@link problem} begins, and, with `undefined`, when it ends */
  whenChanged(tell: (problem: ReaderError | undefined) => void): void {
    this.#tell = tell;
  }

  publication(site: string): UnkeptPublication {
    const known = this.#publications.get(site) ?? { files: new Map(), base: undefined };
    this.#publications.set(site, known);
    return known;
  }

  /**
   * Writes, or remembers to.
   *
   * @param write - one transaction; called again until it succeeds, or fails for another reason than the disk
   * @returns whether it is written
   * @throws whatever `write` throws where nothing is the matter with the disk
   */
  attempt(name: string, write: () => void): boolean {
    try {
      write();
      this.#waiting.delete(name);
      return true;
    } catch (error) {
      if (!isOfTheDisk(error)) throw error;
      if (this.#waiting.size < LIMITS.unkept || this.#waiting.has(name)) this.#waiting.set(name, write);
      this.#begin(error);
      return false;
    }
  }

  /** Tries again, and stops where the disk refuses once more. */
  retry(): void {
    for (const [name, write] of this.#waiting) {
      try {
        write();
      } catch (error) {
        if (isOfTheDisk(error)) return;
        // It is nobody's any more: its site was disconnected, or its keys are sealed anew.
      }
      this.#waiting.delete(name);
    }
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#tell(undefined);
  }

  #begin(error: unknown): void {
    if (this.#problem !== undefined) return;
    this.#problem = error instanceof ReaderError ? error : unwritable(error);
    this.#tell(this.#problem);
  }
}

/** Also where it stands behind the error of a layer of ours. A row that contradicts another is no fault of the disk. */
export function isOfTheDisk(error: unknown): boolean {
  const cause = error instanceof ReaderError ? error.cause : error;
  return isSqliteError(cause) && !saysConstraint(cause);
}
