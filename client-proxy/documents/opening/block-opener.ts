/**
 * Opens runs of blocks on threads, while the main one does HTTP: hash and cipher are most of what a large document takes. The threads start
 * with the first large document, and one that ends is replaced with the next run.
 */
import { availableParallelism } from 'node:os';
import { LIMITS } from '../../limits.ts';
import type { OpeningAnswer, OpeningJob } from './jobs.ts';
import { RunMemory } from './run-memory.ts';
import { type OpeningThread, openOn, startOpeningThread } from './thread.ts';

/** One core does HTTP. */
const THREADS = Math.max(1, Math.min(LIMITS.openingThreads, availableParallelism() - 1));

export class BlockOpener {
  readonly memory = new RunMemory();
  readonly #startThread: () => OpeningThread;
  #threads: OpeningThread[] = [];

  /** @param startThread - for tests */
  constructor(startThread = () => startOpeningThread()) {
    this.#startThread = startThread;
  }

  /** @throws ReaderError `internal`, where the thread ends before its answer */
  async open(job: OpeningJob): Promise<OpeningAnswer> {
    return openOn(this.#idlest(), job);
  }

  /** Ends the threads, once what they have under way is done. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map((thread) => thread.end()));
  }

  #idlest(): OpeningThread {
    this.#threads = this.#threads.filter(({ isDead }) => !isDead);
    const idlest = this.#threads.reduce<OpeningThread | undefined>(
      (one, other) => (one === undefined || other.load < one.load ? other : one),
      undefined,
    );
    if (idlest && (idlest.load === 0 || this.#threads.length === THREADS)) return idlest;
    const thread = this.#startThread();
    this.#threads.push(thread);
    return thread;
  }
}
