/**
 * Times that things may take on the line of this machine. A host that gives next to nothing must not hold up a reader; a satellite telephone
 * gives 300 bytes a second. So time is bounded by what comes, and is longer where connections take long to be made.
 */
import type { Limits } from '../limits.ts';

export class Line {
  readonly #limits: Limits;
  #slowUntil = Number.NEGATIVE_INFINITY;
  #wasSlow = false;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** A TCP connection was made. @param milliseconds - that it took */
  connected(milliseconds: number): void {
    const isSlow = milliseconds >= this.#limits.slowConnect;
    // A single slow connection may have lost its first packet.
    if (isSlow && this.#wasSlow) this.#slowUntil = performance.now() + this.#limits.slowLineFor;
    this.#wasSlow = isSlow;
  }

  get isSlow(): boolean {
    return performance.now() < this.#slowUntil;
  }

  /** A time that counts as it is on a line that is not slow. */
  lengthen(milliseconds: number): number {
    return milliseconds * (this.isSlow ? this.#limits.slowTimes : 1);
  }

  /**
   * Ends what takes too long.
   *
   * @param milliseconds - on a line that is not slow, for what nothing comes of
   * @param most - by which bytes lengthen it
   */
  wait(milliseconds: number, end: () => void, most = Number.POSITIVE_INFINITY): Patience {
    const { slowestByte } = this.#limits;
    const start = performance.now();
    let extra = 0;
    const left = () => start + this.lengthen(milliseconds) + extra - performance.now();
    const look = () => {
      if (left() <= 0) end();
      else timer = setTimeout(look, left());
    };
    let timer = setTimeout(look, milliseconds);
    return {
      came: (bytes) => {
        extra = Math.min(most, extra + bytes * slowestByte);
      },
      stop: () => clearTimeout(timer),
    };
  }
}

interface Patience {
  came(bytes: number): void;
  stop(): void;
}
