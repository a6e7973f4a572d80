/** Exchanges over HTTPCrypt: whose keys it has, how its request and answer are sealed, and what they say. docs/spec/httpcrypt.md, "Requests" and "Answers". */
import { x25519KeyPair } from '#channel';
import { randomBytes, sha256 } from '#primitives';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, concatAll, utf8 } from '../encoding/bytes.ts';
import {
  type AnswerHead,
  END_OF_PIECES,
  encodeHead,
  encodeLength,
  MessageDecoder,
  type MessageParts,
  type RequestHead,
} from './binary-http.ts';
import { ChannelError } from './errors.ts';
import { SERVER_KEY_ID_LENGTH } from './record.ts';
import { BodyOpener, BodySealer } from './sealed-body.ts';

const REQUEST_LABEL = utf8('wispr/2 httpcrypt request\n');
const ANSWER_LABEL = utf8('wispr/2 httpcrypt answer\n');
/** Bytes of a ticket, of its secret, and of an X25519 key, which takes the ticket's place. */
export const SHOWN_LENGTH = 32;
export const TICKET_LENGTH = 2 * SHOWN_LENGTH;
const MAXIMUM_COOKIE_PADDING = 31;
const COOKIE_NAMES = [
  ...['session', 'sessionid', 'sid', 'SID', 'connect.sid', 'PHPSESSID', 'JSESSIONID', 'laravel_session'],
] as const;

export interface Ticket {
  /** Bytes that a request shows: a ticket, or the client's X25519 public key. */
  readonly shown: Uint8Array;
  readonly secret: Uint8Array;
}

/** A ticket or a fresh key, and the public key of the server that it is for. */
export interface Exchange extends Ticket {
  readonly publicKey: Uint8Array;
}

/**
 * A fresh key of a client's, for one request. @param publicKey - of the server
 *
 * @throws ChannelError `channel-key-refused` if that is of small order
 */
export function beginExchange(publicKey: Uint8Array): Exchange {
  const random = randomBytes(SHOWN_LENGTH + 1);
  const own = x25519KeyPair(random.subarray(0, SHOWN_LENGTH));
  const secret = own.agree(publicKey);
  if (!secret) throw new ChannelError('channel-key-refused', 'the server key for HTTPCrypt is of small order');
  const shown = new Uint8Array(own.publicKey);
  // Bit 255 says nothing to X25519, and would tell a key from random bytes.
  shown[SHOWN_LENGTH - 1] = (shown[SHOWN_LENGTH - 1] ?? 0) | ((random[SHOWN_LENGTH] ?? 0) & 0x80);
  return { publicKey, shown, secret };
}

/** Name of the cookie of all requests to an endpoint. @param url - of the endpoint */
export async function cookieName(url: string): Promise<string> {
  const [first = 0] = await sha256(utf8(url));
  return COOKIE_NAMES[first % COOKIE_NAMES.length] ?? COOKIE_NAMES[0];
}

/** Value of a `Cookie` field. @param name - {@link cookieName} @param keyId - of the server key */
export function encodeCookie(name: string, keyId: Uint8Array, { shown }: Ticket): string {
  const [length = 0, ...padding] = randomBytes(1 + MAXIMUM_COOKIE_PADDING);
  const random = Uint8Array.from(padding).subarray(0, length % (MAXIMUM_COOKIE_PADDING + 1));
  return `${name}=${toBase64url(concat(keyId, shown, random))}`;
}

/** Reads a `Cookie` field; `undefined` if it is not of the form. */
export function decodeCookie(header: string | undefined): { keyId: Uint8Array; shown: Uint8Array } | undefined {
  const bytes = fromBase64url(/^[\w.-]+=([\w-]+)$/.exec(header ?? '')?.[1]);
  const padding = (bytes?.length ?? 0) - SERVER_KEY_ID_LENGTH - SHOWN_LENGTH;
  if (!bytes || padding < 0 || padding > MAXIMUM_COOKIE_PADDING) return undefined;
  const shown = bytes.subarray(SERVER_KEY_ID_LENGTH, SERVER_KEY_ID_LENGTH + SHOWN_LENGTH);
  return { keyId: bytes.subarray(0, SERVER_KEY_ID_LENGTH), shown };
}

function requestContext({ publicKey, shown }: Exchange): Uint8Array {
  return concat(REQUEST_LABEL, publicKey, shown);
}

function answerContext({ publicKey, shown }: Exchange, salt: Uint8Array): Uint8Array {
  return concat(ANSWER_LABEL, publicKey, shown, salt);
}

