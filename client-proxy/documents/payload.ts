/**
 * The payload of one document on its way to a client: from the cache, or from a content host, and where that fails in the middle, from another one.
 * Every block is verified, wherever it came from. What comes from content hosts is cached.
 */
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { BlockSource } from '../../core/object/blocks.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { headBytes } from '../../core/object/head.ts';
import { isEncrypted } from '../../core/object/header.ts';
import { giveBack, giveBackIfAlone } from '../../core/primitives/give-back.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { payloadAt } from '../../reading/payload.ts';
import { LIMITS } from '../limits.ts';
import type { ObjectCache } from './cache/object-cache.ts';
import type { ObjectWriter } from './cache/object-writer.ts';
import { StoredObject } from './cache/stored-object.ts';
import type { ContentSource, HostAttempt } from './content-source.ts';
import type { BlockOpener } from './opening/block-opener.ts';
import { type FileInUse, OpenedRuns, type RunSupply } from './opening/opened-runs.ts';

/** What is wanted, and where it may come from. */
export interface Supply {
  readonly site: string;
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly source: ContentSource;
  readonly cache: ObjectCache;
  readonly opener: BlockOpener;
}

export class Payload implements BlockSource, RunSupply {
  readonly #supply: Supply;
  readonly reader: DocumentReader;
  /** Where the wanted part of the payload ends. */
  readonly #end: number;
  #bytes: ByteReader;
  /** Where it comes from. */
  #origin: HostAttempt | StoredObject;
  readonly #failed = new Set<string>();
  #writer: ObjectWriter | undefined;
  /** Whether the whole is to be kept is known; until then only block 0 passes, which is held here. */
  #isDecided = false;
  #first: Uint8Array | undefined;
  /** Whether blocks were taken out of the file of a stored object that `#bytes` does not know of. */
  #isElsewhere = false;
  #runs: OpenedRuns | undefined;

  constructor(
    supply: Supply,
    reader: DocumentReader,
    bytes: ByteReader,
    origin: HostAttempt | StoredObject,
    end = reader.payloadLength,
  ) {
    this.#supply = supply;
    this.reader = reader;
    this.#bytes = bytes;
    this.#origin = origin;
    this.#end = end;
  }

  read(length: number): Promise<Uint8Array | undefined> {
    return this.#bytes.read(length);
  }

  atEnd(): Promise<boolean> {
    return this.#bytes.atEnd();
  }

  /** The whole is going to be read: it is kept from now on, with what was read already. */
  beginKeeping({ synced = false } = {}): void {
    const first = this.#decide();
    if (this.#origin instanceof StoredObject) return;
    const { cache, site, entry } = this.#supply;
    const { head, payloadLength } = this.reader;
    this.#writer = cache.begin(site, entry.head, head.length + payloadLength, synced);
    void this.#writer?.keep(headBytes(head));
    if (first === undefined) return;
    if (this.#writer) void this.#writer.keep(first);
    else if (isEncrypted(head.header)) giveBackIfAlone(first); // it was opened, and is not its own message
  }

  /** It is not kept, or not to its end. Harmless where all has come. */
  stopKeeping(): void {
    this.#decide();
    this.#writer?.abandon();
  }

  /** @returns block 0, where it has passed before */
  #decide(): Uint8Array | undefined {
    const first = this.#first;
    this.#first = undefined;
    this.#isDecided = true;
    return first;
  }

  /** Resolves when nothing is being written any more: whether the whole is there. */
  async kept(): Promise<boolean> {
    return this.#writer === undefined ? false : this.#writer.settled();
  }

  keep(block: Uint8Array): Promise<void> | undefined {
    if (this.#writer) return this.#writer.keep(block);
    if (!this.#isDecided) this.#first = block;
    return undefined;
  }

  async recover(offset: number, error: unknown): Promise<void> {
    const { cache, site, entry, source } = this.#supply;
    if (this.#origin instanceof StoredObject) cache.drop(site, entry.head);
    // Where the object is too long, another host cannot help.
    else if (!source.failed(this.#origin, error) || (error as { code?: unknown }).code === 'object-trailing')
      throw error;
    else this.#failed.add(this.#origin.origin);
    const range = { start: offset, end: this.#end };
    try {
      const fetch = async (attempt: HostAttempt) => {
        return { bytes: await payloadAt(attempt.fetch, this.#supply, this.reader, range), attempt };
      };
      const { bytes, attempt } = await source.ask(fetch, this.#failed);
      this.#bytes = bytes;
      this.#origin = attempt;
    } catch {
      throw error; // what went wrong first says more
    }
  }

  /** Large payloads are opened on threads, once it is known whether they are kept. */
  openBlocks(first: number, end: number): OpenedRuns | undefined {
    if (first === end || !this.#isDecided) return undefined;
    const { start, end: afterFirst } = this.reader.rangeOfBlock(first);
    const length = this.reader.rangeOfBlock(end - 1).end - start;
    const stored = this.#origin instanceof StoredObject ? this.#origin : undefined;
    if (stored && stored.length !== this.reader.head.length + this.reader.payloadLength) return undefined;
    if (length < LIMITS.openedOnThread || afterFirst - start > LIMITS.blockOnThread) return undefined;
    this.#runs = new OpenedRuns(this, this.#supply.opener, first, end);
    return this.#runs;
  }

  /** A piece of the content has left. What was opened here is alone in its memory; a signed document's pieces are blocks, which others may hold. */
  spend({ buffer }: Uint8Array): void {
    if (this.#runs?.spend(buffer)) return;
    if (isEncrypted(this.reader.head.header)) giveBack(buffer);
  }

  useFile(first: number): FileInUse | undefined {
    const stored = this.#origin;
    if (!(stored instanceof StoredObject)) return undefined;
    this.#isElsewhere = true;
    return { descriptor: stored.use(), position: this.#placeOf(first), leave: () => stored.leave() };
  }

  async readBlock(index: number, target: Uint8Array): Promise<void> {
    if (!(await this.#bytes.readInto(target)))
      throw new ObjectError('object-truncated', `the object ends inside block ${index}`);
    const isLast = this.reader.rangeOfBlock(index).end === this.reader.payloadLength;
    if (isLast && !(await this.#bytes.atEnd()))
      throw new ObjectError('object-trailing', 'bytes follow the end of the object');
  }

  openBlock(index: number): Promise<Uint8Array> {
    const stored = this.#origin;
    if (this.#isElsewhere && stored instanceof StoredObject)
      this.#bytes = new ByteReader(stored.from(this.#placeOf(index), this.reader.head.length + this.#end));
    this.#isElsewhere = false;
    return this.reader.openBlock(this, index);
  }

  get isKeeping(): boolean {
    return this.#writer?.isOver === false;
  }

  keepRun(blocks: Uint8Array, spent: () => void): Promise<void> | undefined {
    return this.#writer?.keep(blocks, spent);
  }

  /** Where a block lies in the file of a stored object. */
  #placeOf(index: number): number {
    return this.reader.head.length + this.reader.rangeOfBlock(index).start;
  }
}
