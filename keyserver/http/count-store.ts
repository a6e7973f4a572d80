import type { ClientRateLimitInfo, Store } from 'express-rate-limit';
import { LRUCache } from 'lru-cache';
import { primary } from '../processes/primary.ts';

/** Keys that one limit counts at the same time. With 6 limits, some 30 MB at the most. */
const MAXIMUM_COUNTED = 20_000;

/** Limits that were made in this process. All workers make the same ones, in the same order. */
let made = 0;

/**
 * The requests that one limit counts, in memory; those of all workers in the memory of the primary process. Each key has a window of its own; where there
 * are too many keys, the one that was used longest ago starts from zero.
 */
export class CountStore implements Store {
  readonly localKeys = true;
  readonly #number = ++made;
  readonly #window: number;
  readonly #counts: LRUCache<string, { totalHits: number; readonly resetTime: Date }>;

  /** @param window - milliseconds for which a key is counted @param max - keys that are counted at the same time */
  constructor(window: number, max = MAXIMUM_COUNTED) {
    this.#window = window;
    // Without `max`, no room is taken before it is needed.
    this.#counts = new LRUCache({ maxSize: max, sizeCalculation: () => 1 });
  }

  /** How many keys are counted. */
  get size(): number {
    return this.#counts.size;
  }

  increment(key: string): ClientRateLimitInfo | Promise<ClientRateLimitInfo> {
    return primary ? primary.ask('hit', this.#number, this.#window, key) : this.count(key);
  }

  /** Counts a request here. */
  count(key: string): { readonly totalHits: number; readonly resetTime: Date } {
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

  /** Nothing is taken back: all requests count. */
  decrement(): void {}

  resetKey(key: string): void {
    this.#counts.delete(key);
  }
}
