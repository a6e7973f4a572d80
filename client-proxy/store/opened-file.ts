import { statSync } from 'node:fs';

/** The file of a database that is open: SQLite goes on with it where it was removed, or another took its place. */
export class OpenedFile {
  readonly #path: string;
  readonly #place: string | undefined;

  /** @param path - of what was opened just now */
  constructor(path: string) {
    this.#path = path;
    this.#place = placeOf(path);
  }

  /** Whether whoever opens the database now does not get this one. */
  isGone(): boolean {
    const place = placeOf(this.#path);
    return place === undefined || place !== this.#place;
  }
}

function placeOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}
