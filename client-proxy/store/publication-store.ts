/**
 * What is kept of a site's publication, so that a new start needs no network, and nothing goes back. Not secret, and not believed: the client
 * verifies every file again when it reads it.
 */
import { createHash } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { MetadataStore } from '../../core/publication/client.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { LIMITS } from '../limits.ts';
import { DataVersion } from './data-version.ts';
import { unwritable } from './database.ts';

/** What the device was connected with; never written again. */
const FIRST_ROOT = 'first root';

/** Roles that every start needs, and what the client keeps for itself; the others, sections and bins, can be fetched again. */
const STAYS = /(?:^|[ :])(?:root|timestamp|snapshot|targets|documents)$|wispr:|\.well-known/;

export function saveFirstRoot(database: DatabaseSync, site: string, bytes: Uint8Array): void {
  database
    .prepare('INSERT OR REPLACE INTO publications (site, name, bytes, stays, used) VALUES (?, ?, ?, 1, 0)')
    .run(site, FIRST_ROOT, bytes);
}

/** What changes with every publication: small, and written when what it names is there. */
const CHANGES = "name LIKE '%root' OR name LIKE '%timestamp' OR name LIKE '%withdrawn'";

export class PublicationStore implements MetadataStore {
  readonly #database: DatabaseSync;
  readonly #site: string;
  readonly #select: StatementSync;
  readonly #touch: StatementSync;
  readonly #upsert: StatementSync;
  readonly #dataVersion: DataVersion;
  readonly #changing: StatementSync;
  #version: { readonly data: number; readonly hash: string } | undefined;

  constructor(database: DatabaseSync, site: string, dataVersion = new DataVersion(database)) {
    this.#database = database;
    this.#site = site;
    const next = '(SELECT coalesce(max(used), 0) + 1 FROM publications WHERE site = ?1)';
    this.#dataVersion = dataVersion;
    this.#changing = database.prepare(
      `SELECT name, bytes FROM publications WHERE site = ? AND (${CHANGES}) ORDER BY name`,
    );
    this.#select = database.prepare('SELECT bytes FROM publications WHERE site = ? AND name = ?');
    this.#touch = database.prepare(`UPDATE publications SET used = ${next} WHERE site = ?1 AND name = ?2`);
    this.#upsert = database.prepare(
      `INSERT INTO publications (site, name, bytes, stays, used) VALUES (?1, ?2, ?3, ?4, ${next})
       ON CONFLICT (site, name) DO UPDATE SET bytes = excluded.bytes, used = excluded.used`,
    );
  }

  /**
   * Changes whenever another process has put something newer there. Cheap while no other process writes; that one merely reads, which is
   * noted with what it reads, changes nothing here.
   */
  version(): string {
    const data = this.#dataVersion.read();
    if (this.#version === undefined || this.#version.data !== data) this.#version = { data, hash: this.#hash() };
    return this.#version.hash;
  }

  #hash(): string {
    const hash = createHash('sha256');
    for (const { name, bytes } of this.#changing.all(this.#site))
      hash.update(`${name} ${(bytes as Uint8Array).length}\n`).update(bytes as Uint8Array);
    return hash.digest('hex');
  }

  /** The root that the publisher's id is the hash of. */
  firstRoot(): Uint8Array | undefined {
    const bytes = this.#select.get(this.#site, FIRST_ROOT)?.bytes;
    return bytes instanceof Uint8Array ? bytes : undefined;
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    const bytes = this.#select.get(this.#site, name)?.bytes;
    if (!(bytes instanceof Uint8Array)) return undefined;
    this.#write(() => this.#touch.run(this.#site, name), false);
    return bytes;
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    const stays = STAYS.test(name);
    this.#write(() => {
      this.#upsert.run(this.#site, name, bytes, stays ? 1 : 0);
      this.#prune();
    }, stays);
  }

  /** Keeps the newest of what can be fetched again, up to the bound. */
  #prune(): void {
    this.#database
      .prepare(
        `DELETE FROM publications WHERE rowid IN (SELECT id FROM
         (SELECT rowid AS id, sum(length(bytes)) OVER (ORDER BY used DESC) AS total FROM publications WHERE site = ?1 AND stays = 0)
         WHERE total > ?2)`,
      )
      .run(this.#site, LIMITS.publicationBytes);
  }

  /**
   * No binding changes, so the store's version stays as it is for this process.
   *
   * @param lasting - whether it must outlive a loss of power, as what keeps anything from going back must. What can be fetched again is given to the
   * system like all, whole or not at all, but its disk is not waited for: that takes milliseconds, in which nobody else is served.
   */
  #write(work: () => void, lasting: boolean): void {
    try {
      if (!lasting) this.#database.exec('PRAGMA synchronous = NORMAL');
      inTransaction(this.#database, work);
    } catch (error) {
      throw unwritable(error);
    } finally {
      if (!lasting) this.#database.exec('PRAGMA synchronous = FULL');
    }
  }
}
