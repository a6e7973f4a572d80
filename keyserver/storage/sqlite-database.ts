/** The key server's database as an SQLite file. Nothing is written before every check has passed. */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { createFile } from '../../node-support/files/write-file.ts';
import { databaseReason, headerNumber, isSqliteError, saysBusy, saysDamaged } from '../../node-support/sqlite.ts';
import { KeyServerError, writeNamed } from '../errors.ts';
import type { Database, Store, Value } from './database.ts';
import { newProcessNumber, noteChanges, topicOf } from './memory.ts';
import { checkVersion, type Migratable, migrate } from './migrations.ts';
import { APPLICATION_ID, type SqlTypes } from './schema.ts';
import { Transactions } from './transactions.ts';

/** Milliseconds to wait for another process (`wispr invite` beside the running server) to end its transaction, and between two attempts. */
const BUSY_TIMEOUT = 10_000;
const BUSY_INTERVAL = 5;
/** Statements that are kept prepared. The key server has fewer. */
const MAXIMUM_STATEMENTS = 200;

/** FULL: what was promised, a device bound or a code used up, survives a power cut. */
const SETTINGS =
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF';

/** NORMAL: in a log that is written ahead, no commit waits for the disk, and none leaves the file damaged (https://www.sqlite.org/pragma.html). */
const UNFLUSHED_SETTINGS =
  'PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF';

const TYPES: SqlTypes = {
  integer: 'INTEGER',
  identity: 'INTEGER PRIMARY KEY',
  blob: 'BLOB',
  strict: ' STRICT',
  keyed: ' STRICT, WITHOUT ROWID',
};

/** The SQLite file at `path`. */
export function sqliteStore(path: string): Store {
  const explain = (error: unknown) => explained(error, path);
  return {
    name: path,
    occupancy: async () => (!existsSync(path) ? 'absent' : statSync(path).size > 0 ? 'filled' : 'claimed'),
    claim: async () => writeNamed(path, () => createFile(path, '', 0o600)), // SQLite gives its other files the same rights
    inspect: (check) => inspect(path, check),
    open: async (fill) => {
      const writing = connect(path);
      try {
        writing.exec(SETTINGS);
        writing.exec('PRAGMA busy_timeout = 0'); // a wait in here would hold up the whole process: see whenFree
        await migrate(new SqliteDatabase(writing, writing), fill);
        const unflushed = connect(path);
        unflushed.exec(UNFLUSHED_SETTINGS);
        return new SqliteDatabase(writing, connect(path), unflushed);
      } catch (error) {
        writing.close();
        throw explain(error);
      }
    },
    explain,
  };
}

async function inspect(path: string, check: (database: Database) => Promise<void>): Promise<void> {
  const connection = connect(path, true);
  try {
    if (checkFile(connection, path)) await check(new SqliteDatabase(connection, connection));
  } catch (error) {
    throw explained(error, path);
  } finally {
    connection.close();
  }
}

/** @returns whether anything was ever stored: else a first start was cut short */
function checkFile(connection: DatabaseSync, path: string): boolean {
  const problem = connection.prepare('PRAGMA quick_check').get()?.quick_check;
  if (problem !== 'ok') throw damaged(path, problem === undefined ? undefined : String(problem));
  if (connection.prepare('SELECT 1 FROM sqlite_schema').get() === undefined) return false;
  if (headerNumber(connection, 'application_id') !== APPLICATION_ID) {
    throw new KeyServerError('store-unusable', `${path} is a database of another program`);
  }
  checkVersion(headerNumber(connection, 'user_version'), path);
  return true;
}

function connect(path: string, readOnly = false): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: BUSY_TIMEOUT, readOnly, enableForeignKeyConstraints: true });
  } catch (error) {
    throw explained(error, path);
  }
}

/** Uses three connections: what is read outside of a transaction neither joins nor sees an open one, and some writes do not wait for the disk. */
class SqliteDatabase implements Migratable {
  readonly types = TYPES;
  readonly #writing: Connection;
  readonly #reading: Connection;
  readonly #unflushed: Connection;
  readonly #transactions = new Transactions<Connection>();
  readonly #process = newProcessNumber();

