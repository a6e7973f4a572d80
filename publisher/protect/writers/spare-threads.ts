/** In a file of its own, which next to nothing has to be loaded for: whoever starts the threads early does so to load the rest meanwhile. */
import { availableParallelism } from 'node:os';
import { startThread, type Thread } from './thread.ts';

/** Threads that load their program while the main one loads its own, and while nobody knows the keys yet: both keep only one core busy. */
export class SpareThreads implements AsyncDisposable {
  readonly #threads = Array.from({ length: availableParallelism() }, () => startThread());

  /** A thread that is used from now on; `undefined` once there are no more. */
  take(): Thread | undefined {
    return this.#threads.pop();
  }

  /** Ends those that nobody took. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }
}
