/** Listener of HTTPCrypt: docs/spec/httpcrypt.md, the server's side. Without express, which would take as long as all of its cryptography. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { randomBytes } from '#primitives';
import { concatAll } from '../core/encoding/bytes.ts';
import type { AnswerHead, RequestHead } from '../core/httpcrypt/binary-http.ts';
import {
  decodeCookie,
  type Exchange,
  MessageReader,
  MessageWriter,
  sealAnswer,
  TICKET_LENGTH,
} from '../core/httpcrypt/exchange.ts';
import { recordAnswer } from '../core/httpcrypt/record.ts';
import { BODY_RANDOM, SEALED_CHUNK } from '../core/httpcrypt/sealed-body.ts';
import { drained } from '../node-support/drained.ts';
import { STATUS_CODES } from '../node-support/http.ts';
import { SAFE } from '../node-support/http-requests.ts';
import { load } from '../node-support/load.ts';
import { onceClosed } from '../node-support/once-closed.ts';
import { openPieces, sealPieces } from './sealed-streams.ts';
import type { Opening, ServerKeys } from './server-keys.ts';

/** Seconds after which to ask again, by an address that has asked too often. */
const PAUSE = 60;
/** Bytes of a request that is read before it is opened. */
const SHORT = SEALED_CHUNK;
const NOTHING = new Uint8Array(0);
const FIELDS = { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store, no-transform' };

/** Sender of a request. */
export interface Client {
  readonly address: string;
  /** Number of clients behind it: the limits of one address apply so many times. */
  readonly clients: number;
}

/** A request inside. */
export interface InnerRequest extends RequestHead, Client {
  /** Bytes where it is short; else a stream, as it comes. */
  readonly body: Uint8Array | Readable;
  /** Hears that the client has left, or was answered. */
  readonly onceClosed: (closed: () => void) => void;
}

export interface InnerAnswer extends AnswerHead {
  readonly body: Uint8Array | Readable;
  /** Name for `note`; not sent. */
  readonly route?: string;
}

export interface ListenerOptions {
  readonly url: string;
  readonly keys: ServerKeys;
  /** Counts a request, before anything is computed for it. @returns `undefined`: its address has sent too many */
  readonly admit: (request: IncomingMessage) => Client | undefined;
  /** Tells whether a request may be answered that can be a replay, besides GET, HEAD and OPTIONS. */
  readonly mayRepeat?: (request: RequestHead) => boolean;
  /** Answers what is inside; does not throw. */
  readonly answer: (request: InnerRequest) => Promise<InnerAnswer>;
  /** Called at the end of each answer: the method outside, what was asked for, the status that the client sees, milliseconds. */
  readonly note?: (method: string, route: string, status: number, ms: number) => void;
}

interface ExchangeOptions extends ListenerOptions {
  readonly origin: string;
}

/** Facts of a request for `note`. */
type Outcome = readonly [status: number, route?: string | undefined];

export function createListener(options: ListenerOptions): RequestListener {
  const { pathname: prefix, origin } = new URL(options.url);
  const serve = (request: IncomingMessage, response: ServerResponse): Outcome | Promise<Outcome> => {
    const isPost = request.method === 'POST';
    if (!request.url?.startsWith(prefix) || !(isPost || request.method === 'OPTIONS')) return refuse(response, 404);
    const client = options.admit(request);
    if (!client) return refuse(response, 429, PAUSE);
    if (!isPost) return options.keys.record().then((record) => plain(response, 200, recordAnswer(record)));
    const place = load.begin();
    place?.end(); // a slow client would hold it
    return place
      ? serveExchange({ ...options, origin }, client, request, response)
      : refuse(response, 503, load.pause());
  };
  return async (request, response) => {
    const start = performance.now();
    let outcome: Outcome = [500];
    try {
      outcome = await serve(request, response);
    } catch {
      response.destroy();
    }
    const [status, route = 'none'] = outcome;
    options.note?.(request.method ?? '', route, status, Math.round(performance.now() - start));
  };
}

async function serveExchange(
  options: ExchangeOptions,
  client: Client,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Outcome> {
  const cookie = decodeCookie(request.headers.cookie);
  const opening = cookie && options.keys.open(cookie.keyId, cookie.shown);
  const received = opening && (await receive(request, response, opening.exchange));
  if (!received) return refuse(response, 500);
  const { head, salt, body } = received;
  const place = load.begin();
  try {
    if (!place) return refuse(response, 503, load.pause());
    const inner = { ...head, ...client, body, onceClosed: (closed: () => void) => void onceClosed(response, closed) };
    const isWhole = body instanceof Uint8Array;
    if (!isWhole) place.end(); // see above
    const answer = await answerTo(options, opening, inner).finally(() => isWhole && place.end());
    if (received.isBroken) return refuse(response, 500);
    if (answer.body instanceof Uint8Array) send(response, opening, salt, answer, answer.body);
    else await sendStream(response, opening, salt, answer, answer.body);
    return [answer.status, answer.route];
  } finally {
    if (body instanceof Readable) body.destroy();
  }
}

async function answerTo(
  { origin, answer, mayRepeat = () => false }: ExchangeOptions,
  { fresh }: Opening,
  request: InnerRequest,
): Promise<InnerAnswer> {
  const { method, scheme, authority, path } = request;
  const isSafe = SAFE.has(method);
  if (!fresh && !isSafe && !mayRepeat(request)) return { status: 425, fields: [], body: NOTHING };
  if (`${scheme}://${authority}` !== origin) return { status: 421, fields: [], body: NOTHING };
  // Servers behind may read no content of safe requests, and take it for another request.
  return method === 'OPTIONS' && path === '*'
    ? { status: 204, fields: [], body: NOTHING }
    : answer(isSafe ? { ...request, body: NOTHING } : request);
}

interface Received {
  readonly head: RequestHead;
  readonly salt: Uint8Array;
  readonly body: Uint8Array | Readable;
  /** The rest of the body could not be opened. */
  isBroken?: true;
}

/** Reads a short request, or one until its head is there, and has the rest of its body follow. @returns `undefined` for what cannot be opened */
async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Exchange,
): Promise<Received | undefined> {
  const heard: (RequestHead | Uint8Array)[] = [];
  const hear = (part: RequestHead | Uint8Array) => void heard.push(part);
  const reader = MessageReader.ofRequest(exchange, { head: hear, content: hear });
  let received: Received | undefined;
  async function* read() {
    try {
      yield* openPieces(reader, heard, request.iterator({ destroyOnReturn: false }));
    } catch (error) {
      if (received) received.isBroken = true;
      if (response.headersSent) response.destroy();
      throw error;
    } finally {
      request.resume();
    }
  }
  try {
    if (Number(request.headers['content-length']) <= SHORT) {
      reader.end(await readWhole(request));
      const [head, ...pieces] = heard as [RequestHead, ...Uint8Array[]];
      return { head, salt: reader.salt, body: concatAll(pieces) };
    }
    const parts = read();
    const { value: head } = await parts.next();
    const body = Readable.from(parts, { objectMode: false }).on('error', () => undefined);
    received = { head: head as RequestHead, salt: reader.salt, body };
    return received;
  } catch {
    return undefined;
  }
}

function readWhole(request: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    request.on('data', (piece: Uint8Array) => pieces.push(piece));
    request.once('end', () => resolve(concatAll(pieces))).once('close', reject);
  });
}

