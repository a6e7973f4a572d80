/** Bodies in sealed chunks: docs/spec/httpcrypt.md, "Sealed bodies". Small ones are sealed and opened in one call of `end`. */
import { XChaCha } from '#channel';
import { randomBytes } from '#primitives';
import { concat } from '../encoding/bytes.ts';
import { TAG_LENGTH } from '../primitives/contract.ts';
import { unreadable } from './errors.ts';

const SALT_LENGTH = 16;
/** Bytes of a chunk that is not the last one, and of what is in it. */
export const SEALED_CHUNK = 16_384;
const PLAIN_CHUNK = SEALED_CHUNK - TAG_LENGTH;
/** Bytes of the length in front of a chunk's data, and of the most data in it. */
const PREFIX = 2;
export const CHUNK_DATA = PLAIN_CHUNK - PREFIX;
/** Bytes: what the last chunk grows by. More would cost a narrow link seconds for each message. */
const PADDING_STEP = 1024;
const MOST_RANDOM_PADDING = 63;
const NOTHING: Uint8Array = new Uint8Array(0);

/** Seals a message as it comes. */
export class BodySealer {
  readonly salt: Uint8Array;
  readonly #cipher: XChaCha;
  readonly #context: Uint8Array;
  readonly #padding: number;
  #chunk: Uint8Array | undefined;
  #end = PREFIX;
  #number = 0;

  /** @param context - additional data of every chunk @param random - {@link randomBytes}, but in test vectors: the salt, and a byte for the length of the padding */
  constructor(secret: Uint8Array, context: Uint8Array, random: Uint8Array = randomBytes(SALT_LENGTH + 1)) {
    this.salt = random.subarray(0, SALT_LENGTH);
    this.#padding = (random[SALT_LENGTH] ?? 0) & MOST_RANDOM_PADDING;
    this.#cipher = new XChaCha(secret, this.salt);
    this.#context = context;
  }

  /** There is data that no sealed chunk has yet. */
  get isHolding(): boolean {
    return this.#end > PREFIX;
  }

  /** Takes a part of the message. @returns the chunks that are full, the salt in front of the first */
  push(data: Uint8Array): Uint8Array[] {
    const sealed: Uint8Array[] = [];
    for (let from = 0; from < data.length; ) {
      if (this.#end === PLAIN_CHUNK) sealed.push(this.flush());
      this.#chunk ??= new Uint8Array(PLAIN_CHUNK);
      const piece = data.subarray(from, from + PLAIN_CHUNK - this.#end);
      this.#chunk.set(piece, this.#end);
      this.#end += piece.length;
      from += piece.length;
    }
    return sealed;
  }

  /** A whole chunk of what is held, because more may be long in coming. */
  flush(): Uint8Array {
    const chunk = this.#chunk ?? new Uint8Array(PLAIN_CHUNK);
    return this.#seal(chunk.fill(0, this.#end), false);
  }

  /** The end of the message. @param parts - what is left of it @returns the chunks that were not given before */
  end(...parts: Uint8Array[]): Uint8Array[] {
    const rest = parts.reduce((sum, { length }) => sum + length, 0);
    if (this.#chunk === undefined && rest <= CHUNK_DATA)
      this.#chunk = new Uint8Array(this.#lengthOfLast(PREFIX + rest));
    const sealed = parts.flatMap((part) => this.push(part));
    const chunk = this.#chunk ?? new Uint8Array(PLAIN_CHUNK);
    const length = this.#lengthOfLast(this.#end);
    sealed.push(this.#seal(chunk.fill(0, this.#end).subarray(0, length), true));
    return sealed;
  }

  #lengthOfLast(used: number): number {
    const padded = Math.ceil(used / PADDING_STEP) * PADDING_STEP;
    return Math.min(padded + this.#padding, PLAIN_CHUNK);
  }

  #seal(plain: Uint8Array, isLast: boolean): Uint8Array {
    const length = this.#end - PREFIX;
    plain[0] = length >> 8;
    plain[1] = length;
    const front = this.#number === 0 ? this.salt : NOTHING;
    this.#end = PREFIX;
    numberChunk(this.#cipher, this.#number++, isLast);
    return this.#cipher.seal(plain, this.#context, front);
  }
}

/** Opens a body as it comes; holds no more than one chunk of it, and what came with that. */
export class BodyOpener {
  readonly #secret: Uint8Array;
  readonly #context: Uint8Array;
  #salt = NOTHING;
  #cipher: XChaCha | undefined;
  #held = NOTHING;
  #number = 0;
  /** What is held is a full chunk, which no other can follow. */
  #isLast = false;

  /** @param context - additional data of each chunk */
  constructor(secret: Uint8Array, context: Uint8Array) {
    this.#secret = secret;
    this.#context = context;
  }

  /** Salt of the body; empty until it has come. */
  get salt(): Uint8Array {
    return this.#salt;
  }

  /** Opens what can be of the body so far. @returns parts of the message @throws ChannelError `channel-unreadable` */
  push(sealed: Uint8Array): Uint8Array[] {
    if (this.#isLast && sealed.length > 0) throw unreadable('a chunk of it is altered');
    const data: Uint8Array[] = [];
    let rest = this.#held.length > 0 ? concat(this.#held, sealed) : sealed;
    if (!this.#cipher && rest.length >= SALT_LENGTH) {
      this.#salt = new Uint8Array(rest.subarray(0, SALT_LENGTH));
      this.#cipher = new XChaCha(this.#secret, this.#salt);
      rest = rest.subarray(SALT_LENGTH);
    }
    while (this.#cipher && !this.#isLast && rest.length >= SEALED_CHUNK) {
      const plain = this.#open(rest.subarray(0, SEALED_CHUNK), false);
      if (!plain && rest.length > SEALED_CHUNK) throw unreadable('a chunk of it is altered');
      if (plain) data.push(plain);
      else this.#isLast = true;
      rest = plain ? rest.subarray(SEALED_CHUNK) : rest;
    }
    this.#held = rest;
    return data;
  }

  /** The end of the body, or all of it. @returns parts of the message, the last one among them @throws ChannelError `channel-unreadable` */
  end(sealed: Uint8Array = NOTHING): Uint8Array[] {
    const data = this.push(sealed);
    const plain = this.#open(this.#held, true);
    if (!plain) throw unreadable('its last chunk is missing, or altered');
    return [...data, plain];
  }

  #open(chunk: Uint8Array, isLast: boolean): Uint8Array | undefined {
    if (!this.#cipher) return undefined;
    numberChunk(this.#cipher, this.#number, isLast);
    const plain = this.#cipher.open(chunk, this.#context);
    if (!plain || plain.length < PREFIX) return undefined;
    this.#number++;
    const end = PREFIX + (plain[0] ?? 0) * 256 + (plain[1] ?? 0);
    if (end > plain.length || !isZeros(plain, end)) throw unreadable('a chunk of it is malformed');
    return plain.subarray(PREFIX, end);
  }
}

/** Writes the end of the nonce: u56(number) || u8(last). */
function numberChunk({ nonce }: XChaCha, number: number, isLast: boolean): void {
  let rest = number;
  for (let at = 22; at > 15; at--) {
    nonce[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  nonce[23] = isLast ? 1 : 0;
}

/** Not by `every`, which takes longer for this than all of the cipher. */
function isZeros(bytes: Uint8Array, from: number): boolean {
  let seen = 0;
  for (let index = from; index < bytes.length; index++) seen |= bytes[index] ?? 0;
  return seen === 0;
}
