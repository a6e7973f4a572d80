/** A site's publication, kept: a new start needs no network, and nothing goes back. Verified again when it is read. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { MetadataStore } from '../../core/publication/client.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import type { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { unwritable } from './errors.ts';

/** Root that the device was connected with; never written again. */
const FIRST_ROOT = 'first root';

/** Roles that every start needs, and what the client keeps for itself; the others, sections and bins, can be fetched again. */
const STAYS = /(?:^|[ :])(?:root|timestamp|snapshot|targets|documents)$|wispr:|\.well-known/;

const INSERT = 'INSERT OR REPLACE INTO publications (site, name, bytes, stays) VALUES (?, ?, ?, ?)';

/** To be called in a transaction. */
export function saveFirstRoot(database: DatabaseSync, site: string, bytes: Uint8Array): void {
  database.prepare(INSERT).run(site, FIRST_ROOT, bytes, 1);
}

export class PublicationStore implements MetadataStore {
  readonly #database: DatabaseSync;
  readonly #site: string;
  readonly #select: StatementSync;
  readonly #insert: StatementSync;
  readonly #mostBytes: number;
  #failure: ReaderError | undefined;

  /** @param mostBytes - that are kept of the publication, besides what every check needs */
  constructor(database: DatabaseSync, site: string, mostBytes: number = LIMITS.publicationBytes) {
    this.#mostBytes = mostBytes;
    this.#database = database;
    this.#site = site;
    this.#select = database.prepare('SELECT bytes FROM publications WHERE site = ? AND name = ?');
    this.#insert = database.prepare(INSERT);
  }

  /** The root that the publisher's id is the hash of. */
  firstRoot(): Uint8Array | undefined {
    return this.#read(FIRST_ROOT);
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    return this.#read(name);
  }

  /** Reason why something newer than what is here could not be written. */
  get failure(): ReaderError | undefined {
    return this.#failure;
  }

  /** Clears it once a check has found and written what is newest. */
  clearFailure(): void {
    this.#failure = undefined;
  }

  /** Keeps what can be fetched again as far as there is room. @throws ReaderError `disk-full`, `store-unwritable` for all else */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    const stays = STAYS.test(name);
    try {
      this.#write(name, bytes, stays);
    } catch (error) {
      if (!stays) return;
      this.#failure = unwritable(error, this.#database.location());
      throw this.#failure;
    }
  }

  #read(name: string): Uint8Array | undefined {
    const bytes = this.#select.get(this.#site, name)?.bytes;
    return bytes instanceof Uint8Array ? bytes : undefined;
  }

  /** Waits for the disk, which holds up all other requests, only for what cannot be fetched again after a loss of power. */
  #write(name: string, bytes: Uint8Array, stays: boolean): void {
    if (!stays) this.#database.exec('PRAGMA synchronous = NORMAL');
    try {
      inTransaction(this.#database, () => {
        this.#insert.run(this.#site, name, bytes, stays ? 1 : 0);
        if (!stays) this.#evict();
      });
    } finally {
      if (!stays) this.#database.exec('PRAGMA synchronous = FULL');
    }
  }

  #evict(): void {
    this.#database
      .prepare(
        `DELETE FROM publications WHERE rowid IN (SELECT id FROM
         (SELECT rowid AS id, sum(length(bytes)) OVER (ORDER BY rowid DESC) AS total FROM publications WHERE site = ?1 AND stays = 0)
         WHERE total > ?2)`,
      )
      .run(this.#site, this.#mostBytes);
  }
}
