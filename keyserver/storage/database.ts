/** The one contract by which the key server uses its database, whether SQLite or PostgreSQL. */

/** A value that a statement can be given. */
export type Value = null | number | string | Uint8Array;

/**
 * A database of SQL that both SQLite and PostgreSQL understand; `?` stands for a value. Integers are read as numbers, and one above 2^53
 * is refused; bytes are read as `Uint8Array`.
 *
 * What one transaction must check and change together belongs into {@link Database.transaction}, or into one statement: other processes
 * work on the same database.
 */
export interface Database {
  /** The first row, or `undefined`. `Row` is what the SQL says. */
  first<Row>(sql: string, ...values: Value[]): Promise<Row | undefined>;
  all<Row>(sql: string, ...values: Value[]): Promise<Row[]>;
  /** Changes rows. @returns how many */
  run(sql: string, ...values: Value[]): Promise<number>;
  /**
   * The same without waiting for the disk, in no transaction: all processes see it at once, and a power cut may undo it. For what is of use
   * for minutes only, and for what nobody keeps in memory (memory.ts).
   */
  runUnflushed(sql: string, ...values: Value[]): Promise<number>;
  /**
   * Does `work` as one transaction, whole or not at all, and as if no other ran beside it. Every statement that `work` waits for belongs to
   * it; a transaction inside joins it. Transactions of one process take turns, so `work` waits for nothing slow. Where another process was
   * in the way it is done again from its beginning: it changes nothing but the database.
   */
  transaction<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Lets what has begun end. */
  close(): Promise<void>;
}

/** SQL that gives a setting a value. */
export const SET_SETTING =
  'INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';

/** Counts rows. @param what - SQL behind `FROM` */
export async function countRows(database: Database, what: string, ...values: Value[]): Promise<number> {
  return (await database.first<{ n: number }>(`SELECT count(*) AS n FROM ${what}`, ...values))?.n ?? 0;
}

/** A place of a database, before it is opened. */
export interface Store {
  /** Name in messages: a path, or an address without secrets. */
  readonly name: string;
  /** `claimed`: a first start has begun here, and may have been cut short. @throws KeyServerError `store-unusable`, `database-away` */
  occupancy(): Promise<'absent' | 'claimed' | 'filled'>;
  /** Takes the place of a new database, before its master key is made. @throws KeyServerError `store-unusable`, `database-away` */
  claim(): Promise<void>;
  /**
   * Checks an existing database. Nothing is written.
   *
   * @param check - further checks, unless there is nothing in it; whatever it throws ends the start
   * @throws KeyServerError `store-unusable`, `database-away`
   */
  inspect(check: (database: Database) => Promise<void>): Promise<void>;
  /**
   * Opens the database for work. A new one gets its schema, one of an older version what has changed since.
   *
   * @param fill - puts in what a new database holds from the beginning, in the same transaction
   * @throws KeyServerError `store-unusable`, `database-away`
   */
  open(fill: (database: Database) => Promise<void>): Promise<Database>;
  /** Turns the database's own errors into ours; others pass. */
  explain(error: unknown): unknown;
}
