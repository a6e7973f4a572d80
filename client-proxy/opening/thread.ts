import { getAsset, isSea } from 'node:sea';
import { Worker } from 'node:worker_threads';
import { ReaderError } from '../errors.ts';
import type { OpeningAnswer, OpeningJob } from './jobs.ts';

/** What runs on it. The single file has no files beside it, but this one inside, as scripts/build-single.mjs puts it there. */
const PROGRAM = isSea()
  ? new URL(`data:text/javascript,${encodeURIComponent(getAsset('opening-thread.mjs', 'utf8'))}`)
  : new URL('./thread-main.ts', import.meta.url);

/**
 * Mebibytes of young objects, all three spaces of them together. What a cipher gives out lies outside of them, and is given back only when
 * they are looked through.
 */
const YOUNG_GENERATION = 3;

/** A thread that opens blocks. */
export class OpeningThread {
  readonly #worker: Worker;
  /** One for each job under way, in their order. */
  readonly #waiting: PromiseWithResolvers<OpeningAnswer>[] = [];
  readonly #ended: Promise<void>;
  #isDead = false;
  #isEnding = false;

  /** @param program - for tests */
  constructor(program = PROGRAM) {
    this.#worker = new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION } });
    this.#worker.on('message', (answer: OpeningAnswer) => this.#answer(answer));
    const die = (reason: unknown) => this.#die(reason);
    this.#worker.on('error', die).on('messageerror', die);
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#die(new Error(`it ended with ${code}`));
        resolve();
      });
    });
    this.#worker.unref();
  }

  /** Whether nothing will be answered any more. */
  get isDead(): boolean {
    return this.#isDead;
  }

  /** Jobs under way. */
  get load(): number {
    return this.#waiting.length;
  }

  /** @throws ReaderError `internal`, where the thread ends before its answer: then nothing is known of the run */
  open(job: OpeningJob): Promise<OpeningAnswer> {
    const waiting = Promise.withResolvers<OpeningAnswer>();
    const memory = [job.sealed, job.target].filter((one) => one instanceof ArrayBuffer);
    this.#worker.postMessage(job, memory);
    if (this.#waiting.push(waiting) === 1) this.#worker.ref(); // a program may have nothing else to wait for
    return waiting.promise;
  }

  /**
   * Resolves when the thread has ended, by itself once it has done what it was given. Not by `terminate`, which can crash the whole process
   * while a thread is still loading its program (Node.js 26.10: "Check failed: !is_null()").
   */
  end(): Promise<void> {
    this.#isEnding = true;
    this.#worker.ref();
    this.#worker.postMessage(undefined);
    return this.#ended;
  }

  #answer(answer: OpeningAnswer): void {
    this.#waiting.shift()?.resolve(answer);
    if (this.#waiting.length === 0 && !this.#isEnding) this.#worker.unref();
  }

  #die(reason: unknown): void {
    this.#isDead = true;
    this.#worker.postMessage(undefined); // where it could not be understood, it still runs
    const error = new ReaderError('internal', 'a thread that opens documents ended before its work', { cause: reason });
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
