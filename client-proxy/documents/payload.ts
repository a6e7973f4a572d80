/**
 * The payload of one document on its way to a client: out of the cache, or from a content host; and where that fails in the middle, from
 * another one. Every block is verified, wherever it came from, so nothing but time depends on it. What comes from content hosts is kept.
 */
import type { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { BlockSource } from '../../core/object/blocks.ts';
import type { DocumentReader } from '../../core/object/document-reader.ts';
import { ObjectError } from '../../core/object/errors.ts';
import { headBytes } from '../../core/object/head.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import type { KeepWish, ObjectCache } from '../cache/object-cache.ts';
import type { ObjectWriter } from '../cache/object-writer.ts';
import type { ContentSource, HostAttempt } from './content-source.ts';
import { fetchPayload } from './fetch-payload.ts';

/** What is wanted, and where it may come from. */
export interface Supply {
  readonly site: string;
  readonly path: string;
  readonly entry: DocumentEntry;
  readonly source: ContentSource;
  readonly cache: ObjectCache;
}

export class Payload implements BlockSource {
  readonly #supply: Supply;
  readonly #reader: DocumentReader;
  /** Where the wanted part of the payload ends. */
  readonly #end: number;
  #bytes: ByteReader;
  /** Whom it comes from; `undefined`: the cache. */
  #attempt: HostAttempt | undefined;
  readonly #failed = new Set<string>();
  #writer: ObjectWriter | undefined;
  /** Blocks that have passed before it was known whether they are to be kept. */
  #first: Uint8Array[] | undefined = [];

  constructor(
    supply: Supply,
    reader: DocumentReader,
    bytes: ByteReader,
    attempt: HostAttempt | undefined,
    end = reader.payloadLength,
  ) {
    this.#supply = supply;
    this.#reader = reader;
    this.#bytes = bytes;
    this.#attempt = attempt;
    this.#end = end;
  }

  read(length: number): Promise<Uint8Array | undefined> {
    return this.#bytes.read(length);
  }

  atEnd(): Promise<boolean> {
    return this.#bytes.atEnd();
  }

  /** The whole is going to be read: it is kept from now on, with what was read already. */
  beginKeeping(wish?: KeepWish): void {
    const first = this.#first;
    this.#first = undefined;
    if (this.#attempt === undefined || first === undefined) return;
    const { cache, site, entry } = this.#supply;
    const { head, payloadLength } = this.#reader;
    this.#writer = cache.begin(site, entry.head, head.length + payloadLength, wish);
    if (this.#writer === undefined) return;
    this.#writer.keep(headBytes(head));
    for (const block of first) this.#writer.keep(block);
  }

  /** It is not kept, or not to its end. Harmless where all has come. */
  stopKeeping(): void {
    this.#first = undefined;
    this.#writer?.abandon();
  }

  /** Resolves when nothing is being written any more: whether the whole is there. */
  async kept(): Promise<boolean> {
    return this.#writer === undefined ? false : this.#writer.settled();
  }

  keep(block: Uint8Array): Promise<void> | undefined {
    if (this.#writer) return this.#writer.keep(block);
    this.#first?.push(block);
    return undefined;
  }

  async recover(offset: number, error: unknown): Promise<void> {
    const { cache, site, entry, source } = this.#supply;
    if (this.#attempt === undefined) cache.drop(site, entry.head);
    else if (!source.failed(this.#attempt, error) || isTooMuch(error)) throw error;
    else this.#failed.add(this.#attempt.origin);
    const range = { start: offset, end: this.#end };
    try {
      const found = await source.ask(
        (attempt) => fetchPayload(this.#reader, range, attempt, this.#supply),
        this.#failed,
      );
      this.#bytes = found.bytes;
      this.#attempt = found.attempt;
    } catch {
      throw error; // what went wrong first says more
    }
  }
}

/** Nothing is missing: nobody can mend that by giving more. */
function isTooMuch(error: unknown): boolean {
  return error instanceof ObjectError && error.code === 'object-trailing';
}
