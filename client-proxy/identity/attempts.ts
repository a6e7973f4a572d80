/** Bounds how often passphrases are tried: each try takes memory and time. */
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';

export class Attempts {
  /** Milliseconds, by a monotonic clock. */
  readonly #now: () => number;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** Number of wrong ones since the last right one. */
  #wrong = 0;
  #pausedUntil = 0;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Makes a try after those before it. @throws ReaderError `too-many-requests`; as `work`: `passphrase-wrong` counts */
  async make(work: () => Promise<void>): Promise<void> {
    if (this.#waiting >= LIMITS.unlocksWaiting) throw tooOften();
    this.#waiting++;
    const done = this.#last.then(() => this.#try(work));
    this.#last = done.catch(() => undefined);
    try {
      await done;
    } finally {
      this.#waiting--;
    }
  }

  async #try(work: () => Promise<void>): Promise<void> {
    if (this.#now() < this.#pausedUntil) throw tooOften();
    try {
      await work();
      this.#wrong = 0;
    } catch (error) {
      if (error instanceof ReaderError && error.code === 'passphrase-wrong') this.#count();
      throw error;
    }
  }

  #count(): void {
    this.#wrong++;
    if (this.#wrong >= LIMITS.wrongUnlocks) this.#pausedUntil = this.#now() + LIMITS.unlockPause;
  }
}

function tooOften(): ReaderError {
  return new ReaderError('too-many-requests', 'too many passphrases were tried in a row; this one was not looked at');
}
