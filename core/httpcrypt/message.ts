/** What travels over HTTPCrypt, and how it is sealed: docs/spec/httpcrypt.md, "Requests" and "Answers". */
import { XCHACHA_NONCE_LENGTH, x25519KeyPair, xchachaOpen, xchachaSeal } from '#channel';
import { randomBytes, sha256 } from '#primitives';
import { padmeLength } from '../crypto/padding.ts';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, concatAll, fromUtf8, readU32, u32, utf8 } from '../encoding/bytes.ts';
import { TAG_LENGTH } from '../primitives/contract.ts';
import { ChannelError } from './errors.ts';
import { SERVER_KEY_ID_LENGTH } from './record.ts';

const REQUEST_LABEL = utf8('wispr/1 httpcrypt request\n');
const ANSWER_LABEL = utf8('wispr/1 httpcrypt answer\n');
/** Bytes of a ticket, of its secret, and of an X25519 key, which takes the ticket's place. */
export const SHOWN_LENGTH = 32;
/** Bytes: what a message grows by, and the least that it has. More would cost a narrow link seconds for each message. */
const PADDING_STEP = 1024;
const MAXIMUM_COOKIE_PADDING = 31;

export const MAXIMUM_REQUEST = 32_768;
export const MAXIMUM_ANSWER = 300_000;
/** As long as the shortest answer: what cannot be opened is answered with so many random bytes. */
export const SHORTEST_ANSWER = XCHACHA_NONCE_LENGTH + PADDING_STEP + TAG_LENGTH;

export interface ChannelKeys {
  /** What the request shows: a ticket, or the Reader's X25519 public key. */
  readonly shown: Uint8Array;
  readonly secret: Uint8Array;
}

export interface ChannelRequest {
  /** Method and path, such as `POST /v1/keys`. */
  readonly target: string;
  readonly content: Uint8Array;
}

export interface ChannelAnswer {
  readonly status: number;
  readonly content: Uint8Array;
  /** By which a later request can be sealed. */
  readonly ticket: ChannelKeys;
}

/**
 * A fresh key of a Reader's, for one request. @param publicKey - of the server
 *
 * @throws ChannelError `channel-key-refused` if that is of small order
 */
export function beginExchange(publicKey: Uint8Array): ChannelKeys {
  const own = x25519KeyPair(randomBytes(SHOWN_LENGTH));
  const secret = own.agree(publicKey);
  if (!secret) throw new ChannelError('channel-key-refused', 'the server key for HTTPCrypt is of small order');
  const shown = new Uint8Array(own.publicKey);
  // Bit 255 says nothing to X25519, and would tell a key from random bytes.
  const last = SHOWN_LENGTH - 1;
  shown[last] = (shown[last] ?? 0) | ((randomBytes(1)[0] ?? 0) & 0x80);
  return { shown, secret };
}

/** The cookie of a request, name and value. */
export function encodeCookie(keyId: Uint8Array, shown: Uint8Array): string {
  const [length = 0] = randomBytes(1);
  return `session=${toBase64url(concat(keyId, shown, randomBytes(length % (MAXIMUM_COOKIE_PADDING + 1))))}`;
}

/** What a `Cookie` header shows; `undefined` if it is not of the form. */
export function decodeCookie(header: string | undefined): { keyId: Uint8Array; shown: Uint8Array } | undefined {
  const bytes = fromBase64url(/^[\w-]+=([\w-]+)$/.exec(header ?? '')?.[1]);
  const padding = (bytes?.length ?? 0) - SERVER_KEY_ID_LENGTH - SHOWN_LENGTH;
  if (!bytes || padding < 0 || padding > MAXIMUM_COOKIE_PADDING) return undefined;
  const shown = bytes.subarray(SERVER_KEY_ID_LENGTH, SERVER_KEY_ID_LENGTH + SHOWN_LENGTH);
  return { keyId: bytes.subarray(0, SERVER_KEY_ID_LENGTH), shown };
}

