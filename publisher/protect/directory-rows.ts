import type { IndexedDecision, PublisherIndex } from '../workspace/index/publisher-index.ts';

/** Rows of a directory that are kept in memory. */
const ROWS_KEPT = 5000;

/** Rows of documents, a directory at a time: files come directory by directory, and a question for each takes four times as long. */
export class DirectoryRows {
  readonly #index: PublisherIndex;
  #directory: string | undefined;
  #rows: ReadonlyMap<string, IndexedDecision> | undefined;

  constructor(index: PublisherIndex) {
    this.#index = index;
  }

  find(path: string): IndexedDecision | undefined {
    const directory = path.slice(0, path.lastIndexOf('/'));
    if (directory !== this.#directory) {
      this.#directory = directory;
      const rows = this.#index.decisionsIn(directory, ROWS_KEPT + 1);
      this.#rows = rows.length > ROWS_KEPT ? undefined : new Map(rows.map((row) => [row.path, row]));
    }
    return this.#rows ? this.#rows.get(path) : this.#index.findDecision(path);
  }
}
