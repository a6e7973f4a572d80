/**
 * Makes protected objects. The length of the head is known before the first block is made, so a writer can put the payload at its
 * place in a file while it streams, and the head in front of it afterwards.
 */
import { CHUNK_LENGTH, type KeyPair, sealChunks, sha256 } from '#primitives';
import { toBase64url } from '../encoding/base64url.ts';
import { ByteReader, collect, streamOf } from '../encoding/byte-reader.ts';
import { concat, concatAll } from '../encoding/bytes.ts';
import { type KeyId, keyIdOf } from '../keys/key-id.ts';
import { beginMessage, type MessageKeys } from './chunked-encryption.ts';
import {
  blockCount,
  blockMessageLength,
  chooseBlockChunks,
  encryptedPayloadLength,
  messageLength,
  type PayloadShape,
} from './geometry.ts';
import { encodeHead, headLength } from './head.ts';
import { type Header, payloadShape } from './header.ts';
import { encodeMessageFront, payloadContext } from './message.ts';
import type { Metadata } from './metadata.ts';

export interface ObjectOptions {
  readonly site: string;
  readonly path: string;
  readonly publisher: PublisherIdentity;
  readonly metadata: Metadata;
  /** The set key; without it the document is signed only. */
  readonly set?: { readonly id: KeyId; readonly key: Uint8Array };
  /** Zero bytes after the content, which hide its length; encrypted documents only. */
  readonly paddingLength?: number;
  /** Chunks in a block; this project's choice if left out. */
  readonly blockChunks?: number;
  /** For test vectors only: a salt that is not random repeats keys and nonces. */
  readonly saltForVectors?: Uint8Array;
}

/** The publisher's Ed25519 key pair, and its key id. */
export interface PublisherIdentity extends KeyPair {
  readonly id: KeyId;
}

export async function publisherIdentity(pair: KeyPair): Promise<PublisherIdentity> {
  return { ...pair, id: await keyIdOf('publisher', pair.publicKey) };
}

const ANY_DIGEST = toBase64url(new Uint8Array(32));

/** Makes one object: take {@link blocks} to the end, then {@link head}. */
export class ObjectWriter {
  /** Bytes of the head: where the payload begins in the object. */
  readonly headLength: number;
  readonly payloadLength: number;
  readonly #options: ObjectOptions;
  readonly #front: Uint8Array;
  readonly #header: Header;
  readonly #shape: PayloadShape;
  readonly #digests: Uint8Array[] = [];

  /** @throws RangeError if a length or the metadata is not of the form that the format allows */
  constructor(options: ObjectOptions) {
    const { set, metadata, paddingLength = 0 } = options;
    this.#options = options;
    this.#front = set ? encodeMessageFront(metadata) : new Uint8Array(0);
    const length = this.#front.length + metadata.contentLength + (set ? paddingLength : 0);
    this.payloadLength = set ? encryptedPayloadLength(length) : length;
    this.#header = {
      blockChunks: options.blockChunks ?? chooseBlockChunks(this.payloadLength),
      digestListDigest: ANY_DIGEST,
      path: options.path,
      payloadLength: this.payloadLength,
      publisher: options.publisher.id,
      site: options.site,
      ...(set ? { set: set.id } : { metadata }),
    };
    this.#shape = payloadShape(this.#header);
    this.headLength = headLength(this.#header);
  }

  /**
   * The payload, block by block.
   *
   * @param content - exactly `metadata.contentLength` bytes
   * @throws RangeError if the content is shorter or longer: the file changed while it was read
   */
  async *blocks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { set, saltForVectors } = this.#options;
    const message = new ByteReader(set ? this.#message(content) : content);
    const sealing =
      set && (await beginMessage(set.key, payloadContext({ ...this.#options, set: set.id }), saltForVectors));
    const count = blockCount(this.#shape);
    for (let index = 0; index < count; index++) {
      const plain = await this.#readBlock(message, index === count - 1);
      const block = sealing ? await this.#seal(sealing, index, plain, index === count - 1) : plain;
      this.#digests.push(await sha256(block));
      yield block;
    }
    if (!(await message.atEnd())) throw new RangeError('the content is longer than it was said to be');
  }

  /** The head, once all blocks are made. */
  async head(): Promise<Uint8Array> {
    if (this.#digests.length !== blockCount(this.#shape)) throw new Error('the head comes after the blocks');
    const digests = concatAll(this.#digests);
    const header = { ...this.#header, digestListDigest: toBase64url(await sha256(digests)) };
    return encodeHead(header, digests, this.#options.publisher.secretKey);
  }

  async *#message(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    yield this.#front;
    yield* content;
    let padding = this.#options.paddingLength ?? 0;
    for (; padding > 0; padding -= Math.min(padding, CHUNK_LENGTH))
      yield new Uint8Array(Math.min(padding, CHUNK_LENGTH));
  }

  async #readBlock(message: ByteReader, last: boolean): Promise<Uint8Array> {
    const full = blockMessageLength(this.#shape);
    const plain = await message.read(last ? messageLength(this.#shape) - this.#digests.length * full : full);
    if (plain === undefined) throw new RangeError('the content is shorter than it was said to be');
    return plain;
  }

  async #seal(
    { keys, prefix }: { keys: MessageKeys; prefix: Uint8Array },
    index: number,
    plain: Uint8Array,
    last: boolean,
  ): Promise<Uint8Array> {
    const sealed = await sealChunks(keys, index * this.#shape.blockChunks, plain, last);
    return index === 0 ? concat(prefix, sealed) : sealed;
  }
}

/** Makes a whole object in memory: head and payload, or, without a set key, the head alone. */
export async function encodeObject(options: ObjectOptions, content: Uint8Array): Promise<Uint8Array> {
  const writer = new ObjectWriter(options);
  const payload = await collect(writer.blocks(streamOf(content)));
  const head = await writer.head();
  return options.set ? concat(head, payload) : head;
}
