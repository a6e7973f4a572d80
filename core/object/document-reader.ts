/**
 * Opens protected objects: verification steps 10 to 15 of docs/spec/protected-object.md, block by block. No byte of a block is
 * released before the block has passed; a check that fails throws out of the stream, which the caller must then end visibly incomplete.
 */
import { type InputKey, type MessageKeys, messageKeysFor } from '../crypto/chunked-encryption.ts';
import type { HmacHandle } from '../crypto/hkdf.ts';
import { type KeyId, knownKeyId } from '../crypto/key-id.ts';
import type { ByteReader } from '../encoding/byte-reader.ts';
import { PREFIX_LENGTH } from '../primitives/contract.ts';
import { type BlockRun, decryptBlock } from './block-run.ts';
import { type BlockSource, readBlock } from './blocks.ts';
import { ObjectError } from './errors.ts';
import {
  type ByteRange,
  blockCount,
  blockMessageLength,
  blockRange,
  messageLength,
  type PayloadShape,
} from './geometry.ts';
import { digestsOfBlocks, type Head } from './head.ts';
import { isEncrypted, payloadShape } from './header.ts';
import { parseMessageFront, payloadContext } from './message.ts';
import type { Metadata } from './metadata.ts';

/** A set key, and when it may be used (seconds since 1970, inclusive). */
export interface SetKey {
  readonly key: Uint8Array;
  readonly notBefore: number;
  readonly notAfter: number;
}

/** A set key whose bytes cannot be had. They were compared with its id where they arrived, so `id` is believed here. */
export interface SetKeyHandle extends Omit<SetKey, 'key'> {
  readonly id: KeyId;
  readonly handle: HmacHandle;
}

export interface ReadingContext {
  /** Finds a set key; `undefined` if the reader has none, and can get none. */
  readonly findKey: (setKeyId: KeyId) => Promise<SetKey | SetKeyHandle | undefined>;
  /** Seconds since 1970. */
  readonly now: number;
  /** Document that was opened before at this site, path and publisher; steps 1 to 9 need not be taken twice for the same bytes. */
  readonly known?: CachedDocument | undefined;
  /** Wrapper around the payload, for caching and failover. */
  readonly supply?: ((reader: DocumentReader, payload: ByteReader) => BlockSource) | undefined;
}

/** A document that was opened before, at the same site, path and publisher. */
export interface CachedDocument {
  readonly reader: DocumentReader;
  /** Bytes of `reader.head`, as `headBytes` gives them. */
  readonly headBytes: Uint8Array;
  /** SHA-256 of them, hexadecimal. */
  readonly headHash: string;
}

/** A document whose head, key and first block have passed every check. */
export interface OpenedDocument {
  readonly reader: DocumentReader;
  readonly metadata: Metadata;
  /** The content; each piece was verified before it appears. Throws ObjectError where a later block fails. */
  readonly content: AsyncGenerator<Uint8Array>;
}

/** Reads the content of one object whose head is verified; for streams from the start, and for ranges. */
export class DocumentReader {
  readonly head: Head;
  readonly #shape: PayloadShape;
  readonly #setKey: InputKey | undefined;
  #messageKeys: MessageKeys | undefined;
  #metadata: Metadata | undefined;
  #contentOffset = 0;

  private constructor(head: Head, setKey: InputKey | undefined) {
    this.head = head;
    this.#shape = payloadShape(head.header);
    this.#setKey = setKey;
  }

  /**
   * Step 10.
   *
   * @param head - as `readHead` returned it
   * @throws ObjectError `key-missing`, `key-not-valid-now`, `key-id-mismatch`
   */
  static async create(head: Head, context: ReadingContext): Promise<DocumentReader> {
    const { header } = head;
    return new DocumentReader(head, isEncrypted(header) ? await findSetKey(header.set, context) : undefined);
  }

