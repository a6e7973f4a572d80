import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { LIMITS } from '../limits.ts';
import type { OpenedFile } from './opened-file.ts';

/**
 * SQLite's number for what other processes have changed, and whether the file is still there. One request asks for them several times: they are
 * looked up once in a stretch of code that runs without waiting for anything, where a change between two questions could as well have come after
 * the second.
 */
export class DataVersion {
  readonly #select: StatementSync;
  readonly #file: OpenedFile | undefined;
  #current: number | undefined;
  #isGone = false;
  #lookAgainAt = 0;

  /** @param file - left out where it makes no difference whether it is still there */
  constructor(database: DatabaseSync, file?: OpenedFile) {
    this.#file = file;
    this.#select = database.prepare('PRAGMA data_version');
  }

  read(): number {
    if (this.#current === undefined) {
      this.#current = Number(this.#select.get()?.data_version);
      if (performance.now() >= this.#lookAgainAt) this.isGoneNow();
      queueMicrotask(this.#forget);
    }
    return this.#current;
  }

  /** Whether the file of the database was removed or replaced: a moment ago, as far as that costs nothing at most requests. */
  get isGone(): boolean {
    this.read();
    return this.#isGone;
  }

  /** The same, as it is now. */
  isGoneNow(): boolean {
    this.#lookAgainAt = performance.now() + LIMITS.databaseCheck;
    this.#isGone = this.#file?.isGone() ?? false;
    return this.#isGone;
  }

  readonly #forget = (): void => {
    this.#current = undefined;
  };
}
