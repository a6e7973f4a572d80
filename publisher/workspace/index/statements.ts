/** A connection to `publisher.db`: its statements, prepared once, and its transactions. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import { inTransaction } from '../../../node-support/sqlite.ts';

/** Milliseconds of work that may be lost, and done again, if the program is killed. */
const GATHERED_FOR = 1000;

export class Statements implements Disposable {
  readonly #database: DatabaseSync;
  #gatheringSince: number | undefined;
  readonly #prepared = new Map<string, Prepared>();

  /** @param database - with the tables of schema.ts */
  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  transaction<Result>(work: () => Result): Result {
    return inTransaction(this.#database, work);
  }

  /**
   * Does `work` in one transaction with what is gathered within the next second. Each waits for the disk three times, and for whatever was
   * written before it: with one for every few hundred documents that took as long as everything else. {@link settle} ends it.
   */
  gather(work: () => void): void {
    if (this.#gatheringSince === undefined) {
      this.#database.exec('BEGIN IMMEDIATE');
      this.#gatheringSince = performance.now();
    }
    try {
      work();
    } catch (error) {
      this.#gatheringSince = undefined; // half of a document must not stay: what was gathered before it is done again
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
    if (performance.now() - this.#gatheringSince > GATHERED_FOR) this.settle();
  }

  settle(): void {
    if (this.#gatheringSince === undefined) return;
    this.#gatheringSince = undefined;
    if (this.#database.isTransaction) this.#database.exec('COMMIT');
  }

  /** Works like {@link transaction}, for work that awaits: the lists of tasks. */
  async listing(work: () => Promise<void>): Promise<void> {
    this.#database.exec('BEGIN');
    try {
      await work();
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  protected run(sql: string, ...values: SQLInputValue[]): void {
    this.#statement(sql).statement.run(...values);
  }

  /** Returns the first row, whose columns are called as the members of `Result`. What is null there is `undefined`. */
  protected get<Result>(sql: string, ...values: SQLInputValue[]): Result | undefined {
    const { statement, columns } = this.#statement(sql);
    const row = statement.get(...values);
    return row && fromRow<Result>(columns, row);
  }

  protected all<Result>(sql: string, ...values: SQLInputValue[]): Result[] {
    const { statement, columns } = this.#statement(sql);
    return statement.all(...values).map((row) => fromRow<Result>(columns, row));
  }

  protected *each<Result>(sql: string, ...values: SQLInputValue[]): Generator<Result> {
    const { statement, columns } = this.#statement(sql);
    for (const row of statement.iterate(...values)) yield fromRow<Result>(columns, row);
  }

  /**
   * Yields the rows of a table in the order of their ids, some at a time: rows may be changed meanwhile.
   *
   * @param sql - takes the last id first, and has `ORDER BY id LIMIT …`
   */
  protected *pages<Result extends { readonly id: number }>(sql: string, ...values: SQLInputValue[]): Generator<Result> {
    for (let rows = this.all<Result>(sql, 0, ...values); rows.length > 0; ) {
      yield* rows;
      rows = this.all<Result>(sql, rows.at(-1)?.id ?? 0, ...values);
    }
  }

  #statement(sql: string): Prepared {
    let prepared = this.#prepared.get(sql);
    if (prepared === undefined) {
      const statement = this.#database.prepare(sql);
      statement.setReturnArrays(true);
      prepared = { statement, columns: statement.columns().map(({ name }) => name) };
      this.#prepared.set(sql, prepared);
    }
    return prepared;
  }
}

/** A statement whose rows come as arrays, which takes half the time of objects; what is asked for each document is asked a million times. */
interface Prepared {
  readonly statement: StatementSync;
  readonly columns: readonly string[];
}

function fromRow<Result>(columns: readonly string[], row: unknown): Result {
  const values = row as readonly SQLOutputValue[];
  const members: Record<string, SQLOutputValue | undefined> = {};
  for (let index = 0; index < columns.length; index++) members[columns[index] ?? ''] = values[index] ?? undefined;
  return members as Result;
}

/** Returns the members of a row that are called as the columns, in their order. */
export function valuesOf(
  columns: readonly string[],
  row: Readonly<Record<string, SQLInputValue | undefined>>,
): SQLInputValue[] {
  return columns.map((name) => row[name] ?? null);
}

/** A set of small numbers, one bit each: what ten million documents take up is 1.25 MB. */
export class IdSet {
  #bits: Uint8Array;

  /** @param largest - the largest number that is expected */
  constructor(largest: number) {
    this.#bits = new Uint8Array((largest >> 3) + 1);
  }

  add(id: number): void {
    if (id >> 3 >= this.#bits.length) this.#grow(id);
    this.#bits[id >> 3] = (this.#bits[id >> 3] ?? 0) | (1 << (id & 7));
  }

  has(id: number): boolean {
    return ((this.#bits[id >> 3] ?? 0) & (1 << (id & 7))) !== 0;
  }

  #grow(id: number): void {
    const larger = new Uint8Array(Math.max((id >> 3) + 1, 2 * this.#bits.length));
    larger.set(this.#bits);
    this.#bits = larger;
  }
}
