import type { DatabaseSync, StatementSync } from 'node:sqlite';

/**
 * SQLite's number for what other processes have changed. One request asks for it several times: it is looked up once in a stretch of code that
 * runs without waiting for anything, where a change between two questions could as well have come after the second.
 */
export class DataVersion {
  readonly #select: StatementSync;
  #current: number | undefined;

  constructor(database: DatabaseSync) {
    this.#select = database.prepare('PRAGMA data_version');
  }

  read(): number {
    if (this.#current === undefined) {
      this.#current = Number(this.#select.get()?.data_version);
      queueMicrotask(this.#forget);
    }
    return this.#current;
  }

  readonly #forget = (): void => {
    this.#current = undefined;
  };
}
