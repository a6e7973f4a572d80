/** Counts answers by hour: kept for 90 days, for the operators' pages. */
import type { Database } from './database.ts';

const HOUR = 3600;
const KEPT_HOURS = 90 * 24;

/** Kinds, of which some have a reason, or the outcome, behind them. */
export type Counted =
  | 'key-given'
  | `key-refused ${string}`
  | `stripe-unused ${string}`
  | 'sign-in'
  | 'sign-in-refused'
  | 'binding'
  | `mail ${'dropped' | 'failed' | 'refused' | 'sent'}`
  | 'paywall-failed'
  | 'host-failed';

const TOTALS: readonly string[] = [
  ...['key-given', 'key-refused', 'sign-in', 'sign-in-refused', 'binding'],
  ...['mail sent', 'mail failed', 'mail refused', 'mail dropped'],
  ...['stripe-unused', 'paywall-failed', 'host-failed'],
];

export interface HourlyCount {
  /** Beginning of the hour, in seconds since 1970. */
  readonly time: number;
  readonly what: string;
  readonly n: number;
}

/** Counts in memory, until they are stored. What was counted since then is lost where a process is killed. */
export class HourlyCounts {
  readonly #database: Database;
  readonly #now: () => number;
  readonly #totals = new Map(TOTALS.map((what): [string, number] => [what, 0]));
  #pending = new Map<string, { hour: number; what: Counted; n: number }>();

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  add(what: Counted, n = 1): void {
    if (n <= 0) return;
    const total = this.#totals.has(what) ? what : (what.split(' ')[0] ?? what);
    this.#totals.set(total, n + (this.#totals.get(total) ?? 0));
    this.#add(Math.floor(this.#now() / HOUR), what, n);
  }

  /** Gives all that this process has counted since it started. Reasons are left out, so that all kinds are there from the beginning. */
  totals(): ReadonlyMap<string, number> {
    return this.#totals;
  }

  #add(hour: number, what: Counted, n: number): void {
    const key = `${hour} ${what}`;
    this.#pending.set(key, { hour, what, n: n + (this.#pending.get(key)?.n ?? 0) });
  }

  /** Adds what was counted to the table, and forgets what is old there. Where that fails, it is added the next time. */
  async store(): Promise<void> {
    const counted = [...this.#pending.values()];
    this.#pending = new Map();
    if (counted.length === 0) return;
    const oldest = Math.floor(this.#now() / HOUR) - KEPT_HOURS;
    try {
      await this.#database.transaction(async () => {
        const sql =
          'INSERT INTO counts (hour, what, n) VALUES (?, ?, ?) ON CONFLICT (hour, what) DO UPDATE SET n = counts.n + excluded.n';
        for (const { hour, what, n } of counted) await this.#database.run(sql, hour, what, n);
        await this.#database.run('DELETE FROM counts WHERE hour < ?', oldest);
      });
    } catch (error) {
      for (const { hour, what, n } of counted) this.#add(hour, what, n);
      throw error;
    }
  }
}

/** Counts of all processes, of what is stored, oldest first. @param since - seconds since 1970 */
export async function countsSince(database: Database, since: number): Promise<HourlyCount[]> {
  const sql = 'SELECT hour, what, n FROM counts WHERE hour >= ? ORDER BY hour, what';
  const rows = await database.all<{ hour: number; what: string; n: number }>(sql, Math.floor(since / HOUR));
  return rows.map(({ hour, what, n }) => ({ time: hour * HOUR, what, n }));
}
