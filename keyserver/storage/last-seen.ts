/** Times of the last use of devices: noted once an hour at most, gathered in memory, and stored each minute. */
import type { Database } from './database.ts';

/** Seconds between two notes about a device. */
const INTERVAL = 3600;
const AT_ONCE = 250;

export class LastSeen {
  readonly #database: Database;
  readonly #now: () => number;
  #pending = new Set<number>();

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /** @param last - when the database was told last @returns the time, where it is told anew */
  note(device: number, last: number | null): number | null {
    const now = this.#now();
    if (now - (last ?? 0) < INTERVAL) return last;
    this.#pending.add(device);
    return now;
  }

  /** Tells the database. Where that fails, it is told the next time. */
  async store(): Promise<void> {
    const devices = [...this.#pending];
    this.#pending = new Set();
    const sql = `UPDATE devices SET last_seen = ? WHERE id IN (${Array(AT_ONCE).fill('?').join(', ')})`;
    try {
      for (let start = 0; start < devices.length; start += AT_ONCE) {
        const some = devices.slice(start, start + AT_ONCE);
        await this.#database.runUnflushed(sql, this.#now(), ...some, ...Array(AT_ONCE - some.length).fill(-1));
      }
    } catch (error) {
      for (const device of devices) this.#pending.add(device);
      throw error;
    }
  }
}
