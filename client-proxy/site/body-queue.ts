/** The body of an answer as an iterable with back-pressure, without a stream between parser and consumer. */
import type { Dispatcher } from 'undici';
import { releaseIfAlone, releaseWithHead } from '../../core/primitives/release-memory.ts';
import { LIMITS } from '../limits.ts';

type Controller = Dispatcher.DispatchController;
type Result = IteratorResult<Uint8Array, undefined>;

const DONE: Result = { done: true, value: undefined };

export class BodyQueue implements AsyncIterableIterator<Uint8Array, undefined, undefined> {
  readonly #controller: Controller;
  readonly #chunks: Uint8Array[] = [];
  #queued = 0;
  #ended = false;
  #discarding = false;
  #error: Error | undefined;
  #waiting: PromiseWithResolvers<Result> | undefined;
  /** The first chunk, before which nothing but the head of the answer lies in its memory. */
  #first: Uint8Array | undefined;

  constructor(controller: Controller) {
    this.#controller = controller;
  }

  /** Tells whether all of it arrived, or it failed. */
  get settled(): boolean {
    return this.#ended || this.#error !== undefined;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @throws the error that the body failed with, after the chunks before it */
  async next(): Promise<Result> {
    const value = this.#chunks.shift();
    if (value === undefined) {
      if (this.#error) throw this.#error;
      if (this.#ended) return DONE;
      this.#waiting = Promise.withResolvers();
      return this.#waiting.promise;
    }
    this.#queued -= value.length;
    if (this.#controller.paused && !this.#isFull()) this.#controller.resume();
    return { done: false, value };
  }

  /** The rest is not wanted: a short one is read and dropped, so that the connection can serve again; otherwise the connection is closed. */
  async return(): Promise<Result> {
    if (!this.settled) {
      this.#discarding = true;
      this.#chunks.length = 0;
      this.#queued = 0;
      this.#controller.resume();
    }
    return DONE;
  }

  /** Closes the connection unless all has arrived. */
  destroy(reason: Error): void {
    if (!this.settled) this.#controller.abort(reason);
  }

  /** Frees the memory of a chunk that is not used any more. */
  spend(chunk: Uint8Array): void {
    if (chunk === this.#first) releaseWithHead(chunk);
    else releaseIfAlone(chunk);
  }

  push(chunk: Uint8Array): void {
    this.#first ??= chunk;
    const waiting = this.#releaseReader();
    if (waiting) return void waiting.resolve({ done: false, value: chunk });
    this.#queued += chunk.length;
    if (this.#discarding) {
      if (this.#queued > LIMITS.drained) this.#controller.abort(new Error('not wanted'));
      return;
    }
    this.#chunks.push(chunk);
    if (this.#isFull()) this.#controller.pause();
  }

  end(): void {
    this.#ended = true;
    this.#releaseReader()?.resolve(DONE);
  }

  fail(error: Error): void {
    this.#error = error;
    this.#releaseReader()?.reject(error);
  }

  #isFull(): boolean {
    return this.#queued > LIMITS.bodyQueue || this.#chunks.length > LIMITS.bodyPieces;
  }

  #releaseReader(): PromiseWithResolvers<Result> | undefined {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}
