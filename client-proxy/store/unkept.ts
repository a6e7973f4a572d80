/**
 * What was verified and could not be written, because the disk is full or for another reason of its own. It is used from memory for as long as
 * this process runs, so that nothing goes back, and tried again; the reader is told once. All of it is signed, or sealed.
 */
import { isSqliteError, saysConstraint } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { unwritable } from './database.ts';
import { UnkeptKeys } from './unkept-keys.ts';

/** What stood in the database when the first file could not be written. */
export interface KeptThen {
  /** Of what changes with every publication, and of the state in use. */
  readonly hash: string;
  /** What tells this connection of the site from another; empty where an earlier version made it. */
  readonly connection: Uint8Array;
}

/** Files of a site's publication, by their names in the database: those that are newer than there and, while they wait, all that stood beside them. */
export interface UnkeptPublication {
  readonly files: Map<string, Uint8Array>;
  base: KeptThen | undefined;
}

/** A descriptor that is newer than the one in the database. */
export interface UnkeptDescriptor {
  readonly bytes: Uint8Array;
  /** Seconds since 1970. */
  readonly fetched: number;
}

/** What keeps things from going back, and what can be fetched again. */
type Worth = 'lasting' | 'fetchable';

export class Unkept {
  readonly #publications = new Map<string, UnkeptPublication>();
  /** By `key server publisher`. */
  readonly descriptors = new Map<string, UnkeptDescriptor>();
  readonly #keys = new Map<number, UnkeptKeys>();
  /**
   * What is tried again, by name; an attempt takes the place of the one before. Every site and publisher that is connected has places of its
   * own: nobody's is anybody else's, and what keeps things from going back always has one.
   */
  readonly #waiting: Record<Worth, Map<string, () => void>> = { lasting: new Map(), fetchable: new Map() };
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

  /** @param binding - its number */
  keysOf(binding: number): UnkeptKeys {
    const known = this.#keys.get(binding) ?? new UnkeptKeys();
    this.#keys.set(binding, known);
    return known;
  }

  /**
   * Writes, or remembers to.
   *
   * @param name - of a site or publisher that is connected: there are no more of them than that
   * @param write - one transaction; called again until it succeeds, or fails for another reason than the disk
   * @returns whether it is written
   * @throws whatever `write` throws where nothing is the matter with the disk
   */
  attempt(worth: Worth, name: string, write: () => void): boolean {
    try {
      write();
      this.#waiting[worth].delete(name);
      return true;
    } catch (error) {
      if (!isOfTheDisk(error)) throw error;
      this.wait(worth, name, write, error);
      return false;
    }
  }

  /** Remembers to write. @param error - of the disk */
  wait(worth: Worth, name: string, write: () => void, error: unknown): void {
    this.#waiting[worth].set(name, write);
    if (this.#problem !== undefined) return;
    this.#problem = error instanceof ReaderError ? error : unwritable(error);
    this.#tell(this.#problem);
  }

  /** Tries again, and stops where the disk refuses once more: what keeps things from going back has what room there is. */
  retry(): void {
    if (!isEmptied(this.#waiting.lasting) || !isEmptied(this.#waiting.fetchable)) return;
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#tell(undefined);
  }
}

/** Also where it stands behind the error of a layer of ours. A row that contradicts another is no fault of the disk. */
export function isOfTheDisk(error: unknown): boolean {
  const cause = error instanceof ReaderError ? error.cause : error;
  return isSqliteError(cause) && !saysConstraint(cause);
}

/** Writes what waits. `false` where the disk refuses. */
function isEmptied(waiting: Map<string, () => void>): boolean {
  for (const [name, write] of waiting) {
    try {
      write();
    } catch (error) {
      if (isOfTheDisk(error)) return false;
      // It is nobody's any more: its site was disconnected, or its keys are sealed anew.
    }
    waiting.delete(name);
  }
  return true;
}
