/** Blocks of one payload, opened on threads where there are many: out of the file of a stored object, or out of the stream that comes. */
import type { DocumentReader } from '../../../core/object/document-reader.ts';
import { ObjectError } from '../../../core/object/errors.ts';
import type { Payload } from '../../../reading/payload.ts';
import { LIMITS } from '../../limits.ts';
import { CacheWriter } from '../cache/object-writer.ts';
import { CachedObject } from '../cache/stored-object.ts';
import type { BlockOpener } from './block-opener.ts';
import { type FileInUse, OpenedRuns, type RunSupply } from './opened-runs.ts';

export class ThreadedBlocks implements RunSupply {
  readonly reader: DocumentReader;
  readonly #payload: Payload;
  readonly #opener: BlockOpener;
  /** Tells whether blocks were taken out of the file of a stored object that the payload does not know of. */
  #isElsewhere = false;
  #runs: OpenedRuns | undefined;

  constructor(payload: Payload, opener: BlockOpener) {
    this.reader = payload.reader;
    this.#payload = payload;
    this.#opener = opener;
  }

  /** Large payloads are opened on threads, once it is known whether they are kept. */
  open(first: number, end: number): OpenedRuns | undefined {
    if (first === end || !this.#payload.copy.isDecided) return undefined;
    const { start, end: afterFirst } = this.reader.rangeOfBlock(first);
    const length = this.reader.rangeOfBlock(end - 1).end - start;
    const stored = this.#stored;
    if (stored && stored.length !== this.reader.head.length + this.reader.payloadLength) return undefined;
    if (length < LIMITS.openedOnThread || afterFirst - start > LIMITS.blockOnThread) return undefined;
    this.#runs = new OpenedRuns(this, this.#opener, first, end);
    return this.#runs;
  }

  /** Takes back memory whose receiver has finished. @returns whether it is that of a thread */
  spend(memory: ArrayBufferLike): boolean {
    return this.#runs?.spend(memory) ?? false;
  }

  useFile(first: number): FileInUse | undefined {
    const stored = this.#stored;
    if (!stored) return undefined;
    this.#isElsewhere = true;
    const position = this.reader.head.length + this.reader.rangeOfBlock(first).start;
    return { descriptor: stored.use(), position, leave: () => stored.leave() };
  }

  async readBlock(index: number, target: Uint8Array): Promise<void> {
    if (!(await this.#payload.readInto(target)))
      throw new ObjectError('object-truncated', `the object ends inside block ${index}`);
    const isLast = this.reader.rangeOfBlock(index).end === this.reader.payloadLength;
    if (isLast && !(await this.#payload.atEnd()))
      throw new ObjectError('object-trailing', 'bytes follow the end of the object');
  }

  openBlock(index: number): Promise<Uint8Array> {
    if (this.#isElsewhere) this.#payload.seek(this.reader.rangeOfBlock(index).start);
    this.#isElsewhere = false;
    return this.reader.openBlock(this.#payload, index);
  }

  get isKeeping(): boolean {
    return this.#writer?.isOver === false;
  }

  keepRun(blocks: Uint8Array, spent: () => void): Promise<void> | undefined {
    return this.#writer?.keep(blocks, spent);
  }

  recover(offset: number, error: unknown): Promise<void> {
    return this.#payload.recover(offset, error);
  }

  get #writer(): CacheWriter | undefined {
    const { writer } = this.#payload.copy;
    return writer instanceof CacheWriter ? writer : undefined;
  }

  get #stored(): CachedObject | undefined {
    const { stored } = this.#payload;
    return stored instanceof CachedObject ? stored : undefined;
  }
}