/**
 * The body of a request whose content is at hand.
 *
 * @param random - as for BodySealer
 * @returns the body, and its salt, which the answer is opened with
 */
export function sealRequest(exchange: Exchange, head: RequestHead, content: Uint8Array, random?: Uint8Array) {
  const sealer = new BodySealer(exchange.secret, requestContext(exchange), random);
  return { body: concatAll(sealer.end(encodeHead(head, content.length), content)), salt: sealer.salt };
}

/** The body of an answer whose content is at hand. @param salt - of the request @param ticket - for a later one @param random - as for BodySealer */
export function sealAnswer(
  exchange: Exchange,
  salt: Uint8Array,
  ticket: Ticket,
  head: AnswerHead,
  content: Uint8Array,
  random?: Uint8Array,
): Uint8Array[] {
  const sealer = new BodySealer(exchange.secret, answerContext(exchange, salt), random);
  return sealer.end(ticket.shown, ticket.secret, encodeHead(head, content.length), content);
}

/** Seals a message whose content comes in pieces. */
export class MessageWriter extends BodySealer {
  static ofRequest(exchange: Exchange, head: RequestHead): MessageWriter {
    const writer = new MessageWriter(exchange.secret, requestContext(exchange));
    writer.hold(encodeHead(head, undefined));
    return writer;
  }

  /** @param salt - of the request @param ticket - for a later one */
  static ofAnswer(exchange: Exchange, salt: Uint8Array, ticket: Ticket, head: AnswerHead): MessageWriter {
    const writer = new MessageWriter(exchange.secret, answerContext(exchange, salt));
    writer.hold(ticket.shown, ticket.secret, encodeHead(head, undefined));
    return writer;
  }

  override push(piece: Uint8Array): Uint8Array[] {
    return piece.length > 0 ? super.push(encodeLength(piece.length), piece) : super.push();
  }

  override end(): Uint8Array[] {
    return super.end(END_OF_PIECES);
  }
}

/** Hears what an answer says: first the ticket that it brings. */
export interface AnswerParts extends MessageParts<AnswerHead> {
  readonly ticket: (ticket: Ticket) => void;
}

/** Opens and reads a body as it comes: step C4. Both methods throw ChannelError `channel-unreadable`; nothing is to be read after that. */
export class MessageReader {
  readonly #opener: BodyOpener;
  readonly #decoder: MessageDecoder;
  readonly #ticket: AnswerParts['ticket'] | undefined;
  /** Beginning of a ticket that is not whole yet. */
  #front: Uint8Array | undefined;

  private constructor(opener: BodyOpener, decoder: MessageDecoder, ticket?: AnswerParts['ticket']) {
    this.#opener = opener;
    this.#decoder = decoder;
    this.#ticket = ticket;
    this.#front = ticket && new Uint8Array(0);
  }

  static ofRequest(exchange: Exchange, parts: MessageParts<RequestHead>): MessageReader {
    const opener = new BodyOpener(exchange.secret, requestContext(exchange));
    return new MessageReader(opener, MessageDecoder.ofRequest(parts));
  }

  /** @param salt - of the request */
  static ofAnswer(exchange: Exchange, salt: Uint8Array, parts: AnswerParts): MessageReader {
    const opener = new BodyOpener(exchange.secret, answerContext(exchange, salt));
    return new MessageReader(opener, MessageDecoder.ofAnswer(parts), parts.ticket);
  }

  /** Salt of the body, once a part was heard. */
  get salt(): Uint8Array {
    return this.#opener.salt;
  }

  push(sealed: Uint8Array): void {
    for (const data of this.#opener.push(sealed)) this.#read(data);
  }

  /** The end of the body. @param sealed - its last part, or all of it */
  end(sealed?: Uint8Array): void {
    for (const data of this.#opener.end(sealed)) this.#read(data);
    this.#decoder.end();
  }

  #read(data: Uint8Array): void {
    const front = this.#front && concat(this.#front, data);
    this.#front = front && front.length < TICKET_LENGTH ? front : undefined;
    if (this.#front) return;
    if (front) this.#ticket?.(ticketOf(front));
    this.#decoder.push(front ? front.subarray(TICKET_LENGTH) : data);
  }
}

/** The ticket of bytes that begin with it; a copy. */
export function ticketOf(bytes: Uint8Array): Ticket {
  const copy = new Uint8Array(bytes.subarray(0, TICKET_LENGTH));
  return { shown: copy.subarray(0, SHOWN_LENGTH), secret: copy.subarray(SHOWN_LENGTH) };
}
