import { type Hits, MinuteCounts } from '../../node-support/minute-counts.ts';
import { primary } from '../processes/primary.ts';

/** Limits that were made in this process. All workers make the same ones, in the same order. */
let made = 0;

/** The requests that one limit counts; those of all workers in the memory of the primary process. */
export class CountStore extends MinuteCounts {
  readonly #number = ++made;

  /** Counts a request, of all processes. */
  increment(key: string): Hits | Promise<Hits> {
    return primary ? primary.ask('hit', this.#number, key) : this.count(key);
  }
}