  constructor(writing: DatabaseSync, reading: DatabaseSync, unflushed = writing) {
    this.#writing = new Connection(writing);
    this.#unflushed = unflushed === writing ? this.#writing : new Connection(unflushed);
    this.#reading = writing === reading ? this.#writing : new Connection(reading);
    if (writing !== reading) reading.exec('PRAGMA query_only = ON; PRAGMA trusted_schema = OFF');
  }

  first<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return this.#do(sql, (statement) => statement.get(...values) as Row | undefined);
  }

  all<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return this.#do(sql, (statement) => statement.all(...values) as Row[]);
  }

  run(sql: string, ...values: Value[]): Promise<number> {
    return this.#do(sql, (statement) => Number(statement.run(...values).changes));
  }

  async runUnflushed(sql: string, ...values: Value[]): Promise<number> {
    if (this.#transactions.connection()) throw new Error('a transaction waits for the disk');
    return this.#transactions.takeTurn(() => whenFree(() => changes(this.#unflushed, sql, values)));
  }

  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#transactions.connection() ? work() : this.#transactions.takeTurn(() => this.#begin(work));
  }

  async close(): Promise<void> {
    await this.#transactions.idle();
    for (const { database } of [this.#writing, this.#reading, this.#unflushed]) if (database.isOpen) database.close();
  }

  async version(): Promise<number> {
    return headerNumber(this.#writing.database, 'user_version');
  }

  async setVersion(version: number): Promise<void> {
    await this.execute(`PRAGMA user_version = ${version}; PRAGMA application_id = ${APPLICATION_ID}`);
  }

  async execute(script: string): Promise<void> {
    this.#writing.database.exec(script);
  }

  async #do<Result>(sql: string, work: (statement: StatementSync) => Result): Promise<Result> {
    const inside = this.#transactions.connection();
    const isQuestion = sql.startsWith('SELECT ') || sql.startsWith('WITH ');
    if (isQuestion) return work((inside ?? this.#reading).prepared(sql));
    const topic = topicOf(sql);
    if (topic && !inside) return this.transaction(() => this.#do(sql, work));
    if (!inside) return this.#transactions.takeTurn(() => whenFree(() => work(this.#writing.prepared(sql))));
    const result = work(inside.prepared(sql));
    if (topic && result !== 0) this.#transactions.noteChange(topic); // strangers' requests may have changed no row
    return result;
  }

  async #begin<Result>(work: () => Promise<Result>): Promise<Result> {
    const { database } = this.#writing;
    await whenFree(() => database.exec('BEGIN IMMEDIATE'));
    try {
      const result = await this.#transactions.within(this.#writing, work, (topics) =>
        noteChanges(this, this.#process, topics),
      );
      database.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite ends the transaction itself on some errors, a full disk for one.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  }
}

class Connection {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.database = database;
  }

  prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.database.prepare(sql);
    if (this.#statements.size >= MAXIMUM_STATEMENTS) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }
}

function changes(connection: Connection, sql: string, values: readonly Value[]): number {
  return Number(connection.prepared(sql).run(...values).changes);
}

/** Tries again while another process writes. Nothing else waits meanwhile. */
async function whenFree<Result>(work: () => Result): Promise<Result> {
  const end = performance.now() + BUSY_TIMEOUT;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!saysBusy(error) || performance.now() > end) throw error;
      await wait(BUSY_INTERVAL);
    }
  }
}

function explained(error: unknown, path: string): unknown {
  if (!isSqliteError(error)) return error;
  if (saysDamaged(error)) return damaged(path, error.message, error);
  const [code, what] = saysBusy(error)
    ? (['store-busy', 'is held by another program'] as const)
    : (['store-unusable', `cannot be used: ${databaseReason(error, path)}`] as const);
  return new KeyServerError(code, `the database ${path} ${what}`, { cause: error, fields: { file: path } });
}

function damaged(path: string, what = 'no reason given', cause?: Error): KeyServerError {
  return new KeyServerError('store-unusable', `the database ${path} is damaged: ${what}`, { cause });
}
