/** The payload of one document, from a kept copy or from content hosts one after another. Every block is verified. */
import { ByteReader } from '../core/encoding/byte-reader.ts';
import type { BlockSource } from '../core/object/blocks.ts';
import type { DocumentReader } from '../core/object/document-reader.ts';
import { ObjectError } from '../core/object/errors.ts';
import type { ByteRange } from '../core/object/geometry.ts';
import { type Head, headBytes } from '../core/object/head.ts';
import { isEncrypted } from '../core/object/header.ts';
import type { DocumentEntry } from '../core/publication/document-entry.ts';
import { ReadingError } from './errors.ts';
import { type FetchContentRange, payloadUrl, type WantedDocument } from './open-at.ts';

const SKIPPED_AT_ONCE = 65_536;

export interface HostAttempt {
  readonly origin: string;
  readonly fetch: FetchContentRange;
  /** Closes everything that is still coming. */
  end(): void;
}

/** An object that was kept whole: head, then payload. */
export interface StoredCopy {
  /** Reads from a byte up to another. */
  from(start: number, end?: number): AsyncIterable<Uint8Array>;
  /** Marks blocks as {@link BlockSource.passed} does, where all of it is in memory. */
  readonly passed?: Set<number> | undefined;
}

/** Keeps an object while it is read, piece by piece. */
export interface CopyWriter {
  /** The next piece. A promise where it has to be waited for. */
  keep(piece: Uint8Array): Promise<void> | undefined;
  /** Gives the copy up. Has no effect on one that is whole. */
  abandon(): void;
}

/** Sources of one document: a port of each adapter, made for one request. */
export interface DocumentSupply {
  readonly path: string;
  readonly entry: DocumentEntry;
  /** Tells whether the content of a public document is asked for beside its head: one round trip for both. */
  readonly asksForContent?: boolean;
  /** The copy that is kept; left out where nothing is kept. */
  find?(): Promise<StoredCopy | undefined> | StoredCopy | undefined;
  drop?(): unknown;
  /** Begins a copy. @param length - bytes of the whole object @returns `undefined` where it is not going to be kept */
  begin?(length: number): CopyWriter | undefined;
  /** Does `work` with one host after another. @throws the most telling failure; at once, where no other would help */
  ask<Result>(work: (attempt: HostAttempt) => Promise<Result>, passedOver?: ReadonlySet<string>): Promise<Result>;
  /** Records that a host failed in the middle, and ends what still comes from it. @returns whether another one may help */
  failed(attempt: HostAttempt, error: unknown): boolean;
  /** Ends what is still coming: something else is going to be fetched, or nothing. */
  release(): void;
  /** Makes a payload. @param end - where the wanted part of it ends */
  payload(reader: DocumentReader, from: PayloadBytes, end?: number): Payload;
}

/** Bytes of a payload, and where they come from: one of both. */
export interface PayloadBytes {
  readonly bytes: ByteReader;
  readonly host?: HostAttempt;
  readonly stored?: StoredCopy;
}

/** Blocks in their order, for `core/`. Owns the bytes that come, and goes on with others where they fail. */
export class Payload implements BlockSource {
  readonly reader: DocumentReader;
  readonly copy = new ObjectCopy();
  readonly #supply: DocumentSupply;
  #from: PayloadBytes;
  readonly #end: number;
  #failed: Set<string> | undefined;

  constructor(supply: DocumentSupply, reader: DocumentReader, from: PayloadBytes, end = reader.payloadLength) {
    this.#supply = supply;
    this.reader = reader;
    this.#from = from;
    this.#end = end;
  }

  /** The copy that it is read out of; `undefined`: it comes from a content host. */
  get stored(): StoredCopy | undefined {
    return this.#from.stored;
  }

  get passed(): Set<number> | undefined {
    return this.#from.stored?.passed;
  }

  read(length: number): Promise<Uint8Array | undefined> {
    return this.#from.bytes.read(length);
  }

  /** Fills `target`. @returns whether there was as much */
  readInto(target: Uint8Array): Promise<boolean> {
    return this.#from.bytes.readInto(target);
  }

  atEnd(): Promise<boolean> {
    return this.#from.bytes.atEnd();
  }

  keep(block: Uint8Array): Promise<void> | undefined {
    return this.copy.keep(block);
  }

  /** The whole is going to be read: it is kept from now on, with what was read already. */
  keepWhole(): Promise<void> | undefined {
    const { head, payloadLength } = this.reader;
    const writer = this.stored ? undefined : this.#supply.begin?.(head.length + payloadLength);
    return this.copy.begin(writer, head, (first) => this.discard(first));
  }

  /** Called with block 0 where the object is not kept after all. */
  protected discard(_first: Uint8Array): void {}

