/** Bodies in sealed chunks: docs/spec/httpcrypt.md, "Sealed bodies". Small ones are sealed and opened in one call of `end`. */
import { isZeros, uncleared, XChaCha } from '#channel';
import { randomBytes } from '#primitives';
import { concat } from '../encoding/bytes.ts';
import { TAG_LENGTH } from '../primitives/contract.ts';
import { unreadable } from './errors.ts';

const SALT_LENGTH = 16;
/** Random bytes of a body: its salt, and one for the length of its padding. */
export const BODY_RANDOM = SALT_LENGTH + 1;
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

/** Seals a message as it comes. What its methods return is the body, in order. */
export class BodySealer {
  readonly salt: Uint8Array;
  readonly #cipher: XChaCha;
  readonly #context: Uint8Array;
  readonly #padding: number;
  #sealed: Uint8Array[] = [];
  #chunk: Uint8Array | undefined;
  #end = PREFIX;
  #number = 0;

  /** @param context - additional data of every chunk @param random - {@link BODY_RANDOM} bytes, fresh but in test vectors */
  constructor(secret: Uint8Array, context: Uint8Array, random: Uint8Array = randomBytes(BODY_RANDOM)) {
    this.salt = random.subarray(0, SALT_LENGTH);
    this.#padding = (random[SALT_LENGTH] ?? 0) & MOST_RANDOM_PADDING;
    this.#cipher = new XChaCha(secret, this.salt);
    this.#context = context;
  }

  /** Part of the message is in no sealed chunk yet. */
  get isHolding(): boolean {
    return this.#end > PREFIX;
  }

  /** Takes parts of the message. @returns the chunks that are full */
  push(...parts: Uint8Array[]): Uint8Array[] {
    this.hold(...parts);
    return this.#take();
  }

  /** A whole chunk of what is held, because more may be long in coming. */
  flush(): Uint8Array[] {
    this.#seal(PLAIN_CHUNK, false);
    return this.#take();
  }

  /** The end of the message. @param parts - what is left of it, or all of it */
  end(...parts: Uint8Array[]): Uint8Array[] {
    const rest = parts.reduce((sum, { length }) => sum + length, PREFIX);
    this.#chunk ??= uncleared(this.#lengthOfLast(rest));
    this.hold(...parts);
    this.#seal(this.#lengthOfLast(this.#end), true);
    return this.#take();
  }

  /** Takes parts of the message, whose chunks come with later ones. */
  protected hold(...parts: Uint8Array[]): void {
    for (const part of parts)
      for (let from = 0; from < part.length; ) {
        if (this.#end === PLAIN_CHUNK) this.#seal(PLAIN_CHUNK, false);
        this.#chunk ??= uncleared(PLAIN_CHUNK);
        const piece = part.subarray(from, from + PLAIN_CHUNK - this.#end);
        this.#chunk.set(piece, this.#end);
        this.#end += piece.length;
        from += piece.length;
      }
  }

  #take(): Uint8Array[] {
    const sealed = this.#sealed;
    this.#sealed = [];
    return sealed;
  }

  #lengthOfLast(used: number): number {
    const padded = Math.ceil(used / PADDING_STEP) * PADDING_STEP;
    return Math.min(padded + this.#padding, PLAIN_CHUNK);
  }

  #seal(length: number, isLast: boolean): void {
    this.#chunk ??= uncleared(PLAIN_CHUNK);
    const plain = this.#chunk.fill(0, this.#end).subarray(0, length);
    plain[0] = (this.#end - PREFIX) >> 8;
    plain[1] = this.#end - PREFIX;
    this.#end = PREFIX;
    const front = this.#number === 0 ? this.salt : NOTHING;
    this.#sealed.push(this.#cipher.seal(this.#number++, isLast, plain, this.#context, front));
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
  /** True where a full chunk is held, which no other can follow. */
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
    const plain = this.#cipher?.open(this.#number, isLast, chunk, this.#context);
    if (!plain || plain.length < PREFIX) return undefined;
    this.#number++;
    const end = PREFIX + (plain[0] ?? 0) * 256 + (plain[1] ?? 0);
    if (end > plain.length || !isZeros(plain.subarray(end))) throw unreadable('a chunk of it is malformed');
    return plain.subarray(PREFIX, end);
  }
}
