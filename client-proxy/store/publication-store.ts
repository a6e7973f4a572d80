/**
 * What is kept of a site's publication, so that a new start needs no network, and nothing goes back. Not secret, and not believed: the client
 * verifies every file again when it reads it.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { equalBytes } from '../../core/encoding/bytes.ts';
import type { MetadataStore } from '../../core/publication/client.ts';
import { inTransaction } from '../../node-support/sqlite.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { DataVersion } from './data-version.ts';
import { unwritable } from './database.ts';
import { type Files, publisherOf, settleUnkept } from './settle-unkept.ts';
import { isOfTheDisk, Unkept, type UnkeptPublication } from './unkept.ts';

/** What the device was connected with; never written again. */
const FIRST_ROOT = 'first root';
/** Random, and made when the site is connected: it goes when the site is forgotten, and the site of another connection has another. */
const CONNECTION = 'connection';
const CONNECTION_LENGTH = 16;
const NOTHING = new Uint8Array(0);

/** Roles that every start needs, and what the client keeps for itself; the others, sections and bins, can be fetched again. */
const STAYS = /(?:^|[ :])(?:root|timestamp|snapshot|targets|documents)$|wispr:|\.well-known/;

/** To be called in a transaction. */
export function saveFirstRoot(database: DatabaseSync, site: string, bytes: Uint8Array): void {
  const into = 'INTO publications (site, name, bytes, stays, used)';
  const isNew = `NOT EXISTS (SELECT 1 FROM publications WHERE site = ?1 AND name = '${FIRST_ROOT}')`;
  database
    .prepare(`INSERT ${into} SELECT ?1, '${CONNECTION}', ?2, 1, 0 WHERE ${isNew}`)
    .run(site, randomBytes(CONNECTION_LENGTH));
  database.prepare(`INSERT OR REPLACE ${into} VALUES (?, '${FIRST_ROOT}', ?, 1, 0)`).run(site, bytes);
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
  /** And every part of the state in use, which another process may be in the middle of writing. */
  readonly #inUse: StatementSync;
  readonly #unkept: Unkept;
  readonly #waiting: UnkeptPublication;
  #version: { readonly data: number; readonly hash: string } | undefined;

  constructor(
    database: DatabaseSync,
    site: string,
    dataVersion = new DataVersion(database),
    unkept: Unkept = new Unkept(),
  ) {
    this.#database = database;
    this.#site = site;
    this.#unkept = unkept;
    this.#waiting = unkept.publication(site);
    const next = '(SELECT coalesce(max(used), 0) + 1 FROM publications WHERE site = ?1)';
    this.#dataVersion = dataVersion;
    this.#changing = database.prepare(
      `SELECT name, bytes FROM publications WHERE site = ? AND (${CHANGES}) ORDER BY name`,
    );
    this.#inUse = database.prepare(
      `SELECT name, bytes FROM publications WHERE site = ? AND (${CHANGES} OR name LIKE '%wispr:%') ORDER BY name`,
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
    if (this.#version === undefined || this.#version.data !== data) {
      this.#version = { data, hash: this.#hashOf(this.#changing) };
      if (this.#unkeptFiles().size > 0) this.#flush(); // whoever wrote that found room
    }
    return this.#version.hash;
  }

  #hashOf(rows: StatementSync): string {
    const hash = createHash('sha256');
    for (const { name, bytes } of rows.all(this.#site))
      hash.update(`${name} ${(bytes as Uint8Array).length}\n`).update(bytes as Uint8Array);
    return hash.digest('hex');
  }

  /** The root that the publisher's id is the hash of. */
  firstRoot(): Uint8Array | undefined {
    return this.#stored(FIRST_ROOT);
  }

  #stored(name: string): Uint8Array | undefined {
    const bytes = this.#select.get(this.#site, name)?.bytes;
    return bytes instanceof Uint8Array ? bytes : undefined;
  }

  /** What could not be written comes first: it is newer, and was verified. */
  async read(name: string): Promise<Uint8Array | undefined> {
    const unkept = this.#unkeptFiles().get(name);
    if (unkept !== undefined) return unkept;
    const bytes = this.#stored(name);
    if (bytes !== undefined) this.#noteUse(name);
    return bytes;
  }

  /** None of a connection that was forgotten since, also where the same site is connected anew. */
  #unkeptFiles(): Map<string, Uint8Array> {
    const { files, base } = this.#waiting;
    if (base !== undefined && !equalBytes(base.connection, this.#stored(CONNECTION) ?? NOTHING)) this.#forgetWaiting();
    return files;
  }

  /** For what is dropped first; no reason to keep anybody from reading. */
  #noteUse(name: string): void {
    try {
      this.#write(() => this.#touch.run(this.#site, name), false);
    } catch (error) {
      if (!isOfTheDisk(error)) throw error;
    }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    if (!STAYS.test(name)) return this.#writeIfPossible(name, bytes);
    const files = this.#unkeptFiles();
    const before = files.get(name);
    files.set(name, bytes);
    try {
      this.#requireBound(this.#flush());
    } catch (error) {
      if (before === undefined) files.delete(name);
      else files.set(name, before);
      throw error;
    }
  }

  /** With what waits already, in one transaction. @returns what keeps it from being written */
  #flush(): ReaderError | undefined {
    if (this.#unkept.attempt('lasting', `publication ${this.#site}`, () => this.#writeWaiting())) return undefined;
    if (this.#waiting.base === undefined) this.#beginWaiting();
    return this.#unkept.problem;
  }

  /** What stands beside it is held as well: another process may replace it, and a publication's files belong together. */
  #beginWaiting(): void {
    const { files } = this.#waiting;
    for (const [name, bytes] of this.#storedBeside(files)) if (!files.has(name)) files.set(name, bytes);
    this.#waiting.base = { hash: this.#hashOf(this.#inUse), connection: this.#stored(CONNECTION) ?? NOTHING };
  }

  /** All that lasts of the publishers that have some of these files. */
  #storedBeside(files: Files): Map<string, Uint8Array> {
    const publishers = new Set([...files.keys()].map(publisherOf));
    const rows = this.#database.prepare('SELECT name, bytes FROM publications WHERE site = ? AND stays = 1');
    const all = rows.all(this.#site).map(({ name, bytes }) => [String(name), bytes as Uint8Array] as const);
    return new Map(all.filter(([name]) => publishers.has(publisherOf(name))));
  }

  #writeWaiting(): void {
    try {
      this.#write(() => {
        const files = this.#unkeptFiles();
        this.#settle();
        for (const [name, bytes] of files)
          if (!equalBytes(bytes, this.#stored(name) ?? NOTHING)) this.#put(name, bytes, true);
      }, true);
    } catch (error) {
      if (isOfTheDisk(error)) throw error;
      this.#forgetWaiting(); // the site was disconnected
      throw error;
    }
    this.#forgetWaiting();
  }

  #forgetWaiting(): void {
    this.#waiting.files.clear();
    this.#waiting.base = undefined;
  }

  /** Memory is no disk. @throws ReaderError what keeps it from being written, where too much waits for that */
  #requireBound(problem: ReaderError | undefined): void {
    if (problem === undefined) return;
    const bytes = [...this.#waiting.files.values()].reduce((sum, { length }) => sum + length, 0);
    if (bytes > LIMITS.publicationBytes) throw problem;
  }

  /** Another process may have written since: it found room, and may have verified something newer. */
  #settle(): void {
    const { files, base } = this.#waiting;
    if (base === undefined || base.hash === this.#hashOf(this.#inUse)) return;
    for (const [name, bytes] of settleUnkept(files, this.#storedBeside(files))) files.set(name, bytes);
  }

  /** What can be fetched again need not be kept; but its reader is to know that the disk is full. */
  #writeIfPossible(name: string, bytes: Uint8Array): void {
    const write = () => this.#write(() => this.#put(name, bytes, false), false);
    this.#unkept.attempt('fetchable', `publication ${this.#site}`, write);
  }

  #put(name: string, bytes: Uint8Array, stays: boolean): void {
    this.#upsert.run(this.#site, name, bytes, stays ? 1 : 0);
    this.#prune();
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
      throw error instanceof ReaderError ? error : unwritable(error, this.#database.location());
    } finally {
      if (!lasting) this.#database.exec('PRAGMA synchronous = FULL');
    }
  }
}
