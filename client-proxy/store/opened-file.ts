import { statSync } from 'node:fs';
import { LIMITS } from '../limits.ts';

/** The file of a database that is open: SQLite goes on with it where it was removed, or another took its place. */
export class OpenedFile {
  readonly #path: string;
  readonly #place: string | undefined;
  #isGone = false;
  #lookAgainAt = 0;

  /** @param path - of what was opened just now */
  constructor(path: string) {
    this.#path = path;
    this.#place = placeOf(path);
  }

  /** Whether whoever opens the database now does not get this one. */
  isGone(): boolean {
    const place = placeOf(this.#path);
    this.#isGone = place === undefined || place !== this.#place;
    this.#lookAgainAt = performance.now() + LIMITS.databaseCheck;
    return this.#isGone;
  }

  /** The same, as it was a moment ago: for what asks at every request. */
  wasGone(): boolean {
    return performance.now() < this.#lookAgainAt ? this.#isGone : this.isGone();
  }
}

function placeOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
