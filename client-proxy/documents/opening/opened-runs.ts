/**
 * The blocks of one payload, opened in runs on threads: some ahead while the client takes what came before, so that the threads and the main
 * one work at the same time. Where all memory for that is lent, blocks are opened one by one, here: a client that is slow keeps no other
 * waiting. What comes out is verified and in order; what fails is told to the supply, which may go on with another source.
 */
import type { DocumentReader } from '../../../core/object/document-reader.ts';
import { ObjectError } from '../../../core/object/errors.ts';
import { LIMITS } from '../../limits.ts';
import type { BlockOpener } from './block-opener.ts';
import type { InFile, OpeningAnswer } from './opening-thread.ts';

/** Supplies sealed blocks to the decryption threads. */
export interface RunSupply {
  readonly reader: Pick<DocumentReader, 'rangeOfBlock' | 'runOf'>;
  /** The file that they are in, from block `first` on. `undefined`: they come as a stream. */
  useFile(first: number): FileInUse | undefined;
  /** The next block of the stream: step 11. @throws ObjectError, or what the stream throws */
  readBlock(index: number, target: Uint8Array): Promise<void>;
  /** Steps 11, 12 and 14 for the next block, here. */
  openBlock(index: number): Promise<Uint8Array>;
  readonly isKeeping: boolean;
  /** Told of blocks of the stream that have passed, where it is keeping. @param spent - to call when they are not used any more */
  keepRun(blocks: Uint8Array, spent: () => void): Promise<void> | undefined;
  /** The block at `offset` could not be had, or is not the one that was signed. @throws `error`, where there is no other source */
  recover(offset: number, error: unknown): Promise<void>;
}

/** A place in a file that stays open until it is left. */
export interface FileInUse extends InFile {
  leave(): void;
}

interface UnderWay {
  readonly first: number;
  readonly end: number;
  readonly answer: Promise<OpeningAnswer>;
  /** Reason why the block at `end` could not be had, where that is known already. */
  readonly broken: unknown;
  isDone: boolean;
}

/** Blocks `first` to `end`, which is not in it. */
export class OpenedRuns implements AsyncIterable<Uint8Array> {
  readonly #supply: RunSupply;
  readonly #opener: BlockOpener;
  readonly #end: number;
  #next: number;
  #ahead: UnderWay[] = [];
  #collecting: Promise<void> | undefined;
  /** Memory of the piece that was handed out last, while its receiver uses it. */
  #handedOut: ArrayBufferLike | undefined;
  #isOver = false;

