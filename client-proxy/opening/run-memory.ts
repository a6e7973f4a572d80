import { LIMITS } from '../limits.ts';

/** Memory for runs of blocks: so much and no more, and used again, because fresh memory costs as much as a copy and waits to be collected. */
export class RunMemory {
  readonly #free: ArrayBuffer[] = [];
  #lent = 0;

  /** Pieces that are not lent. */
  get available(): number {
    return LIMITS.runMemories - this.#lent;
  }

  /** A piece of `LIMITS.runMemory` bytes, with whatever is in it. There has to be one {@link available}. */
  take(): ArrayBuffer {
    this.#lent++;
    return this.#free.pop() ?? new ArrayBuffer(LIMITS.runMemory);
  }

  /** @param piece - the piece, where nobody looks into it any more; otherwise another takes its place, and it is left to be collected */
  giveBack(piece?: ArrayBuffer): void {
    this.#lent--;
    if (piece !== undefined) this.#free.push(piece);
  }
}
