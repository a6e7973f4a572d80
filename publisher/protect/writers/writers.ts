import { availableParallelism } from 'node:os';
import type { DocumentWriters, Placement, WritersOptions, WriteTask, WrittenDocument } from './contract.ts';
import { stopped, type ThreadContext, threadContext } from './jobs.ts';
import { isForAllThreads, writeLargeDocument } from './large-document.ts';
import { ThreadPool } from './thread-pool.ts';

/** Calls that a caller should have under way for all threads to be busy. */
export const CALLS_IN_FLIGHT = 256;

/** Large documents that are written at a time: one after the other, so that few files are open, but for where one ends and the next begins. */
const LARGE_DOCUMENTS = 2;

/** Starts the writers; their threads start with the first document. */
export function startDocumentWriters(options: WritersOptions): DocumentWriters {
  return new Writers(options);
}

class Writers implements DocumentWriters {
  readonly #context: ThreadContext;
  readonly #pool: ThreadPool;
  readonly #signal: AbortSignal | undefined;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #lanes: Promise<unknown>[] = Array.from({ length: LARGE_DOCUMENTS }, () => Promise.resolve());
  #nextLane = 0;

  constructor({ out, site, publisher, sets, signal, threads = availableParallelism() }: WritersOptions) {
    const stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const data = { out, site, publisher, sets, stop };
    this.#context = threadContext(data);
    this.#pool = new ThreadPool(data, threads);
    this.#signal = signal;
    signal?.addEventListener('abort', this.#stop);
    if (signal?.aborted) this.#stop();
  }

  write(task: WriteTask): Promise<WrittenDocument> {
    return this.#keep(
      isForAllThreads(task)
        ? this.#inLane(() => writeLargeDocument(task, this.#context, this.#pool))
        : this.#pool.perform({ kind: 'write', task }, task.source.size),
    );
  }

  place(placement: Placement): Promise<number> {
    return this.#keep(this.#pool.perform({ kind: 'place', placement }, 0));
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    this.#pool.refuse(stopped());
    this.#signal?.removeEventListener('abort', this.#stop);
    await this.#pool.end();
  }

  readonly #stop = () => {
    Atomics.store(this.#context.stop, 0, 1);
    this.#pool.refuse(stopped());
  };

  #inLane<Result>(work: () => Promise<Result>): Promise<Result> {
    const lane = this.#nextLane;
    this.#nextLane = (lane + 1) % LARGE_DOCUMENTS;
    const result = (this.#lanes[lane] ?? Promise.resolve()).then(work);
    this.#lanes[lane] = result.catch(() => undefined);
    return result;
  }

  #keep<Result>(call: Promise<Result>): Promise<Result> {
    this.#underWay.add(call);
    const forget = () => this.#underWay.delete(call);
    call.then(forget, forget);
    return call;
  }
}
