/** An object out of the cache: its bytes, from wherever they are wanted. They are verified like those of a content host. */
import { closeSync, constants, fstatSync, futimes, openSync, read, statSync } from 'node:fs';
import { LIMITS } from '../../limits.ts';

/** Flags against waiting: a pipe in its place would block until another process writes into it. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const NO_ERROR = { throwIfNoEntry: false } as const;

export class CachedObject {
  readonly length: number;
  /** Content, where it is small; then there is no file. */
  readonly bytes: Uint8Array | undefined;
  readonly passed: Set<number> | undefined;
  readonly #descriptor: number;
  #readings = 0;
  #closed = false;

  private constructor(descriptor: number, length: number, bytes: Uint8Array | undefined) {
    this.#descriptor = descriptor;
    this.length = length;
    this.bytes = bytes;
    this.passed = bytes && new Set();
    this.#closed = bytes !== undefined;
  }

  static of(bytes: Uint8Array): CachedObject {
    return new CachedObject(-1, bytes.length, bytes);
  }

  static find(file: string): CachedObject | undefined {
    if (statSync(file, NO_ERROR) === undefined) return undefined; // an error would take ten times as long
    let descriptor: number;
    try {
      descriptor = openSync(file, FLAGS);
    } catch {
      return undefined; // the file cannot be read
    }
    try {
      const state = fstatSync(descriptor);
      if (!state.isFile()) throw new Error('not a file');
      markUsed(descriptor, state.mtimeMs);
      return new CachedObject(descriptor, state.size, undefined);
    } catch {
      closeSync(descriptor);
      return undefined;
    }
  }

  /** @param end - left out: to its end */
  async *from(start: number, end = this.length): AsyncGenerator<Uint8Array, undefined> {
    if (this.bytes !== undefined) {
      yield this.bytes.subarray(start, end);
      return;
    }
    for (let position = start; position < end; ) {
      const piece = await this.#read(position, Math.min(LIMITS.cachePiece, end - position));
      if (piece.length === 0) return;
      yield piece;
      position += piece.length;
    }
  }

  /** Harmless where it is closed, or a read is under way. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#readings === 0) closeSync(this.#descriptor);
  }

  /** The file's descriptor, which stays open until {@link leave} was called as often. For objects that were not read at once. */
  use(): number {
    if (this.#closed) throw new Error('the cached object is closed');
    this.#readings++;
    return this.#descriptor;
  }

  leave(): void {
    if (--this.#readings === 0 && this.#closed) closeSync(this.#descriptor);
  }

  #read(position: number, length: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      read(this.use(), Buffer.allocUnsafeSlow(length), 0, length, position, (error, count, bytes) => {
        this.leave();
        if (error) reject(error);
        else resolve(bytes.subarray(0, count));
      });
    });
  }
}

/** Notes the use: objects unused for long are dropped first. Written down once in a while only. */
function markUsed(descriptor: number, modified: number): void {
  const now = Date.now();
  if (now - modified < LIMITS.cacheUseGrain) return;
  futimes(descriptor, now / 1000, now / 1000, () => undefined);
}
