/** Binary HTTP (RFC 9292): messages whole, and in pieces as they come and go. */
import { fromLatin1, latin1 } from '#channel';
import { concat } from '../encoding/bytes.ts';
import { unreadable } from './errors.ts';

/** Bytes that a head may have, interim answers among it; and trailers once more. */
export const MAXIMUM_HEAD = 65_536;
const MAXIMUM_FIELDS = 1000;
/** Bytes of a part that are read again because more of it has come: a head in very many pieces would cost the square of its length. */
const MAXIMUM_REREAD = 16 * MAXIMUM_HEAD;

/** Names and values in turn, as Node.js has `rawHeaders`; decoded, names are in lower case. */
export type Fields = readonly string[];

export interface RequestHead {
  readonly method: string;
  readonly scheme: string;
  /** Is empty where a field `host` says it. */
  readonly authority: string;
  readonly path: string;
  readonly fields: Fields;
}

export interface AnswerHead {
  /** 200 to 599. */
  readonly status: number;
  readonly fields: Fields;
}

/** Hears the parts of a message in this order; `content` once for each piece that has come, which shares memory with what was pushed. */
export interface MessageParts<Head> {
  readonly head: (head: Head) => void;
  readonly content: (piece: Uint8Array) => void;
}

/** Framing indicators (section 3.3): of a request, and what answers and messages in pieces have more. */
const REQUEST = 0;
const ANSWER = 1;
const IN_PIECES = 2;

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Value without what ends a line, and without white space at its ends: RFC 9110 section 5.5, RFC 9113 section 8.2.1. */
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
const PATH = /^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/;
const LENGTH = 'content-length';
/** A length that hops could read in two ways splits messages. */
const DIGITS = /^\d{1,15}$/;
const AUTHORITY = /^[\x21-\x7e]*$/;

/**
 * Encodes what stands before the content; content of known length needs nothing behind it. The side that decodes the head checks it.
 *
 * @param length - of the content; `undefined`: it comes in pieces
 */
export function encodeHead(head: RequestHead | AnswerHead, length: number | undefined): Uint8Array {
  const isRequest = 'method' in head;
  const framing = (isRequest ? REQUEST : ANSWER) + (length === undefined ? IN_PIECES : 0);
  const control = isRequest ? strings([head.method, head.scheme, head.authority, head.path]) : integer(head.status);
  const section = strings(head.fields);
  const rest = length === undefined ? `${section}\0` : integer(section.length) + section + integer(length);
  return fromLatin1(integer(framing) + control + rest);
}

/** End of content in pieces, and of the trailers, which the Rust crate bhttp misses where it is left out. */
export const END_OF_PIECES = new Uint8Array(2);

/** Length before each piece of content, where it comes in pieces. */
export function encodeLength(length: number): Uint8Array {
  return fromLatin1(integer(length));
}

function strings(texts: readonly string[]): string {
  let all = '';
  for (const text of texts) all += integer(text.length) + text;
  return all;
}

/** An integer of RFC 9000 section 16, as a character for each byte. */
function integer(value: number): string {
  const [size, mark] = value < 64 ? [1, 0] : value < 16_384 ? [2, 64] : value < 2 ** 30 ? [4, 128] : [8, 192];
  let text = '';
  for (let power = size - 1; power >= 0; power--)
    text += String.fromCharCode((Math.floor(value / 256 ** power) % 256) + (text === '' ? mark : 0));
  return text;
}

/** Reads a message as it comes, and holds no more of it than its head, or its trailers. Interim answers and trailers are checked and dropped. */
export class MessageDecoder {
  readonly #reading: Iterator<void>;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  /** End that the part which is being read must not pass. */
  #bound = 0;
  /** Bytes of that part are still missing. */
  #isShort = false;
  #isInPieces = false;
  /** Value of the field that says how long the content is. */
  #said: number | undefined;
  #isOver = false;

  private constructor(reading: (decoder: MessageDecoder) => Iterator<void>) {
    this.#reading = reading(this);
  }

