/** Failures that all key servers count together, in the database: docs/keyserver.md, "Limits". */
import { hmacSha256 } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { primary } from '../processes/primary.ts';
import { countRows } from '../storage/database.ts';
import { readSecret } from '../storage/secrets.ts';
import type { KeyServerState } from '../storage/state.ts';

/** Seconds for which a key is counted, from its first failure on, where nothing else is said. */
const FAILURE_WINDOW = 15 * 60;
/** Rows of all counts together. Above it, the keys with the fewest failures start from zero. */
const MAXIMUM_ROWS = 200_000;
/** Writes of one process between two times that it removes what has ended. */
const PRUNE_EVERY = 256;

/** An attempt that may fail. */
export interface Attempt {
  /** Number of attempts that count now: the failures so far, and what this process has not finished yet, this one included. */
  readonly hits: number;
  /** Seconds until those that failed do not count any more. */
  readonly wait: number;
  readonly end: (failed: boolean) => void;
}

/**
 * The failures of one kind, by key. Attempts that run at the same time count as if they had failed, of these counts: those of another process, or
 * of another way to ask, learn of failures only. So each lets through what it has running at that moment, and never more than the limit. Workers
 * have one process count for them.
 */
export class FailureCounts {
  readonly #state: KeyServerState;
  readonly #kind: string;
  readonly #window: number;
  readonly #running = new Map<string, number>();
  readonly #turns = new Map<string, Promise<unknown>>();
  #writes = 0;
  #secret: Uint8Array | undefined;

  /** @param kind - the same in all processes and by all ways, and of no other counts @param window - seconds */
  constructor(state: KeyServerState, kind: string, window = FAILURE_WINDOW) {
    this.#state = state;
    this.#kind = kind;
    this.#window = window;
  }

  /** Begins an attempt; `end` must be called. @throws what the database throws: a client that cannot be counted is not let in */
  async begin(key: string): Promise<Attempt> {
    if (primary) {
      const { attempt, ...begun } = await primary.ask('begin', this.#kind, this.#window, key);
      return { ...begun, end: (failed) => primary?.tell('end', attempt, failed) };
    }
    return this.#inTurn(key, async () => {
      const running = this.#count(key, 1);
      try {
        const { failed: before, ends } = await this.#failures(key);
        return { hits: before + running, wait: ends - this.#state.now(), end: (failed) => this.#end(key, failed) };
      } catch (error) {
        this.#count(key, -1);
        throw error;
      }
    });
  }

  async #failures(key: string): Promise<{ readonly failed: number; readonly ends: number }> {
    const { database, now } = this.#state;
    const sql = 'SELECT failed, ends FROM failures WHERE counted = ? AND ends > ?';
    return (await database.first(sql, await this.#counted(key), now())) ?? { failed: 0, ends: now() + 1 };
  }

  /** Ends an attempt. While the database does not answer, nothing that is counted here goes on either. */
  #end(key: string, failed: boolean): void {
    const time = this.#state.now();
    if (!failed) this.#count(key, -1);
    else this.#inTurn(key, () => this.#write(key, time).finally(() => this.#count(key, -1))).catch(() => undefined);
  }

  /** Reads and writes one after the other, so that each attempt counts once, as one that runs or as one that failed. */
  #inTurn<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const done = Promise.resolve(this.#turns.get(key)).then(work);
    const turn = done.catch(() => undefined);
    this.#turns.set(key, turn);
    void turn.then(() => this.#turns.get(key) === turn && this.#turns.delete(key));
    return done;
  }

  /** @returns how many run then */
  #count(key: string, change: 1 | -1): number {
    const running = (this.#running.get(key) ?? 0) + change;
    if (running > 0) this.#running.set(key, running);
    else this.#running.delete(key);
    return running;
  }

  async #write(key: string, time: number): Promise<void> {
    const { database } = this.#state;
    const sql = `INSERT INTO failures (counted, failed, ends) VALUES (?, 1, ?) ON CONFLICT (counted) DO UPDATE SET
      failed = CASE WHEN failures.ends > ? THEN failures.failed + 1 ELSE 1 END,
      ends = CASE WHEN failures.ends > ? THEN failures.ends ELSE excluded.ends END`;
    await database.runUnflushed(sql, await this.#counted(key), time + this.#window, time, time);
    if (this.#writes++ % PRUNE_EVERY === 0) await pruneFailures(this.#state);
  }

  /** A MAC: addresses are few enough to be found from a digest. */
  async #counted(key: string): Promise<Uint8Array> {
    this.#secret ??= await readSecret(this.#state, 'failures');
    return hmacSha256(this.#secret, utf8(`${this.#kind}\n${key}`));
  }
}

/** Removes counts that have ended, and those with the fewest failures of what is too much. @param most - rows that may stay */
export async function pruneFailures({ database, now }: KeyServerState, most = MAXIMUM_ROWS): Promise<void> {
  await database.runUnflushed('DELETE FROM failures WHERE ends <= ?', now());
  const rows = await countRows(database, 'failures');
  if (rows <= most) return;
  const fewest = 'SELECT counted FROM failures ORDER BY failed, ends LIMIT ?';
  await database.runUnflushed(`DELETE FROM failures WHERE counted IN (${fewest})`, rows - most);
}
