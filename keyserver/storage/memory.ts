/**
 * Keeps in memory what was read from the database, until it changes there: by this process, or by any other. Each transaction that changes a table
 * named here writes a number at its end; users of what is kept ask for the numbers first.
 */
import { randomInt } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { countRows, type Database } from './database.ts';

/** `keys`: set and period keys. `readers`: devices, and all that says what may be read with them. */
export type Topic = 'keys' | 'readers';

const TOPICS: Readonly<Record<string, Topic>> = {
  sets: 'keys',
  periods: 'keys',
  devices: 'readers',
  subscribers: 'readers',
  grants: 'readers',
  plans: 'readers',
  subscriptions: 'readers',
};
/** Numbers come at random: a database that was put back from a copy, or has lost its last commits, does not repeat them. 100,000 of them are a safe sum. */
const GREATEST = 2 ** 36;
/** Rows that remain: one of each process and topic. */
const MOST_ROWS = 64;
/** Rows of one kind that are kept in memory; some 20 MB of devices. */
const MOST_KEPT = 10_000;

export type Kept<Row extends object> = LRUCache<string, Row>;

/** Rows that were kept since the last change about a topic, by kind. */
export interface Remembered {
  /** @param kind - always the same object for one kind of rows */
  readonly rows: <Row extends object>(topic: Topic, kind: { readonly of?: Row }) => Kept<Row>;
}

/** Finds what a statement changes that is kept in memory. */
export function topicOf(sql: string): Topic | undefined {
  const [, table = ''] = /^(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/.exec(sql) ?? [];
  return TOPICS[table];
}

/** Writes the numbers of a process that has changed something. Rows of their own keep the transactions of processes out of each other's way. */
export async function noteChanges(database: Database, process: number, topics: Iterable<Topic>): Promise<void> {
  const sql =
    'INSERT INTO changes (process, topic, number) VALUES (?, ?, ?) ON CONFLICT (process, topic) DO UPDATE SET number = excluded.number';
  for (const topic of topics) await database.run(sql, process, topic, randomInt(GREATEST));
}

/** Names a process in the table of changes. */
export function newProcessNumber(): number {
  return randomInt(GREATEST);
}

/** Removes the numbers of processes that have ended, once they are many, and writes new ones: all that is kept is read again. */
export async function removeOldChanges(database: Database): Promise<void> {
  if ((await countRows(database, 'changes')) <= MOST_ROWS) return;
  await database.transaction(async () => {
    await database.run('DELETE FROM changes');
    await noteChanges(database, newProcessNumber(), new Set(Object.values(TOPICS)));
  });
}

export class Memory {
  readonly #database: Database;
  readonly #numbers = new Map<Topic, number>();
  readonly #kept = new Map<Topic, Map<object, unknown>>();
  #underWay: Promise<Remembered> | undefined;
  #next: Promise<Remembered> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Forgets what has changed until now. What is kept afterwards in the result is forgotten at the next change after this call, even one
   * that comes before it is kept.
   */
  current(): Promise<Remembered> {
    // Callers of one turn of the event loop, or while a question is under way, share the next one: an answer to a question that was put
    // before may be older than what they have to see.
    this.#next ??= Promise.allSettled([this.#underWay, turn()]).then(() => {
      this.#next = undefined;
      this.#underWay = this.#question();
      return this.#underWay;
    });
    return this.#next;
  }

  async #question(): Promise<Remembered> {
    const sql = 'SELECT topic, CAST(sum(number) AS BIGINT) AS number FROM changes GROUP BY topic';
    const rows = await this.#database.all<{ topic: Topic; number: number }>(sql);
    for (const topic of new Set(Object.values(TOPICS))) {
      const number = rows.find((row) => row.topic === topic)?.number ?? 0;
      if (this.#numbers.get(topic) === number) continue;
      this.#numbers.set(topic, number);
      this.#kept.set(topic, new Map());
    }
    const kept = new Map(this.#kept);
    return {
      rows: <Row extends object>(topic: Topic, kind: { readonly of?: Row }) => {
        const rows = kept.get(topic) ?? new Map<object, unknown>();
        const known = rows.get(kind) as Kept<Row> | undefined;
        const found = known ?? new LRUCache<string, Row>({ maxSize: MOST_KEPT, sizeCalculation: () => 1 });
        if (!known) rows.set(kind, found);
        return found;
      },
    };
  }
}
