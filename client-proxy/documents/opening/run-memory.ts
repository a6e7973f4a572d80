import { LIMITS } from '../../limits.ts';

/** Lengths of pieces: a run of several blocks fits into the first, one of a long block into the second. */
const LENGTHS = [LIMITS.run, LIMITS.blockOnThread];

/** Memory for runs of blocks: so much and no more, and used again, because fresh memory costs as much as a copy and waits to be collected. */
export class RunMemory {
  readonly #free = new Map(LENGTHS.map((length): [number, ArrayBuffer[]] => [length, []]));
  #lent = 0;
  #mayKeep: () => boolean = () => true;

  has(count: number, length: number): boolean {
    return this.#lent + count * pieceFor(length) <= LIMITS.runMemory;
  }

  /** A piece that so many bytes fit into, with whatever is in it. {@link has} has to say that there is one. */
  acquire(length: number): ArrayBuffer {
    const piece = pieceFor(length);
    this.#lent += piece;
    return this.#free.get(piece)?.pop() ?? new ArrayBuffer(piece);
  }

  release(piece: ArrayBuffer): void {
    this.#lent -= piece.byteLength;
    if (this.#mayKeep()) this.#free.get(piece.byteLength)?.push(piece);
    else wipe(piece);
  }

  /** @param mayKeep - asked whenever a piece is given back: nothing of what was read stays in one where it may not */
  keepWhile(mayKeep: () => boolean): void {
    this.#mayKeep = mayKeep;
  }

  /** Drops free buffers: they hold content that was read. */
  wipe(): void {
    for (const pieces of this.#free.values()) pieces.splice(0).forEach(wipe);
  }

  /** Gives up memory that is lost or may still be in use: it is left to be collected. @param length - that it was taken for */
  forget(length: number): void {
    this.#lent -= pieceFor(length);
  }
}

function wipe(piece: ArrayBuffer): void {
  new Uint8Array(piece).fill(0);
}

function pieceFor(length: number): number {
  return LENGTHS.find((piece) => length <= piece) ?? length;
}
