import { LRUCache } from 'lru-cache';
import { type Hits, primary } from '../processes/primary.ts';

/** Keys that one limit counts at the same time. With 6 limits, some 30 MB at the most. */
const MAXIMUM_COUNTED = 20_000;
/** Milliseconds for which a key is counted. */
const MINUTE = 60_000;

/** Limits that were made in this process. All workers make the same ones, in the same order. */
let made = 0;

/**
 * The requests that one limit counts, in memory; those of all workers in the memory of the primary process. Each key has a minute of its own; where there
 * are too many keys, the one that was used longest ago starts from zero.
 */
export class CountStore {
  readonly #number = ++made;
  readonly #counts: LRUCache<string, Hits>;

  constructor(max = MAXIMUM_COUNTED) {
    // Without `max`, no room is taken before it is needed.
    this.#counts = new LRUCache({ maxSize: max, sizeCalculation: () => 1 });
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Counts a request, of all processes. */
  increment(key: string): Hits | Promise<Hits> {
    return primary ? primary.ask('hit', this.#number, key) : this.count(key);
  }

  /** Counts a request here. */
  count(key: string): Hits {
    const known = this.#counts.get(key);
    const now = Date.now();
    const isOver = known === undefined || known.end <= now;
    const counted = isOver ? { hits: 1, end: now + MINUTE } : { hits: known.hits + 1, end: known.end };
    this.#counts.set(key, counted);
    return counted;
  }
}
