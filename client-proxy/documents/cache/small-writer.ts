/** Keeps small objects: each is collected in memory, and a thread writes all that came within some milliseconds at once. */
import { AnsweringThread } from '../../../node-support/answering-thread.ts';
import { programOfThread } from '../../../node-support/program-files.ts';
import { LIMITS } from '../../limits.ts';
import type { KeepingAnswer, KeepingJob } from './keeping-thread.ts';
import type { SmallObject } from './small-objects.ts';

const PROGRAM = programOfThread('keeping-thread', import.meta.url);

interface Batch {
  readonly objects: SmallObject[];
  readonly done: PromiseWithResolvers<void>;
}

export class SmallKeeper {
  readonly #directory: string;
  #thread: AnsweringThread<KeepingJob, KeepingAnswer> | undefined;
  #batch: Batch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #unwritten = 0;

  /** @param directory - of all that was read */
  constructor(directory: string) {
    this.#directory = directory;
  }

  hasRoomFor(length: number): boolean {
    return this.#unwritten + length <= LIMITS.cacheUnwritten;
  }

  /** @param object - whose memory is given away @throws what kept it from being written */
  keep(object: SmallObject): Promise<void> {
    this.#batch ??= { objects: [], done: Promise.withResolvers() };
    this.#batch.objects.push(object);
    this.#unwritten += object.bytes.length;
    if (this.#writing === undefined) this.#timer ??= setTimeout(() => this.#write(), LIMITS.cacheBatch);
    return this.#batch.done.promise;
  }

  async close(): Promise<void> {
    while (this.#writing ?? this.#batch) await (this.#writing ?? this.#write());
    await this.#thread?.end();
    this.#thread = undefined;
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#batch as Batch;
    this.#batch = undefined;
    this.#writing = this.#ask(batch.objects)
      .then(batch.done.resolve, batch.done.reject)
      .finally(() => {
        this.#writing = undefined;
        if (this.#batch) this.#timer = setTimeout(() => this.#write(), LIMITS.cacheBatch);
      });
    return this.#writing;
  }

  async #ask(objects: readonly SmallObject[]): Promise<void> {
    if (this.#thread?.isDead) this.#thread = undefined;
    this.#thread ??= new AnsweringThread(PROGRAM);
    const memory = objects.map(({ bytes }) => bytes.buffer as ArrayBuffer);
    const length = memory.reduce((sum, { byteLength }) => sum + byteLength, 0);
    try {
      const failure = await this.#thread.ask({ directory: this.#directory, objects }, memory);
      if (failure) throw Object.assign(new Error(failure.message), failure);
    } finally {
      this.#unwritten -= length;
    }
  }
}

export class SmallWriter {
  readonly #bytes: Uint8Array;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #ended: (whole: boolean, error?: unknown) => void;
  #taken = 0;
  #isOver = false;
  #written: Promise<boolean> | undefined;

  /** @param ended - called once: whether it is written, and what went wrong, if something did */
  constructor(
    length: number,
    write: (bytes: Uint8Array) => Promise<void>,
    ended: (whole: boolean, error?: unknown) => void,
  ) {
    this.#bytes = new Uint8Array(length);
    this.#write = write;
    this.#ended = ended;
  }

  keep(piece: Uint8Array): undefined {
    if (this.#isOver) return;
    this.#bytes.set(piece, this.#taken);
    this.#taken += piece.length;
    if (this.#taken < this.#bytes.length) return;
    this.#isOver = true;
    this.#written = this.#write(this.#bytes).then(
      () => this.#end(true),
      (error) => this.#end(false, error),
    );
  }

  /** Has no effect on one that is whole. */
  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end(false);
  }

  /** Resolves when nothing is under way any more: whether the whole object is there. */
  async settled(): Promise<boolean> {
    return (await this.#written) ?? false;
  }

  #end(whole: boolean, error?: unknown): boolean {
    this.#ended(whole, error);
    return whole;
  }
}