  /**
   * Step 10 for an object whose head has the bytes of one that was opened before.
   *
   * @throws ObjectError as {@link create}
   */
  async confirm(context: ReadingContext): Promise<DocumentReader> {
    if (isEncrypted(this.head.header)) await findValidKey(this.head.header.set, context);
    return this;
  }

  /** Is known after {@link open}, or at once for signed documents. */
  get metadata(): Metadata {
    const { header } = this.head;
    const metadata = isEncrypted(header) ? this.#metadata : header.metadata;
    if (metadata === undefined) throw new Error('the first block has not been opened');
    return metadata;
  }

  /**
   * Reads the payload from its first byte: block 0 is verified before this returns, the rest as the content is taken.
   *
   * @throws ObjectError steps 11 to 15
   */
  async open(payload: BlockSource): Promise<OpenedDocument> {
    const first = await this.#openFirst(payload);
    return { reader: this, metadata: this.metadata, content: this.#contentFrom(first, payload) };
  }

  get payloadLength(): number {
    return this.#shape.payloadLength;
  }

  /** The bytes of the payload that {@link open} needs, before it gives content. */
  get firstBlock(): ByteRange {
    return blockRange(this.#shape, 0);
  }

  /** The bytes of the payload, in whole blocks, that hold this range of the content. Known once the document was opened. */
  payloadRange(content: ByteRange): ByteRange {
    const { first, last } = this.#blocksOf(content);
    return { start: blockRange(this.#shape, first).start, end: blockRange(this.#shape, last).end };
  }

  /** A range of the content, from the bytes that {@link payloadRange} names. @throws ObjectError steps 11, 12 and 14 */
  async *contentRange(content: ByteRange, payload: BlockSource): AsyncGenerator<Uint8Array> {
    const { first, last } = this.#blocksOf(content);
    yield* this.#contentOf(first, last + 1, payload, this.#withinContent(content));
  }

  /**
   * Takes steps 11, 12 and 14 for one block, of a document that was opened.
   *
   * @param payload - stands where the block begins
   * @returns its part of the message
   * @throws ObjectError steps 11, 12 and 14
   */
  async openBlock(payload: BlockSource, index: number): Promise<Uint8Array> {
    const block = await readBlock(this.head, index, payload);
    return this.#decrypt(block, index);
  }

  /** Blocks `first` to `end` (which is not in it) of a document that is open, to be opened elsewhere. Shares memory with nothing. */
  runOf(first: number, end: number): BlockRun {
    const keys = this.#messageKeys;
    if (keys === undefined && this.#shape.encrypted) throw new Error('block 0 comes first');
    return {
      shape: this.#shape,
      first,
      end,
      digests: Uint8Array.from(digestsOfBlocks(this.head, first, end)),
      keys: keys && { key: Uint8Array.from(keys.key), baseNonce: Uint8Array.from(keys.baseNonce) },
    };
  }

  rangeOfBlock(index: number): ByteRange {
    return blockRange(this.#shape, index);
  }

  async *#contentFrom(first: Uint8Array, payload: BlockSource): AsyncGenerator<Uint8Array> {
    const whole = { start: 0, end: this.metadata.contentLength };
    yield* this.#slice(first, this.#contentAt(0), whole);
    yield* this.#contentOf(1, blockCount(this.#shape), payload, whole);
  }

  /** Part of `wanted` in blocks `first` to `end` (exclusive). */
  async *#contentOf(first: number, end: number, payload: BlockSource, wanted: ByteRange): AsyncGenerator<Uint8Array> {
    let start = first;
    if (first === 0) yield* this.#slice(await this.openBlock(payload, start++), this.#contentAt(0), wanted);
    const elsewhere = payload.openBlocks?.(start, end);
    if (elsewhere === undefined) {
      for (let index = start; index < end; index++)
        yield* this.#slice(await this.openBlock(payload, index), this.#contentAt(index), wanted);
      return;
    }
    let position = this.#contentAt(start);
    for await (const message of elsewhere) {
      const { length } = message; // its memory may be used again by the time that it was taken
      yield* this.#slice(message, position, wanted);
      position += length;
    }
  }

  /** Steps 11 to 15 for block 0; returns its part of the message. */
  async #openFirst(payload: BlockSource): Promise<Uint8Array> {
    const message = await this.openBlock(payload, 0);
    if (this.#shape.encrypted && this.#metadata === undefined) this.#readFront(message);
    return message;
  }

  /** Steps 13 (in block 0) and 14. */
  async #decrypt(block: Uint8Array, index: number): Promise<Uint8Array> {
    if (!this.#shape.encrypted) return block;
    if (index === 0) await this.#deriveKeys(block.subarray(0, PREFIX_LENGTH));
    if (this.#messageKeys === undefined) throw new Error('block 0 comes first');
    return decryptBlock({ shape: this.#shape, keys: this.#messageKeys }, index, block);
  }

  /** Step 13. */
  async #deriveKeys(prefix: Uint8Array): Promise<void> {
    if (this.#messageKeys !== undefined) return; // block 0 has passed its digest, so it has the same salt as before
    const { header } = this.head;
    if (!isEncrypted(header) || this.#setKey === undefined) throw new Error('only encrypted documents have keys');
    this.#messageKeys = await messageKeysFor(this.#setKey, prefix, payloadContext(header));
    if (this.#messageKeys === undefined)
      throw new ObjectError('payload-invalid', 'the object was not made with the key of its set');
  }

  #readFront(message: Uint8Array): void {
    const { metadata, contentOffset } = parseMessageFront(message, messageLength(this.#shape));
    this.#metadata = metadata;
    this.#contentOffset = contentOffset;
  }

  /** Returns where block `index` begins in the content: before it, for the block that the front stands in. */
  #contentAt(index: number): number {
    return index * blockMessageLength(this.#shape) - this.#contentOffset;
  }

  /** The part within `wanted` of what begins at `position` of the content. */
  *#slice(message: Uint8Array, position: number, wanted: ByteRange): Generator<Uint8Array> {
    const from = Math.max(wanted.start, position) - position;
    const to = Math.min(wanted.end, position + message.length) - position;
    if (to > from) yield message.subarray(from, to);
  }

  #blocksOf(content: ByteRange): { first: number; last: number } {
    const { start, end } = this.#withinContent(content);
    const length = blockMessageLength(this.#shape);
    const blockAt = (offset: number) =>
      Math.min(blockCount(this.#shape) - 1, Math.floor((offset + this.#contentOffset) / length));
    return { first: blockAt(start), last: blockAt(Math.max(start, end - 1)) };
  }

  /** Clips a range to the content, without the padding. */
  #withinContent({ start, end }: ByteRange): ByteRange {
    const { contentLength } = this.metadata;
    return { start: Math.min(start, contentLength), end: Math.min(end, contentLength) };
  }
}

/** Step 10. */
async function findSetKey(id: KeyId, context: ReadingContext): Promise<InputKey> {
  const found = await findValidKey(id, context);
  if (('handle' in found ? found.id : await knownKeyId('set', found.key)) !== id)
    throw new ObjectError('key-id-mismatch', 'the key at hand is not the key of this set');
  return 'handle' in found ? found.handle : found.key;
}

async function findValidKey(id: KeyId, { findKey, now }: ReadingContext): Promise<SetKey | SetKeyHandle> {
  const found = await findKey(id);
  if (found === undefined) throw new ObjectError('key-missing', 'there is no key for the set of this document');
  if (now < found.notBefore || now > found.notAfter) {
    const [from, until] = [found.notBefore, found.notAfter].map((time) => new Date(time * 1000).toISOString());
    throw new ObjectError('key-not-valid-now', `the key of this set is valid from ${from} until ${until}`);
  }
  return found;
}
