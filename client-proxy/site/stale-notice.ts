import { LIMITS } from '../limits.ts';

/** Remembers when readers were last told that a site's publication is no longer fresh: once in a while is enough. */
export class StaleNotice {
  #last = Number.NEGATIVE_INFINITY;

  /** Whether it is time to say so; if it is, it counts as said. */
  isDue(): boolean {
    if (performance.now() - this.#last < LIMITS.noticeInterval) return false;
    this.#last = performance.now();
    return true;
  }
}
