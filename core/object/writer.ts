/**
 * Makes protected objects. The length of the head is known before the first block is made, so a writer can put the payload at its
 * place in a file while it streams, and the head in front of it afterwards.
 */
import { sha256 } from '#symmetric';
import { beginMessage } from '../crypto/chunked-encryption.ts';
import { type KeyId, keyIdOf } from '../crypto/key-id.ts';
import { padmeLength } from '../crypto/padding.ts';
import { toBase64url } from '../encoding/base64url.ts';
import { ByteReader } from '../encoding/byte-reader.ts';
import { concatAll, equalBytes } from '../encoding/bytes.ts';
import type { KeyPair } from '../primitives/contract.ts';
import { blockCount, blockRange, chooseBlockChunks, encryptedPayloadLength, type PayloadShape } from './geometry.ts';
import { encodeHead, headLength } from './head.ts';
import { encodeHeader, type Header, payloadShape, setDigestListDigest } from './header.ts';
import { encodeMessageFront, payloadContext } from './message.ts';
import type { Metadata } from './metadata.ts';
import { contentOfBlock, type SealingPlan, sealBlock } from './sealing.ts';

export interface ObjectOptions {
  readonly site: string;
  readonly path: string;
  readonly publisher: PublisherIdentity;
  readonly metadata: Metadata;
  /** The set key; without it the document is signed only. */
  readonly set?: { readonly id: KeyId; readonly key: Uint8Array };
  /** Zero bytes after the content, which hide its length: so many, or as many as Padmé wants. Encrypted documents only. */
  readonly paddingLength?: number | 'padme';
  /** Chunks in a block; this project's choice if left out. */
  readonly blockChunks?: number;
}

export interface PublisherIdentity extends KeyPair {
  readonly id: KeyId;
}

export async function publisherIdentity(pair: KeyPair): Promise<PublisherIdentity> {
  return { ...pair, id: await keyIdOf('publisher', pair.publicKey) };
}

const DIGEST_LENGTH = 32;
const ANY_DIGEST = toBase64url(new Uint8Array(DIGEST_LENGTH));

/** Makes one object: first the payload, by {@link blocks} or by {@link plan}, then {@link head}; or all at once by {@link encode}. */
export class ObjectWriter {
  /** Bytes of the head: where the payload begins in the object. */
  readonly headLength: number;
  readonly payloadLength: number;
  readonly #options: ObjectOptions;
  readonly #front: Uint8Array;
  /** The header as it will stand in the object, but for the digest of the digest list. */
  readonly #headerBytes: Uint8Array;
  readonly #shape: PayloadShape;
  readonly #digests: Uint8Array[] = [];

  /** @throws RangeError if a length or the metadata is not of the form that the format allows */
  constructor(options: ObjectOptions) {
    const { set, metadata, paddingLength = 0 } = options;
    this.#options = options;
    this.#front = set ? encodeMessageFront(metadata) : new Uint8Array(0);
    const length = this.#front.length + metadata.contentLength;
    const padded = paddingLength === 'padme' ? padmeLength(length) : length + paddingLength;
    this.payloadLength = set ? encryptedPayloadLength(padded) : length;
    const header: Header = {
      blockChunks: options.blockChunks ?? chooseBlockChunks(this.payloadLength),
      digestListDigest: ANY_DIGEST,
      path: options.path,
      payloadLength: this.payloadLength,
      publisher: options.publisher.id,
      site: options.site,
      ...(set ? { set: set.id } : { metadata }),
    };
    this.#headerBytes = encodeHeader(header);
    this.#shape = payloadShape(header);
    this.headLength = headLength(this.#headerBytes.length, blockCount(this.#shape));
  }

  /** Tells whether an object with this header was made by a writer with the same options, as far as the header tells. */
  describes(header: Header): boolean {
    return equalBytes(encodeHeader({ ...header, digestListDigest: ANY_DIGEST }), this.#headerBytes);
  }

  /** Draws the salt of the payload, and derives its keys. Every plan is for one payload, to be made once. */
  async plan(): Promise<SealingPlan> {
    const { set, metadata } = this.#options;
    const message = set && (await beginMessage(set.key, payloadContext({ ...this.#options, set: set.id })));
    return { shape: this.#shape, contentLength: metadata.contentLength, front: this.#front, message };
  }

  /**
   * The payload, block by block; then {@link head} needs no digests.
   *
   * @param content - exactly `metadata.contentLength` bytes
   * @throws RangeError if the content is shorter or longer: the file changed while it was read
   */
  async *blocks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const input = new ByteReader(content);
    const plan = await this.plan();
    for (let index = 0; index < blockCount(this.#shape); index++) {
      const { start, end } = contentOfBlock(plan, index);
      const plain = await input.read(end - start);
      if (plain === undefined) throw new RangeError('the content is shorter than it was said to be');
      const block = await sealBlock(plan, index, plain);
      this.#digests.push(await sha256(block));
      yield block;
    }
    if (!(await input.atEnd())) throw new RangeError('the content is longer than it was said to be');
  }

  /**
   * The whole object of content that is in memory: head and payload, or a signed document's head alone.
   *
   * @param memory - for the object, if it is large enough; reused by callers that make many objects
   * @throws RangeError if the content has another length than it was said to have
   */
  async encode(content: Uint8Array, memory?: Uint8Array): Promise<Uint8Array> {
    if (content.length !== this.#options.metadata.contentLength) throw new RangeError('the content has another length');
    const plan = await this.plan();
    const length = this.headLength + (plan.message ? this.payloadLength : 0);
    const object = memory && memory.length >= length ? memory.subarray(0, length) : new Uint8Array(length);
    for (let index = 0; index < blockCount(this.#shape); index++) {
      const { start, end } = contentOfBlock(plan, index);
      const target = object.subarray(this.headLength + blockRange(this.#shape, index).start);
      this.#digests.push(await sha256(await sealBlock(plan, index, content.subarray(start, end), target)));
    }
    await this.head(concatAll(this.#digests), object.subarray(0, this.headLength));
    return object;
  }

  /**
   * The head, once all blocks are made.
   *
   * @param digests - SHA-256 of each block, where they were not made by this writer itself
   * @param target - memory for the head, as long as it; fresh memory if left out
   */
  async head(digests: Uint8Array = concatAll(this.#digests), target?: Uint8Array): Promise<Uint8Array> {
    if (digests.length !== DIGEST_LENGTH * blockCount(this.#shape)) throw new Error('the head comes after the blocks');
    const header = this.#headerBytes.slice();
    setDigestListDigest(header, this.#shape.blockChunks, await sha256(digests));
    return encodeHead(header, digests, this.#options.publisher.secretKey, target);
  }
}

/** Makes a whole object in memory: see {@link ObjectWriter.encode}. */
export function encodeObject(options: ObjectOptions, content: Uint8Array): Promise<Uint8Array> {
  return new ObjectWriter(options).encode(content);
}
