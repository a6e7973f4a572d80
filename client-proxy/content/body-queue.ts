/**
 * The body of an answer, as an iterable with back-pressure. Lean, because every document flows through one: chunks go from undici's
 * parser to whoever reads, without a stream between them.
 */
import type { Dispatcher } from 'undici';
import { concatAll } from '../../core/encoding/bytes.ts';
import { giveBackIfAlone, giveBackWithHead } from '../../core/encoding/give-back.ts';
import { LIMITS } from '../limits.ts';

type Controller = Dispatcher.DispatchController;
type Result = IteratorResult<Uint8Array, undefined>;

interface Reader {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

const DONE: Result = { done: true, value: undefined };

export class BodyQueue implements AsyncIterableIterator<Uint8Array, undefined, undefined> {
  readonly #controller: Controller;
  #chunks: Uint8Array[] = [];
  /** Where in `#chunks` the next one is. */
  #at = 0;
  #queued = 0;
  #ended = false;
  #discarding = false;
  #error: Error | undefined;
  #waiting: Reader | undefined;
  /** The first chunk, before which nothing but the head of the answer lies in its memory. */
  #first: Uint8Array | undefined;

  constructor(controller: Controller) {
    this.#controller = controller;
  }

  /** Whether all of it arrived, or it failed. */
  get settled(): boolean {
    return this.#ended || this.#error !== undefined;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const chunk = this.#take();
    if (chunk !== undefined) return Promise.resolve(this.#release(chunk));
    if (this.#error) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  /** Nothing more is wanted: a short rest is taken and dropped, so that the connection can serve again; else it is closed. */
  async return(): Promise<Result> {
    if (!this.settled) {
      this.#discarding = true;
      this.#empty();
      this.#queued = 0;
      this.#controller.resume();
    }
    return DONE;
  }

  /** Closes the connection unless all has arrived. */
  destroy(reason: Error): void {
    if (!this.settled) this.#controller.abort(reason);
  }

  /** Nobody looks into a chunk any more. */
  spend(chunk: Uint8Array): void {
    if (chunk === this.#first) giveBackWithHead(chunk);
    else giveBackIfAlone(chunk);
  }

  push(chunk: Uint8Array): void {
    this.#first ??= chunk;
    this.#queued += chunk.length;
    if (this.#discarding) {
      if (this.#queued > LIMITS.drained) this.#controller.abort(new Error('not wanted'));
    } else if (this.#waiting) {
      this.#queued -= chunk.length;
      this.#settle(({ resolve }) => resolve({ done: false, value: chunk }));
    } else {
      this.#chunks.push(chunk);
      if (this.#isFull()) this.#controller.pause();
    }
  }

  end(): void {
    this.#ended = true;
    this.#settle(({ resolve }) => resolve(DONE));
  }

  fail(error: Error): void {
    this.#error = error;
    this.#settle(({ reject }) => reject(error));
  }

  /** The next chunk; where all that is queued is crumbs, they come as one. */
  #take(): Uint8Array | undefined {
    const pieces = this.#pieces;
    if (pieces > 1 && this.#queued < pieces * LIMITS.smallPiece) {
      const joined = concatAll(this.#chunks.slice(this.#at));
      this.#empty();
      return joined;
    }
    const chunk = this.#chunks[this.#at];
    // What was read is let go of, at a cost that does not grow with the queue.
    if (chunk !== undefined && 2 * ++this.#at > this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#at);
      this.#at = 0;
    }
    return chunk;
  }

  #release(chunk: Uint8Array): Result {
    this.#queued -= chunk.length;
    if (this.#controller.paused && !this.#isFull()) this.#controller.resume();
    return { done: false, value: chunk };
  }

  get #pieces(): number {
    return this.#chunks.length - this.#at;
  }

  #isFull(): boolean {
    return this.#queued > LIMITS.bodyQueue || this.#pieces > LIMITS.bodyPieces;
  }

  #empty(): void {
    this.#chunks = [];
    this.#at = 0;
  }

  #settle(how: (waiting: Reader) => void): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) how(waiting);
  }
}
