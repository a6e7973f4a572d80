/** Spreads jobs over threads: small ones in batches, so that messages between threads cost next to nothing. A single batch is done here. */
import { reasonOf } from '../../../core/errors.ts';
import { AnsweringThread } from '../../../node-support/answering-thread.ts';
import { lazily } from '../../../node-support/lazily.ts';
import { programOfThread } from '../../../node-support/program-files.ts';
import { PublishError } from '../../errors.ts';
import { type Answer, errorOf, type Job, type JobPool, type JobResults, type ThreadData } from './jobs.ts';
import { Performer } from './performer.ts';

/** Jobs in a batch, and bytes of source in it: small enough that all threads end at about the same time. */
const BATCH_JOBS = 64;
const BATCH_BYTES = 1024 * 1024;

/** A batch under way, and one that waits, so that a thread never does. */
const BATCHES_PER_THREAD = 2;

interface PendingJob {
  readonly job: Job;
  readonly bytes: number;
  readonly resolve: (value: JobResults[Job['kind']]) => void;
  readonly reject: (error: unknown) => void;
}

export class ThreadPool implements JobPool {
  readonly #data: ThreadData;
  readonly #maximum: number;
  readonly #startThread: () => Thread;
  readonly #threads: Thread[] = [];
  readonly #waiting: PendingJob[] = [];
  /** Works on the thread that asks. */
  readonly #here: () => Performer;
  #refusal: Error | undefined;
  #ending = false;

  /**
   * @param maximum - threads; they are started as there is work for them
   * @param start - starts a thread
   */
  constructor(data: ThreadData, maximum: number, start = () => startThread()) {
    this.#data = data;
    this.#maximum = maximum;
    this.#startThread = start;
    this.#here = lazily(() => new Performer(data));
  }

  /** @param bytes - about how much there is to read */
  perform<Kind extends Job['kind']>(job: Job & { readonly kind: Kind }, bytes: number): Promise<JobResults[Kind]> {
    if (this.#refusal) return Promise.reject(this.#refusal);
    const { promise, resolve, reject } = Promise.withResolvers<JobResults[Kind]>();
    const waiting = {
      job,
      bytes,
      resolve: (value: JobResults[Job['kind']]) => resolve(value as JobResults[Kind]),
      reject,
    };
    if (this.#waiting.push(waiting) === 1) setImmediate(() => this.#dispatch()); // calls in a row make full batches
    return promise;
  }

  /** Fails what waits, and whatever is asked for from now on. */
  refuse(error: Error): void {
    this.#refusal ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#refusal);
  }

  /** Ends the threads; whatever they have under way fails. */
  async end(): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }

  #dispatch(): void {
    if (this.#isOneBatch) void this.#run((jobs) => this.#here().perform(jobs), this.#waiting.splice(0));
    while (this.#waiting.length > 0) {
      const thread = this.#freeThread();
      if (thread === undefined) return;
      void this.#run((jobs) => thread.ask(jobs), this.#waiting.splice(0, this.#batchLength()));
    }
  }

  /** Tells whether one batch is all that is known of: a thread takes longer to start than to do it. */
  get #isOneBatch(): boolean {
    const { length } = this.#waiting;
    if (length === 0 || length > BATCH_JOBS || this.#threads.length > 0) return false;
    return this.#waiting.reduce((sum, { bytes }) => sum + bytes, 0) <= BATCH_BYTES;
  }

  #freeThread(): Thread | undefined {
    const [idlest] = this.#threads.toSorted((one, other) => one.load - other.load);
    if (idlest?.load === 0 || this.#threads.length === this.#maximum) {
      return idlest && idlest.load < BATCHES_PER_THREAD ? idlest : undefined;
    }
    const thread = this.#startThread();
    thread.whenDead((reason) => this.#onDeath(reason));
    thread.send(this.#data);
    this.#threads.push(thread);
    return thread;
  }

  #batchLength(): number {
    const share = Math.ceil(this.#waiting.length / (this.#maximum * BATCHES_PER_THREAD));
    const most = Math.min(share, BATCH_JOBS);
    let bytes = this.#waiting[0]?.bytes ?? 0;
    let length = 1;
    while (length < most) {
      bytes += this.#waiting[length]?.bytes ?? 0;
      if (bytes > BATCH_BYTES) break;
      length++;
    }
    return length;
  }

  async #run(ask: (jobs: readonly Job[]) => Promise<readonly Answer[]>, batch: readonly PendingJob[]): Promise<void> {
    const answers = await ask(batch.map(({ job }) => job)).catch(() => undefined); // a thread died, and said so
    for (const [index, waiting] of batch.entries()) this.#settle(waiting, answers?.[index]);
    this.#dispatch();
  }

  #settle({ resolve, reject }: PendingJob, answer: Answer | undefined): void {
    if (answer === undefined) reject(this.#refusal ?? died('it was ended'));
    else if ('failure' in answer) reject(errorOf(answer.failure));
    else resolve(answer.value);
  }

  #onDeath(reason: unknown): void {
    if (!this.#ending) this.refuse(died(reason));
  }
}

function died(reason: unknown): PublishError {
  const message = `a thread that writes documents ended before its work: ${reasonOf(reason)}`;
  return new PublishError('output-failed', message, { cause: reason });
}

const THREAD_PROGRAM = programOfThread('thread-main', import.meta.url);

/**
 * Mebibytes of young objects, all three spaces of them together. Four times the usual, for many small documents: with 6, of which 3 were used, they
 * took a twelfth more time; with 24, no less (docs/figures.md).
 */
const YOUNG_GENERATION = 12;

/** A writing thread, as the pool sees it: it is told the keys once they are known, and then asked for batches of jobs. */
export type Thread = AnsweringThread<readonly Job[], readonly Answer[]>;

/** @param program - for tests */
export function startThread(program = THREAD_PROGRAM): Thread {
  return new AnsweringThread(program, YOUNG_GENERATION);
}
