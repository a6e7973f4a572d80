import { Worker } from 'node:worker_threads';
import type { Answer, Job, ThreadData } from './jobs.ts';

/** In place of keys or jobs: the thread may end. */
export const NOTHING_MORE = 'nothing more';

/** What runs on a thread. */
const THREAD_FILE = new URL('./thread-main.ts', import.meta.url);

/**
 * Mebibytes of young objects that a thread may have, all three spaces of them together: so one looks for garbage after each mebibyte. With 1 it
 * looked three times as often, which took a tenth of all processor time. What a cipher gives out lies outside of them, and is given back
 * only then: with Node.js's own 16 mebibytes, each thread holds 60 MiB more, and is no faster.
 */
const YOUNG_GENERATION = 3;

type Settle = (answers: readonly Answer[] | undefined) => void;

/** A writing thread, as the pool sees it. */
export class Thread {
  readonly #worker: Worker;
  /** One for each batch under way, in their order. */
  readonly #settle: Settle[] = [];

  readonly #ended: Promise<unknown>;

  #onDeath: (reason: unknown) => void = () => undefined;

  /** Starts the thread, which loads its program, and waits for {@link begin}. */
  constructor(file = THREAD_FILE) {
    this.#worker = new Worker(file, {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION },
    });
    this.#worker.on('message', (answers: readonly Answer[]) => this.#settle.shift()?.(answers));
    const die = (reason: unknown) => {
      this.#onDeath(reason);
      for (const settle of this.#settle.splice(0)) settle(undefined);
    };
    this.#worker.on('error', die).on('messageerror', die);
    this.#worker.on('exit', (code) => die(new Error(`it ended with ${code}`)));
    this.#ended = new Promise((resolve) => this.#worker.once('exit', resolve));
  }

  /** @param onDeath - called when the thread ends, before what it had under way is answered */
  begin(data: ThreadData, onDeath: (reason: unknown) => void): this {
    this.#onDeath = onDeath;
    this.#worker.postMessage(data);
    return this;
  }

  /** Batches under way. */
  get load(): number {
    return this.#settle.length;
  }

  /** Answers in the order of the jobs; `undefined` if the thread died. */
  perform(jobs: readonly Job[]): Promise<readonly Answer[] | undefined> {
    const { promise, resolve } = Promise.withResolvers<readonly Answer[] | undefined>();
    this.#settle.push(resolve);
    this.#worker.postMessage(jobs);
    return promise;
  }

  /**
   * Resolves when the thread has ended, by itself once it has done what it was given. Not by `terminate`, which can crash the whole process
   * while a thread is still loading its program (Node.js 26.10: "Check failed: !is_null()").
   */
  async end(): Promise<void> {
    this.#worker.postMessage(NOTHING_MORE);
    await this.#ended;
  }
}
