import type { ClientRateLimitInfo, Store } from 'express-rate-limit';

/** Keys that one limit counts at the same time. With 6 limits, some 30 MB at the most. */
const MAXIMUM_COUNTED = 20_000;

/** The requests that one limit counts, in memory. Each key has a window of its own; where there are too many keys, the one that was used longest ago starts from zero. */
export class CountStore implements Store {
  readonly localKeys = true;
  readonly #window: number;
  readonly #max: number;
  /** The one that was used last comes last. */
  readonly #counts = new Map<string, { totalHits: number; readonly resetTime: Date }>();

  /** @param window - milliseconds for which a key is counted @param max - keys that are counted at the same time */
  constructor(window: number, max = MAXIMUM_COUNTED) {
    this.#window = window;
    this.#max = max;
  }

  /** How many keys are counted. */
  get size(): number {
    return this.#counts.size;
  }

  increment(key: string): ClientRateLimitInfo {
    const known = this.#counts.get(key);
    const now = Date.now();
    const isGood = known !== undefined && known.resetTime.getTime() > now;
    const count = isGood ? known : { totalHits: 0, resetTime: new Date(now + this.#window) };
    count.totalHits++;
    this.#counts.delete(key);
    this.#counts.set(key, count);
    if (this.#counts.size > this.#max) this.#counts.delete(this.#counts.keys().next().value ?? key);
    return count;
  }

  /** Nothing is taken back: all requests count. */
  decrement(): void {}

  resetKey(key: string): void {
    this.#counts.delete(key);
  }
}