  static ofRequest(parts: MessageParts<RequestHead>): MessageDecoder {
    return new MessageDecoder((decoder) => decoder.#message(REQUEST, () => decoder.#request(), parts));
  }

  static ofAnswer(parts: MessageParts<AnswerHead>): MessageDecoder {
    return new MessageDecoder((decoder) => decoder.#message(ANSWER, () => decoder.#answer(), parts));
  }

  /** Reads on. @throws ChannelError `channel-unreadable`: no such message, or a head that is too long */
  push(bytes: Uint8Array): void {
    this.#bytes = this.#at === this.#bytes.length ? bytes : concat(this.#bytes.subarray(this.#at), bytes);
    this.#at = 0;
    this.#reading.next();
  }

  /** Says that nothing comes any more. @throws ChannelError `channel-unreadable`: something is missing, or follows that is not zeros */
  end(): void {
    this.#isOver = true;
    this.#reading.next();
  }

  *#message<Head>(kind: number, read: () => Head, { head, content }: MessageParts<Head>): Generator<void> {
    head(
      yield* this.#whole(() => {
        const framing = this.#integer();
        this.#check(framing <= 3 && framing % 2 === kind, 'is of another kind');
        this.#isInPieces = framing >= IN_PIECES;
        return read();
      }),
    );
    const said = kind === REQUEST ? this.#said : undefined; // an answer to HEAD says that of another
    let length = 0;
    let left = yield* this.#whole(() => this.#integer(true));
    while (left > 0) {
      while (this.#at === this.#bytes.length) yield this.#more();
      const piece = this.#bytes.subarray(this.#at, this.#at + left);
      this.#at += piece.length;
      left -= piece.length;
      length += piece.length;
      this.#check(length <= (said ?? length), 'is longer than it says');
      content(piece);
      if (left === 0 && this.#isInPieces) left = yield* this.#whole(() => this.#integer());
    }
    this.#check(length === (said ?? length), 'is shorter than it says');
    yield* this.#whole(() => this.#section(true));
    for (; !this.#isOver; yield)
      for (; this.#at < this.#bytes.length; this.#at++)
        if (this.#bytes[this.#at] !== 0) throw unreadable('something follows a message inside');
  }

  /** A part that is read once all of it has come; until then, what is missing reads as zeros. */
  *#whole<Part>(read: () => Part): Generator<void, Part> {
    for (let reread = 0; ; ) {
      const start = this.#at;
      this.#bound = start + MAXIMUM_HEAD;
      this.#isShort = false;
      const part = read();
      if (!this.#isShort) return part;
      this.#at = start;
      reread += this.#bytes.length - start;
      if (reread > MAXIMUM_REREAD) throw unreadable('a message inside comes in too many pieces');
      yield this.#more();
    }
  }

  #more(): void {
    if (this.#isOver) throw unreadable('a message inside is cut');
  }

  #check(isGood: boolean, what: string): void {
    if (!isGood && !this.#isShort) throw unreadable(`a message inside ${what}`);
  }

  #request(): RequestHead {
    const [method, scheme, authority, path] = [this.#text(), this.#text(), this.#text(), this.#text()];
    const isSound = NAME.test(method) && NAME.test(scheme) && AUTHORITY.test(authority) && PATH.test(path);
    this.#check(isSound, 'has no such method or URL');
    return { method, scheme, authority, path, fields: this.#section() };
  }

  #answer(): AnswerHead {
    let status = this.#integer();
    for (; status >= 100 && status < 200; status = this.#integer()) this.#section();
    this.#check(status >= 200 && status <= 599, 'has no such status');
    return { status, fields: this.#section() };
  }

  /** @param mayBeMissing - an empty section, at the end of a message */
  #section(mayBeMissing = false): string[] {
    const fields: string[] = [];
    this.#said = undefined;
    const end = this.#isInPieces ? Number.POSITIVE_INFINITY : this.#integer(mayBeMissing) + this.#at;
    while (this.#at < end && !this.#isShort) {
      const name = this.#text(mayBeMissing && this.#isInPieces && fields.length === 0).toLowerCase();
      if (this.#isInPieces && name === '') break;
      const value = this.#text();
      const isLength = name === LENGTH;
      const isSound = !isLength || (DIGITS.test(value) && this.#said === undefined);
      this.#check(isSound && NAME.test(name) && VALUE.test(value) && this.#at <= end, 'has a malformed field');
      if (isLength) this.#said = Number(value);
      this.#check(fields.length < 2 * MAXIMUM_FIELDS, 'has too many fields');
      fields.push(name, value);
    }
    return fields;
  }

  #text(mayBeMissing = false): string {
    const length = this.#integer(mayBeMissing);
    const start = this.#at;
    this.#at += length;
    this.#check(this.#at <= this.#bound, 'has a head that is too long');
    this.#isShort ||= this.#at > this.#bytes.length;
    return latin1(this.#bytes, start, this.#at);
  }

  /** @param mayBeMissing - at the end of a message, for 0: section 3.8 */
  #integer(mayBeMissing = false): number {
    this.#check(this.#at < this.#bound, 'has a head that is too long');
    const first = this.#bytes[this.#at];
    this.#isShort ||= first === undefined && !(mayBeMissing && this.#isOver);
    if (first === undefined) return 0;
    let value = first & 0x3f;
    const end = this.#at + (1 << (first >> 6));
    for (this.#at++; this.#at < end; this.#at++) value = value * 256 + (this.#bytes[this.#at] ?? 0);
    this.#isShort ||= end > this.#bytes.length;
    this.#check(Number.isSafeInteger(value), 'has a length that is too large');
    return value;
  }
}
