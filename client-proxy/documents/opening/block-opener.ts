/** Opens runs of blocks on threads, which start with the first large document; one that ends is replaced. */
import { availableParallelism } from 'node:os';
import { AnsweringThread } from '../../../node-support/answering-thread.ts';
import { programOfThread } from '../../../node-support/program-files.ts';
import { ReaderError } from '../../errors.ts';
import { LIMITS } from '../../limits.ts';
import type { OpeningAnswer, OpeningJob } from './opening-thread.ts';
import { RunMemory } from './run-memory.ts';

/** HTTP takes one core. */
const THREADS = Math.max(1, Math.min(LIMITS.openingThreads, availableParallelism() - 1));

const PROGRAM = programOfThread('opening-thread', import.meta.url);

export class BlockOpener {
  readonly memory = new RunMemory();
  #threads: AnsweringThread<OpeningJob, OpeningAnswer>[] = [];

  /** @throws ReaderError `internal`, where the thread ends before its answer: then nothing is known of the run */
  async open(job: OpeningJob): Promise<OpeningAnswer> {
    const memory = [job.sealed, job.target].filter((one) => one instanceof ArrayBuffer);
    try {
      return await this.#idlest().ask(job, memory);
    } catch (cause) {
      throw new ReaderError('internal', 'a thread that opens documents ended before its work', { cause });
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map((thread) => thread.end()));
  }

  #idlest(): AnsweringThread<OpeningJob, OpeningAnswer> {
    this.#threads = this.#threads.filter(({ isDead }) => !isDead);
    const [idlest] = this.#threads.toSorted((one, other) => one.load - other.load);
    if (idlest && (idlest.load === 0 || this.#threads.length === THREADS)) return idlest;
    const thread = new AnsweringThread<OpeningJob, OpeningAnswer>(PROGRAM);
    this.#threads.push(thread);
    return thread;
  }
}
