import { existsSync, statSync } from 'node:fs';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';

/**
 * The files of a database that is open: SQLite goes on with them where they were removed, or others took their place. Those beside the first
 * matter as much: whoever opens the database without its log of today reads and writes another one.
 */
export class OpenedFile {
  readonly #paths: readonly string[];
  readonly #place: string | undefined;
  #isGone = false;
  #lookAgainAt = 0;

  /**
   * @param path - of what was opened just now
   * @param beside - what SQLite may keep there; not every file system lets it
   */
  constructor(path: string, beside: readonly string[]) {
    this.#paths = [path, ...beside.filter(existsSync)];
    this.#place = placeOf(this.#paths);
  }

  /** Whether whoever opens the database now does not get this one. */
  isGone(): boolean {
    const place = placeOf(this.#paths);
    this.#isGone = place === undefined || place !== this.#place;
    this.#lookAgainAt = performance.now() + LIMITS.databaseCheck;
    return this.#isGone;
  }

  /** The same, as it was a moment ago: for what asks at every request. */
  wasGone(): boolean {
    return performance.now() < this.#lookAgainAt ? this.#isGone : this.isGone();
  }

  /** To be called before something is promised to last. @throws ReaderError `store-unusable` where it {@link isGone} */
  require(): void {
    if (this.isGone()) throw databaseGone();
  }
}

/** Only the files that were opened bring it back, or a new start: what else stands there was not looked at by this program. */
export function databaseGone(): ReaderError {
  return new ReaderError('store-unusable', 'the database that this program opened was removed or replaced', {
    hint: 'if its files were only moved, move them back; else stop it, and start it again',
  });
}

/** `undefined` where one is missing, or cannot be looked at. */
function placeOf(paths: readonly string[]): string | undefined {
  try {
    const found = paths.map((path) => statSync(path, { bigint: true }));
    return found.map(({ dev, ino }) => `${dev}:${ino}`).join(' ');
  } catch {
    return undefined;
  }
}