/** The body of a request. @param nonce - random, but in test vectors */
export function sealRequest(
  publicKey: Uint8Array,
  exchange: ChannelKeys,
  { target, content }: ChannelRequest,
  nonce: Uint8Array = randomBytes(XCHACHA_NONCE_LENGTH),
): Uint8Array {
  const name = utf8(target);
  const message = pad(u32(name.length), name, u32(content.length), content);
  return xchachaSeal(exchange.secret, nonce, message, requestContext(publicKey, exchange));
}

/** Undoes {@link sealRequest}; `undefined` for anything else. @param publicKey - of the server */
export function openRequest(
  publicKey: Uint8Array,
  exchange: ChannelKeys,
  body: Uint8Array,
): ChannelRequest | undefined {
  if (body.length > MAXIMUM_REQUEST) return undefined;
  const message = xchachaOpen(exchange.secret, body, requestContext(publicKey, exchange));
  const [first, second] = (message && splitParts(message, 0, 2)) ?? [];
  const target = first && fromUtf8(first);
  return target === undefined || !second ? undefined : { target, content: second };
}

/** The body of an answer. @param request - body of the request @param nonce - random, but in test vectors */
export async function sealAnswer(
  secret: Uint8Array,
  request: Uint8Array,
  { status, content, ticket }: ChannelAnswer,
  nonce: Uint8Array = randomBytes(XCHACHA_NONCE_LENGTH),
): Promise<Uint8Array> {
  const message = pad(ticket.shown, ticket.secret, u32(status), u32(content.length), content);
  return xchachaSeal(secret, nonce, message, await answerContext(request));
}

/**
 * Undoes {@link sealAnswer}: step C4.
 *
 * @throws ChannelError `channel-unreadable`: altered, or the answer to another request
 */
export async function openAnswer(secret: Uint8Array, request: Uint8Array, body: Uint8Array): Promise<ChannelAnswer> {
  const message = body.length <= MAXIMUM_ANSWER ? xchachaOpen(secret, body, await answerContext(request)) : undefined;
  const [content] = (message && splitParts(message, 2 * SHOWN_LENGTH + 4, 1)) ?? [];
  if (!message || !content)
    throw new ChannelError('channel-unreadable', 'what came back over HTTPCrypt is no answer to the request');
  const ticket = { shown: message.slice(0, SHOWN_LENGTH), secret: message.slice(SHOWN_LENGTH, 2 * SHOWN_LENGTH) };
  return { status: readU32(message, 2 * SHOWN_LENGTH), content, ticket };
}

/** In one piece of memory: answers are copied no oftener than they have to be. */
function pad(...parts: Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return concatAll(parts, new Uint8Array(paddedLength(length)));
}

function paddedLength(length: number): number {
  return padmeLength(Math.ceil(length / PADDING_STEP) * PADDING_STEP);
}

/** The `count` length-prefixed parts from `offset` on; `undefined` unless only the right padding follows. */
function splitParts(message: Uint8Array, offset: number, count: number): Uint8Array[] | undefined {
  const parts: Uint8Array[] = [];
  let from = offset;
  for (let index = 0; index < count; index++) {
    if (message.length < from + 4) return undefined;
    const end = from + 4 + readU32(message, from);
    if (message.length < end) return undefined;
    parts.push(message.subarray(from + 4, end));
    from = end;
  }
  return message.length === paddedLength(from) && isZeros(message, from) ? parts : undefined;
}

/** Not by `every`, which takes longer for this than all of the cipher. */
function isZeros(bytes: Uint8Array, from: number): boolean {
  let seen = 0;
  for (let index = from; index < bytes.length; index++) seen |= bytes[index] ?? 0;
  return seen === 0;
}

function requestContext(publicKey: Uint8Array, { shown }: ChannelKeys): Uint8Array {
  return concat(REQUEST_LABEL, publicKey, shown);
}

async function answerContext(request: Uint8Array): Promise<Uint8Array> {
  return concat(ANSWER_LABEL, await sha256(request));
}
