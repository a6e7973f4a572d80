/**
 * Small objects, many in one SQLite database: making a file for each took a third of a first read. The database may be removed at any time, to
 * forget what was read, and is made anew where it is damaged. Several programs, and threads of one, may have it open.
 */
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { makeDirectoryNow } from '../../../node-support/make-directory.ts';
import { headerNumber, inTransaction, saysDamaged } from '../../../node-support/sqlite.ts';
import { LIMITS } from '../../limits.ts';

const FILE = 'small.db';
/** Names of all files that SQLite makes in the folder. */
export const SMALL_FILES = [FILE, `${FILE}-wal`, `${FILE}-shm`] as const;

const VERSION = 1;
/** Names and times apart from the bytes: looking for what was not used for long does not read these. */
const SCHEMA = `
CREATE TABLE objects (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, length INTEGER NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE TABLE contents (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
PRAGMA user_version = ${VERSION};`;
/** Settings by which forgotten bytes are overwritten. The disk is waited for when the log is put into the database, not for each object. */
const SETTINGS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON';

export interface SmallObject {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface SmallEntry {
  readonly id: number;
  readonly name: string;
  readonly length: number;
  /** Milliseconds since 1970. */
  readonly used: number;
}

interface Opened {
  readonly database: DatabaseSync;
  /** Number of the file, which another may take the place of. */
  readonly inode: number;
  readonly find: StatementSync;
}

/** Objects in one database. Every method throws the errors of SQLite, and the system's. */
export class SmallObjects {
  readonly #file: string;
  #opened: Opened | undefined;
  #lookAt = 0;

  /** @param directory - of all that was read. Nothing is opened yet */
  constructor(directory: string) {
    this.#file = join(directory, FILE);
  }

  /** @returns the bytes, alone in their memory */
  find(name: string): Uint8Array | undefined {
    return this.#with(({ database, find }) => {
      const row = find.get(name);
      if (row === undefined) return undefined;
      markUsed(database, Number(row.id), Number(row.used));
      return row.bytes as Uint8Array;
    });
  }

  /** Adds all of them or none. An object that is there already stays. */
  put(objects: readonly SmallObject[]): void {
    this.#with(({ database }) => {
      const name = database.prepare('INSERT OR IGNORE INTO objects (name, length, used) VALUES (?, ?, ?)');
      const content = database.prepare('INSERT OR REPLACE INTO contents VALUES (?, ?)');
      inTransaction(database, () => {
        for (const object of objects) {
          const { changes, lastInsertRowid } = name.run(object.name, object.bytes.length, Date.now());
          if (changes !== 0) content.run(lastInsertRowid, object.bytes);
        }
      });
    });
  }

  /** Lists some of them, in the order of their ids. @param after - the last that was seen */
  list(after: number, most: number): SmallEntry[] {
    const rows = this.#with(({ database }) =>
      database.prepare('SELECT * FROM objects WHERE id > ? ORDER BY id LIMIT ?').all(after, most),
    );
    return rows as unknown as SmallEntry[];
  }

  drop(ids: readonly number[]): void {
    this.#drop('id IN (SELECT value FROM json_each(?))', JSON.stringify(ids));
  }

  dropNamed(name: string): void {
    this.#drop('name = ?', name);
  }

  /** Drops those whose names begin so, and all traces of them. */
  forget(start: string): void {
    this.#drop('substr(name, 1, length(?1)) = ?1', start);
    this.trim();
    this.#with(({ database }) => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'));
  }

  /** Gives memory that is free back to the system, where that is much. */
  trim(): void {
    this.#with(({ database }) => {
      const numberOf = (name: string) => Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
      if (numberOf('freelist_count') > numberOf('page_count') * LIMITS.cacheFree)
        database.exec('PRAGMA incremental_vacuum');
    });
  }

  close(): void {
    this.#opened?.database.close();
    this.#opened = undefined;
  }

  #drop(condition: string, value: string): void {
    this.#with(({ database }) =>
      inTransaction(database, () => {
        database.prepare(`DELETE FROM contents WHERE id IN (SELECT id FROM objects WHERE ${condition})`).run(value);
        database.prepare(`DELETE FROM objects WHERE ${condition}`).run(value);
      }),
    );
  }

  #with<Result>(work: (opened: Opened) => Result): Result {
    try {
      return work(this.#open());
    } catch (error) {
      if (!saysDamaged(error)) throw error;
      this.#remove();
      return work(this.#open());
    }
  }

  #open(): Opened {
    const now = performance.now();
    if (this.#opened && now < this.#lookAt) return this.#opened;
    this.#lookAt = now + LIMITS.cacheLook;
    if (this.#opened && statSync(this.#file, { throwIfNoEntry: false })?.ino === this.#opened.inode)
      return this.#opened;
    this.close();
    if (!existsSync(this.#file)) {
      makeDirectoryNow(dirname(this.#file), 0o700);
      closeSync(openSync(this.#file, 'a', 0o600));
    }
    using opening = new DisposableStack();
    const database = opening.use(new DatabaseSync(this.#file, { timeout: LIMITS.cacheWait }));
    if (!prepare(database)) {
      opening.dispose();
      this.#remove();
      return this.#open();
    }
    const find = database.prepare('SELECT id, used, bytes FROM objects JOIN contents USING (id) WHERE name = ?');
    this.#opened = { database, find, inode: statSync(this.#file).ino };
    opening.move();
    return this.#opened;
  }

  #remove(): void {
    this.close();
    for (const name of SMALL_FILES) rmSync(join(dirname(this.#file), name), { force: true });
  }
}

/** @returns whether it is one of this version */
function prepare(database: DatabaseSync): boolean {
  database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  database.exec(SETTINGS);
  const version = () => headerNumber(database, 'user_version');
  if (version() === 0) inTransaction(database, () => version() === 0 && database.exec(SCHEMA));
  return version() === VERSION;
}

/** Notes the use of objects: those unused for long are dropped first. Written down once in a while only, and not where the disk is full. */
function markUsed(database: DatabaseSync, id: number, used: number): void {
  const now = Date.now();
  if (now - used < LIMITS.cacheUseGrain) return;
  try {
    database.prepare('UPDATE objects SET used = ? WHERE id = ?').run(now, id);
  } catch {
    // the object seems older than it is
  }
}