  constructor(supply: RunSupply, opener: BlockOpener, first: number, end: number) {
    this.#supply = supply;
    this.#opener = opener;
    this.#next = first;
    this.#end = end;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const oldest = await this.#oldest();
        if (oldest) yield* this.#handOut(oldest);
        else if (this.#next < this.#end) yield await this.#supply.openBlock(this.#next++);
        else return;
      }
    } finally {
      this.#isOver = true;
      this.#drop();
    }
  }

  /** Takes back memory whose receiver has finished. @returns whether it is that of the last piece */
  spend(memory: ArrayBufferLike): boolean {
    if (memory !== this.#handedOut) return false;
    this.#handedOut = undefined;
    return true;
  }

  /** The oldest run, once it is opened, with others begun behind it; `undefined` where none could be begun. */
  async #oldest(): Promise<UnderWay | undefined> {
    for (;;) {
      this.#begin();
      const [oldest] = this.#ahead;
      if (oldest?.isDone) return this.#ahead.shift();
      if (oldest && this.#collecting) await Promise.race([oldest.answer, this.#collecting]);
      else if (oldest) await oldest.answer;
      else if (this.#collecting) await this.#collecting;
      else return undefined;
    }
  }

  async *#handOut({ first, end, answer, broken }: UnderWay): AsyncGenerator<Uint8Array> {
    const { passed, length, failure, target, sealed } = await answer;
    const { memory } = this.#opener;
    try {
      if (sealed) await this.#keep(first, passed, sealed);
      this.#handedOut = target;
      if (length > 0) yield new Uint8Array(target, 0, length);
    } finally {
      if (this.#handedOut === undefined || length === 0) memory.release(target);
      else memory.forget(target.byteLength);
      this.#handedOut = undefined;
    }
    if (failure) await this.#recover(first + passed, new ObjectError(failure.code, failure.message));
    else if (broken !== undefined) await this.#recover(end, broken);
  }

  async #keep(first: number, passed: number, sealed: ArrayBuffer): Promise<void> {
    const spent = () => this.#opener.memory.release(sealed);
    if (passed === 0) return spent();
    await this.#supply.keepRun(new Uint8Array(sealed, 0, this.#lengthOf(first, first + passed)), spent);
  }

  async #recover(index: number, error: unknown): Promise<void> {
    await this.#collecting; // collecting reads from the source that has failed
    this.#drop();
    this.#next = index;
    await this.#supply.recover(this.#supply.reader.rangeOfBlock(index).start, error);
  }

  /** Begins as many runs as may be ahead, as far as there is memory. */
  #begin(): void {
    while (this.#collecting === undefined && this.#next < this.#end && this.#ahead.length < LIMITS.runsAhead) {
      if (this.#ahead.at(-1)?.broken !== undefined) return;
      const { memory } = this.#opener;
      const end = this.#wholeRun();
      const length = this.#lengthOf(this.#next, end);
      if (!memory.has(2, length)) return;
      const file = this.#supply.useFile(this.#next);
      if (file) this.#openRun(end, file, memory.acquire(length));
      else if (!this.#supply.isKeeping) this.#collecting = this.#collect(end, memory.acquire(length));
      else this.#collecting = this.#collect(end, memory.acquire(length), memory.acquire(length));
    }
  }

  /** Finds the end of a run that begins with the next block, and is as long as it may be. */
  #wholeRun(): number {
    let end = this.#next + 1;
    while (end < this.#end && this.#lengthOf(this.#next, end + 1) <= LIMITS.run) end++;
    return end;
  }

  /** Reads blocks out of a stream: as many as come while others are opened, so that nothing waits for what comes slowly. */
  async #collect(longest: number, sealed: ArrayBuffer, target?: ArrayBuffer): Promise<void> {
    const first = this.#next;
    const { start } = this.#supply.reader.rangeOfBlock(first);
    let end = first;
    let broken: unknown;
    try {
      while (end < longest && !this.#isOver && (end === first || this.#ahead.some(({ isDone }) => !isDone))) {
        const range = this.#supply.reader.rangeOfBlock(end);
        await this.#supply.readBlock(end, new Uint8Array(sealed, range.start - start, range.end - range.start));
        end++;
      }
    } catch (error) {
      broken = error;
    }
    this.#collecting = undefined;
    this.#openRun(end, sealed, target, broken);
  }

  /** @param target - left out: the memory of the blocks */
  #openRun(end: number, sealed: FileInUse | ArrayBuffer, target?: ArrayBuffer, broken?: unknown): void {
    const first = this.#next;
    this.#next = end;
    const answer = this.#answerFor(first, end, sealed, target);
    const lengths = [sealed, target].flatMap((one) => (one instanceof ArrayBuffer ? [one.byteLength] : []));
    const underWay: UnderWay = { first, end, answer, broken, isDone: false };
    const done = () => {
      underWay.isDone = true;
      if (!(sealed instanceof ArrayBuffer)) sealed.leave();
    };
    answer.then(done, () => {
      done();
      for (const length of lengths) this.#opener.memory.forget(length); // gone with the thread
    });
    this.#ahead.push(underWay);
    if (this.#isOver) this.#drop();
  }

  async #answerFor(
    first: number,
    end: number,
    sealed: FileInUse | ArrayBuffer,
    target: ArrayBuffer | undefined,
  ): Promise<OpeningAnswer> {
    const run = () => this.#supply.reader.runOf(first, end);
    if (!(sealed instanceof ArrayBuffer)) {
      const { descriptor, position } = sealed;
      return this.#opener.open({ run: run(), sealed: { descriptor, position }, target });
    }
    if (first < end) return this.#opener.open({ run: run(), sealed, target });
    return { passed: 0, length: 0, target: target ?? sealed, sealed: target && sealed };
  }

  /** Cancels pending runs. Their memory is released when they end. */
  #drop(): void {
    const release = ({ target, sealed }: OpeningAnswer) => {
      this.#opener.memory.release(target);
      if (sealed) this.#opener.memory.release(sealed);
    };
    for (const { answer } of this.#ahead.splice(0)) answer.then(release, () => undefined);
  }

  #lengthOf(first: number, end: number): number {
    return this.#supply.reader.rangeOfBlock(end - 1).end - this.#supply.reader.rangeOfBlock(first).start;
  }
}
