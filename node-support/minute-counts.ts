import { LRUCache } from 'lru-cache';

/** Keys that one limit counts at the same time. With 6 limits, some 30 MB at the most. */
const MAXIMUM_COUNTED = 20_000;
/** Milliseconds for which a key is counted. */
const MINUTE = 60_000;

/** Requests of one key in its minute. */
export interface Hits {
  readonly hits: number;
  /** End of the minute, in milliseconds since 1970. */
  readonly end: number;
}

/**
 * The requests that one limit counts, in memory. Each key has a minute of its own; where there are too many keys, the one that was used longest ago
 * starts from zero.
 */
export class MinuteCounts {
  readonly #counts: LRUCache<string, Hits>;

  constructor(max = MAXIMUM_COUNTED) {
    // A `max` would take room before that is needed.
    this.#counts = new LRUCache({ maxSize: max, sizeCalculation: () => 1 });
  }

  get size(): number {
    return this.#counts.size;
  }

  count(key: string): Hits {
    const known = this.#counts.get(key);
    const now = Date.now();
    const isOver = known === undefined || known.end <= now;
    const counted = isOver ? { hits: 1, end: now + MINUTE } : { hits: known.hits + 1, end: known.end };
    this.#counts.set(key, counted);
    return counted;
  }
}