/** Seals an answer that is at hand, out of random bytes that are asked for once. */
function send(
  response: ServerResponse,
  { exchange, issue }: Opening,
  salt: Uint8Array,
  head: AnswerHead,
  content: Uint8Array,
): void {
  const random = randomBytes(TICKET_LENGTH + BODY_RANDOM);
  const chunks = sealAnswer(exchange, salt, issue(random), head, content, random.subarray(TICKET_LENGTH));
  const sealed = chunks.length === 1 ? chunks[0] : concatAll(chunks);
  response.writeHead(200, { ...FIELDS, 'Content-Length': sealed?.length }).end(sealed);
}

/** Seals an answer as it comes; one that is cut ends the connection, so that the client sees it. */
async function sendStream(
  response: ServerResponse,
  { exchange, issue }: Opening,
  salt: Uint8Array,
  head: AnswerHead,
  body: Readable,
): Promise<void> {
  const chunks = sealPieces(MessageWriter.ofAnswer(exchange, salt, issue(randomBytes(TICKET_LENGTH)), head), body);
  onceClosed(response, () => body.destroy());
  try {
    for (;;) {
      const { done, value } = await chunks.next();
      if (!response.headersSent)
        response.writeHead(200, { ...FIELDS, ...(done && { 'Content-Length': value.length }) });
      if (done) return void response.end(value);
      if (!response.write(value) && !response.destroyed) await drained(response);
    }
  } catch {
    response.destroy();
  }
}

/** An answer in clear, as any server may have it. @param pause - seconds after which to ask again */
function refuse(response: ServerResponse, status: number, pause?: number): Outcome {
  if (pause !== undefined) response.setHeader('Retry-After', Math.ceil(pause));
  return plain(response, status, `${STATUS_CODES[status]}\n`);
}

function plain(response: ServerResponse, status: number, text: string): Outcome {
  if (response.headersSent) response.destroy();
  else
    response
      .writeHead(status, {
        'Content-Type': 'text/plain',
        'Content-Length': text.length,
        'Cache-Control': 'no-store, no-transform',
      })
      .end(text);
  return [status];
}