  /** Takes the memory of a piece of the content back, once it has left: until then it is its receiver's alone. */
  spend(_piece: Uint8Array): void {}

  /** Goes on in the stored copy at an offset of the payload: somebody else has read what is before it. */
  seek(offset: number): void {
    const { stored } = this.#from;
    if (stored) this.#from = { stored, bytes: bytesIn(stored, this.reader, { start: offset, end: this.#end }) };
  }

  async recover(offset: number, error: unknown): Promise<void> {
    const { host } = this.#from;
    if (host === undefined) await this.#supply.drop?.();
    // A further host cannot help where the object is too long.
    else if (!this.#supply.failed(host, error) || isTooLong(error)) throw error;
    else this.#failed = new Set(this.#failed).add(host.origin);
    try {
      this.#from = await fetchPayload(this.#supply, this.reader, { start: offset, end: this.#end }, this.#failed);
    } catch {
      throw error; // the first failure says more
    }
  }
}

/** Decides what becomes of blocks that have passed: all are kept, or none; until that is known, block 0 is held. */
class ObjectCopy {
  #writer: CopyWriter | undefined;
  #first: Uint8Array | undefined;
  #isDecided = false;

  get writer(): CopyWriter | undefined {
    return this.#writer;
  }

  /** Tells whether it is known that the whole is kept, or nothing. */
  get isDecided(): boolean {
    return this.#isDecided;
  }

  /** Keeps all blocks from now on, with the head and what was read already; without a writer, keeps none, and discards block 0. */
  begin(writer: CopyWriter | undefined, head: Head, discard: (first: Uint8Array) => void): Promise<void> | undefined {
    const first = this.#decide();
    this.#writer = writer;
    const written = writer?.keep(headBytes(head));
    if (first && !writer) discard(first);
    const block = first && writer?.keep(first);
    return written && block ? written.then(() => block) : (written ?? block);
  }

  /** Gives up the copy, begun or not. Harmless where all has come. */
  stop(): void {
    this.#decide();
    this.#writer?.abandon();
  }

  keep(block: Uint8Array): Promise<void> | undefined {
    if (this.#writer) return this.#writer.keep(block);
    if (!this.#isDecided) this.#first = block;
    return undefined;
  }

  /** @returns block 0, where it has passed before */
  #decide(): Uint8Array | undefined {
    const first = this.#first;
    this.#first = undefined;
    this.#isDecided = true;
    return first;
  }
}

/** The payload of a document opened before: whole blocks from the beginning of `range`. @throws as `payloadAt` */
export function fetchPayload(
  supply: DocumentSupply,
  reader: DocumentReader,
  range: ByteRange,
  passedOver?: ReadonlySet<string>,
): Promise<PayloadBytes> {
  return supply.ask(async (host) => ({ bytes: await payloadAt(host.fetch, supply, reader, range), host }), passedOver);
}

/** Bytes of a stored object's payload. */
export function bytesIn(stored: StoredCopy, { head }: DocumentReader, { start, end }: ByteRange): ByteReader {
  return new ByteReader(stored.from(head.length + start, head.length + end));
}

/**
 * The payload from the beginning of `range`, once its first bytes are there; where the content host ignores the range, what is before it is skipped.
 *
 * @throws ReadingError `content-host-answer` where the host answers neither with a range nor with the whole, or the payload is not a file of
 * bytes; those of `fetchRange`
 */
async function payloadAt(
  fetchRange: FetchContentRange,
  { path, entry }: Pick<WantedDocument, 'entry' | 'path'>,
  { head }: DocumentReader,
  range: ByteRange,
): Promise<ByteReader> {
  const encrypted = isEncrypted(head.header);
  if (encrypted && entry.inPage) throw unusable('the object stands in a page as text');
  const offset = encrypted ? head.length : 0; // a signed document's payload is a file of its own
  const wanted = { start: offset + range.start, end: offset + range.end };
  const { status, body } = await fetchRange(payloadUrl(path, entry), wanted);
  if (status !== 200 && status !== 206) {
    await body[Symbol.asyncIterator]().return?.();
    throw unusable(`the content host answered ${status} when asked for a part of ${path}`);
  }
  const bytes = new ByteReader(body);
  if (status === 200) await skip(bytes, wanted.start);
  await bytes.atEnd();
  return bytes;
}

async function skip(bytes: ByteReader, length: number): Promise<void> {
  for (let left = length; left > 0; left -= SKIPPED_AT_ONCE) {
    if ((await bytes.read(Math.min(left, SKIPPED_AT_ONCE))) === undefined) return; // the blocks' checks say what is missing
  }
}

function isTooLong(error: unknown): boolean {
  return error instanceof ObjectError && error.code === 'object-trailing';
}

function unusable(message: string): ReadingError {
  return new ReadingError('content-host-answer', message);
}
