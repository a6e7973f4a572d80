import { type Transferable, Worker } from 'node:worker_threads';

/**
 * Mebibytes of young objects that a thread may have, all three spaces of them together, if nothing else is said: so one looks for garbage after
 * each mebibyte. With 1 it looked three times as often, which took a tenth of all processor time. What a cipher gives out lies outside of them, and is
 * given back only then: with Node.js's own 16 mebibytes, each thread holds 60 MiB more.
 */
const YOUNG_GENERATION = 3;

/**
 * A thread that answers one job after the other, in their order. Its program gets each job as a message, gives one answer to each, and closes
 * its port when it gets `undefined` in place of a job. A program waits for it only while it has jobs.
 */
export class AnsweringThread<Job, Answer> {
  readonly #worker: Worker;
  /** Promises of the jobs under way, in their order. */
  readonly #waiting: PromiseWithResolvers<Answer>[] = [];
  readonly #ended: Promise<void>;
  #onDeath: (reason: unknown) => void = () => undefined;
  #death: Error | undefined;
  #isEnding = false;

  /** Starts the thread, which loads its program. @param youngGeneration - mebibytes */
  constructor(program: URL, youngGeneration = YOUNG_GENERATION) {
    this.#worker = new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: youngGeneration } });
    this.#worker.on('message', (answer: Answer) => this.#answer(answer));
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

  /** Tells whether nothing will be answered any more. */
  get isDead(): boolean {
    return this.#death !== undefined;
  }

  get load(): number {
    return this.#waiting.length;
  }

  /** @param onDeath - called when the thread ends before it was told to, and before what it had under way is rejected */
  whenDead(onDeath: (reason: unknown) => void): void {
    this.#onDeath = onDeath;
  }

  /** Sends a message without an answer, before all jobs. */
  send(message: unknown): void {
    this.#worker.postMessage(message);
  }

  /**
   * @param memory - changes hands
   * @throws Error with the reason as its cause, where the thread ends before its answer, or has ended before
   */
  async ask(job: Job, memory: readonly Transferable[] = []): Promise<Answer> {
    if (this.#death) throw this.#death;
    const waiting = Promise.withResolvers<Answer>();
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

  #answer(answer: Answer): void {
    this.#waiting.shift()?.resolve(answer);
    if (this.#waiting.length === 0 && !this.#isEnding) this.#worker.unref();
  }

  #die(reason: unknown): void {
    if (this.#death) return;
    const error = new Error('the thread ended before its answer', { cause: reason });
    this.#death = error;
    this.#worker.postMessage(undefined); // ends a thread that still runs, because its answer could not be understood
    if (!this.#isEnding || this.load > 0) this.#onDeath(reason);
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
