import { availableParallelism } from 'node:os';
import { printable } from '../../../node-support/printable.ts';
import { PublishError, stopped } from '../../errors.ts';
import { problemOfFile } from '../../site/names.ts';
import {
  type Placement,
  type ThreadContext,
  type ThreadData,
  threadContext,
  type WriteTask,
  type WrittenDocument,
} from './jobs.ts';
import { isForAllThreads, writeLargeDocument } from './large-document.ts';
import { ThreadPool } from './thread-pool.ts';

/** Calls that a caller should have under way for all threads to be busy. */
export const CALLS_IN_FLIGHT = 256;

/** Number of large documents written at a time: one after the other, so that few files are open, but for where one ends and the next begins. */
const LARGE_DOCUMENTS = 2;

/** Writes documents on all cores. Calls may overlap; a caller with many documents awaits some before it makes more. */
export class DocumentWriters {
  readonly #context: ThreadContext;
  readonly #pool: ThreadPool;
  readonly #signal: AbortSignal | undefined;
  readonly #lanes: Promise<unknown>[] = Array.from({ length: LARGE_DOCUMENTS }, () => Promise.resolve());
  #nextLane = 0;

  /**
   * Threads start with the first document.
   *
   * @param signal - calls under way and to come fail with `stopped`; what has a final name by then is whole
   */
  constructor(about: Omit<ThreadData, 'stop'>, signal?: AbortSignal) {
    const data = { ...about, stop: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) };
    this.#context = threadContext(data);
    this.#pool = new ThreadPool(data, availableParallelism());
    this.#signal = signal;
    signal?.addEventListener('abort', this.#stop);
    if (signal?.aborted) this.#stop();
  }

  /**
   * Writes what has immutable names: the object, and a public document's content. Directories are made as they are needed.
   *
   * @throws PublishError `source-refused`, `output-failed`, `stopped`
   */
  async write(task: WriteTask): Promise<WrittenDocument> {
    checkPath(task.path);
    if (!isForAllThreads(task)) return this.#pool.perform({ kind: 'write', task }, task.source.size);
    const lane = this.#nextLane++ % LARGE_DOCUMENTS;
    const written = (this.#lanes[lane] ?? Promise.resolve()).then(() =>
      writeLargeDocument(task, this.#context, this.#pool),
    );
    this.#lanes[lane] = written.catch(() => undefined);
    return written;
  }

  /**
   * Replaces what lies at the document's own name.
   *
   * @returns bytes of the file
   * @throws PublishError `source-refused`, `output-failed`, `stopped`
   */
  async place(placement: Placement): Promise<number> {
    checkPath(placement.path);
    return this.#pool.perform({ kind: 'place', placement }, 0);
  }

  /** Ends the threads. Whatever was not begun, and is called afterwards, is refused. */
  async close(): Promise<void> {
    await Promise.all(this.#lanes); // files that they have begun are removed or kept before this
    this.#pool.refuse(stopped('nothing was changed'));
    this.#signal?.removeEventListener('abort', this.#stop);
    await this.#pool.end();
  }

  readonly #stop = () => {
    Atomics.store(this.#context.stop, 0, 1);
    this.#pool.refuse(stopped('nothing was changed'));
  };
}

/** Refuses a path that cannot be a file, or with which two documents could have one. */
function checkPath(path: string): void {
  const problem = problemOfFile(path);
  if (problem !== undefined) throw new PublishError('source-refused', `${printable(path)}: ${problem}`);
}
