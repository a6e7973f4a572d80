/** Binary HTTP (RFC 9292): messages whole, and in pieces as they come and go. */
import { latin1, writeLatin1 } from '#channel';
import { concat } from '../encoding/bytes.ts';
import { unreadable } from './errors.ts';

/** Bytes that a head may have, interim answers among it; and trailers once more. */
export const MAXIMUM_HEAD = 65_536;

/** Names and values in turn, as Node.js has `rawHeaders`; decoded, names are in lower case. */
export type Fields = readonly string[];

export interface RequestHead {
  readonly method: string;
  readonly scheme: string;
  /** Empty where a field `host` says it. */
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
/** Nothing that ends a line, and no white space at the ends: RFC 9110 section 5.5, RFC 9113 section 8.2.1. */
const VALUE = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;
const PATH = /^(?:\/[\x21-\x7e\x80-\xff]*|\*)$/;
const AUTHORITY = /^[\x21-\x7e]*$/;

/**
 * Encodes what stands before the content; content of known length needs nothing behind it. Who decodes the head checks it.
 *
 * @param length - of the content; `undefined`: it comes in pieces
 */
export function encodeHead(head: RequestHead | AnswerHead, length: number | undefined): Uint8Array {
  const isRequest = 'method' in head;
  const control = isRequest ? [head.method, head.scheme, head.authority, head.path] : [];
  const section = sizeOf(head.fields);
  const whole = new Uint8Array(sizeOf(control) + section + 24);
  whole[0] = (isRequest ? REQUEST : ANSWER) + (length === undefined ? IN_PIECES : 0);
  let at = isRequest ? writeStrings(whole, 1, control) : writeInteger(whole, 1, head.status);
  if (length !== undefined) at = writeInteger(whole, at, section);
  at = writeStrings(whole, at, head.fields);
  return whole.subarray(0, length === undefined ? at + 1 : writeInteger(whole, at, length));
}

/** Behind content in pieces: its end, and that of the trailers, which the Rust crate bhttp misses where it is left out. */
export const END_OF_PIECES = new Uint8Array(2);

/** What stands before each piece of content, where it comes in pieces. */
export function encodeLength(length: number): Uint8Array {
  const bytes = new Uint8Array(8);
  return bytes.subarray(0, writeInteger(bytes, 0, length));
}

function sizeOf(strings: Fields): number {
  let size = 0;
  for (const { length } of strings) size += integerSize(length) + length;
  return size;
}

function writeStrings(target: Uint8Array, offset: number, strings: Fields): number {
  let at = offset;
  for (const text of strings) at = writeLatin1(target, text, writeInteger(target, at, text.length));
  return at;
}

function integerSize(value: number): 1 | 2 | 4 | 8 {
  return value < 64 ? 1 : value < 16_384 ? 2 : value < 2 ** 30 ? 4 : 8;
}

/** An integer of RFC 9000 section 16. @returns where it ends */
function writeInteger(target: Uint8Array, offset: number, value: number): number {
  const size = integerSize(value);
  let rest = value;
  for (let at = offset + size - 1; at >= offset; at--) {
    target[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  target[offset] = (target[offset] ?? 0) | (Math.log2(size) << 6);
  return offset + size;
}

/** Reads a message as it comes, and holds no more than one string of it besides its head. Interim answers and trailers are checked and dropped. */
export class MessageDecoder {
  readonly #parsing: Iterator<void>;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  /** Bytes read before `#bytes`. */
  #before = 0;
  #bound = MAXIMUM_HEAD;
  #isOver = false;

  private constructor(parsing: (decoder: MessageDecoder) => Iterator<void>) {
    this.#parsing = parsing(this);
  }

  static ofRequest(parts: MessageParts<RequestHead>): MessageDecoder {
    return new MessageDecoder((decoder) => decoder.#request(parts));
  }

  static ofAnswer(parts: MessageParts<AnswerHead>): MessageDecoder {
    return new MessageDecoder((decoder) => decoder.#answer(parts));
  }

  /** Reads on. @throws ChannelError `channel-unreadable`: no such message, or a head that is too long */
  push(bytes: Uint8Array): void {
    this.#before += this.#at;
    this.#bytes = this.#at === this.#bytes.length ? bytes : concat(this.#bytes.subarray(this.#at), bytes);
    this.#at = 0;
    this.#parsing.next();
  }

  /** Says that nothing comes any more. @throws ChannelError `channel-unreadable`: something is missing, or follows that is not zeros */
  end(): void {
    this.#isOver = true;
    this.#parsing.next();
  }

  *#request({ head, content }: MessageParts<RequestHead>): Iterator<void> & Iterable<void> {
    const isInPieces = yield* this.#framing(REQUEST);
    const control: string[] = [];
    while (control.length < 4) control.push(yield* this.#text(yield* this.#integer()));
    const [method = '', scheme = '', authority = '', path = ''] = control;
    if (!NAME.test(method) || !NAME.test(scheme) || !AUTHORITY.test(authority) || !PATH.test(path))
      throw unreadable('a request inside has no such method or URL');
    head({ method, scheme, authority, path, fields: yield* this.#section(isInPieces, false) });
    yield* this.#rest(isInPieces, content);
  }

  *#answer({ head, content }: MessageParts<AnswerHead>): Iterator<void> & Iterable<void> {
    const isInPieces = yield* this.#framing(ANSWER);
    let status = yield* this.#integer();
    for (; status >= 100 && status < 200; status = yield* this.#integer()) yield* this.#section(isInPieces, false);
    if (status < 200 || status > 599) throw unreadable('an answer inside has no such status');
    head({ status, fields: yield* this.#section(isInPieces, false) });
    yield* this.#rest(isInPieces, content);
  }

  *#framing(kind: typeof REQUEST | typeof ANSWER): Generator<void, boolean> {
    const framing = yield* this.#integer();
    if (framing > 3 || framing % 2 !== kind) throw unreadable('a message inside is of another kind');
    return framing >= IN_PIECES;
  }

  *#rest(isInPieces: boolean, content: (piece: Uint8Array) => void): Generator<void> {
    for (let left = yield* this.#integer(true); left > 0; left = isInPieces ? yield* this.#integer() : 0)
      while (left > 0) {
        while (this.#at === this.#bytes.length) yield this.#more();
        const piece = this.#bytes.subarray(this.#at, this.#at + left);
        this.#at += piece.length;
        left -= piece.length;
        content(piece);
      }
    this.#bound = this.#before + this.#at + MAXIMUM_HEAD;
    yield* this.#section(isInPieces, true);
    for (; !this.#isOver; yield)
      for (; this.#at < this.#bytes.length; this.#at++)
        if (this.#bytes[this.#at] !== 0) throw unreadable('something follows a message inside');
  }

  /** @param mayBeMissing - an empty section, at the end of a message */
  *#section(isInPieces: boolean, mayBeMissing: boolean): Generator<void, string[]> {
    const fields: string[] = [];
    const length = isInPieces ? Number.POSITIVE_INFINITY : yield* this.#integer(mayBeMissing);
    const end = this.#before + this.#at + length;
    while (this.#before + this.#at < end) {
      const nameLength = yield* this.#integer(isInPieces && mayBeMissing && fields.length === 0);
      if (isInPieces && nameLength === 0) break;
      const name = yield* this.#text(nameLength);
      const value = yield* this.#text(yield* this.#integer());
      if (!NAME.test(name) || !VALUE.test(value) || this.#before + this.#at > end)
        throw unreadable('a field inside is malformed');
      fields.push(name.toLowerCase(), value);
    }
    return fields;
  }

  *#text(length: number): Generator<void, string> {
    if (this.#before + this.#at + length > this.#bound) throw unreadable('a head inside is too long');
    while (this.#at + length > this.#bytes.length) yield this.#more();
    this.#at += length;
    return latin1(this.#bytes, this.#at - length, this.#at);
  }

  /** @param mayBeMissing - at the end of a message, for 0: section 3.8 */
  *#integer(mayBeMissing = false): Generator<void, number> {
    while (this.#at === this.#bytes.length) {
      if (this.#isOver && mayBeMissing) return 0;
      yield this.#more();
    }
    const size = 1 << ((this.#bytes[this.#at] ?? 0) >> 6);
    while (this.#at + size > this.#bytes.length) yield this.#more();
    let value = (this.#bytes[this.#at] ?? 0) & 0x3f;
    const end = this.#at + size;
    for (this.#at++; this.#at < end; this.#at++) value = value * 256 + (this.#bytes[this.#at] ?? 0);
    if (!Number.isSafeInteger(value)) throw unreadable('a length inside is too large');
    return value;
  }

  #more(): void {
    if (this.#isOver) throw unreadable('a message inside is cut');
  }
}
