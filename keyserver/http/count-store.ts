import type { ClientRateLimitInfo, Store } from 'express-rate-limit';
import { LRUCache } from 'lru-cache';

/** Keys that one limit counts at the same time. With 6 limits, some 30 MB at the most. */
export const MAXIMUM_COUNTED = 20_000;

/** The requests that one limit counts, in memory. Each key has a window of its own; where there are too many keys, the one that was used longest ago starts from zero. */
export class CountStore implements Store {
  readonly localKeys = true;
  readonly #window: number;
  readonly #counts = new LRUCache<string, { totalHits: number; readonly resetTime: Date }>({ max: MAXIMUM_COUNTED });

  /** @param window - milliseconds for which a key is counted */
  constructor(window: number) {
    this.#window = window;
  }

  /** How many keys are counted. */
  get size(): number {
    return this.#counts.size;
  }

  increment(key: string): ClientRateLimitInfo {
    const known = this.#counts.get(key);
    const now = Date.now();
    if (known && known.resetTime.getTime() > now) {
      known.totalHits++;
      return known;
    }
    const count = { totalHits: 1, resetTime: new Date(now + this.#window) };
    this.#counts.set(key, count);
    return count;
  }

  /** What has nothing to count leaves its place to others. */
  decrement(key: string): void {
    const count = this.#counts.get(key);
    if (count && --count.totalHits <= 0) this.#counts.delete(key);
  }

  resetKey(key: string): void {
    this.#counts.delete(key);
  }
}
