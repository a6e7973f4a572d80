/** What listens for HTTPCrypt: docs/spec/httpcrypt.md, the server's side. Without express, which would take as long as all of its cryptography. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { concatAll } from '../core/encoding/bytes.ts';
import type { AnswerHead, RequestHead } from '../core/httpcrypt/binary-http.ts';
import { decodeCookie, MessageReader, MessageWriter, sealAnswer } from '../core/httpcrypt/exchange.ts';
import { recordAnswer } from '../core/httpcrypt/record.ts';
import { drained } from '../node-support/drained.ts';
import { STATUS_CODES } from '../node-support/http.ts';
import { load } from '../node-support/load.ts';
import { onceClosed } from '../node-support/once-closed.ts';
import type { Opening, ServerKeys } from './server-keys.ts';

/** Milliseconds for which an answer that comes slowly is held back, so that it fills its chunks. */
const HELD = 50;
/** Seconds after which to ask again, by an address that has asked too often. */
const PAUSE = 60;
const NOTHING = new Uint8Array(0);
const FIELDS = { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store, no-transform' };

/** Whom a request comes from. */
export interface Client {
  readonly address: string;
  /** Number of clients behind it: the limits of one address apply so many times. */
  readonly clients: number;
}

/** A request inside. */
export interface InnerRequest extends RequestHead, Client {
  /** All of it where it is short; else as it comes. */
  readonly body: Uint8Array | Readable;
  /** Hears that the client has left, or was answered. */
  readonly onceClosed: (closed: () => void) => void;
}

export interface InnerAnswer extends AnswerHead {
  readonly body: Uint8Array | Readable;
  /** What `note` is told; not sent. */
  readonly route?: string;
}

export interface ListenerOptions {
  readonly url: string;
  readonly keys: ServerKeys;
  /** Counts a request, before anything is computed for it. @returns `undefined`: its address has sent too many */
  readonly admit: (request: IncomingMessage) => Client | undefined;
  /** Whether a request may be answered that can be a replay, besides GET, HEAD and OPTIONS. */
  readonly mayRepeat?: (request: RequestHead) => boolean;
  /** Answers what is inside; does not throw. */
  readonly answer: (request: InnerRequest) => Promise<InnerAnswer>;
  /** Called at the end of each answer: the method outside, what was asked for, the status that the client sees, milliseconds. */
  readonly note?: (method: string, route: string, status: number, ms: number) => void;
}

/** What is noted of a request. */
type Outcome = readonly [status: number, route?: string | undefined];

export function createListener(options: ListenerOptions): RequestListener {
  const { pathname: prefix } = new URL(options.url);
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<Outcome> => {
    const isPost = request.method === 'POST';
    if (!request.url?.startsWith(prefix) || !(isPost || request.method === 'OPTIONS')) return refuse(response, 404);
    const client = options.admit(request);
    if (!client) return refuse(response, 429, PAUSE);
    if (!isPost) return plain(response, 200, recordAnswer(await options.keys.record()));
    const place = load.begin();
    if (!place) return refuse(response, 503, load.pause());
    place.end(); // a slow client would hold it
    return serveExchange(options, client, request, response);
  };
  return async (request, response) => {
    const start = performance.now();
    const outcome = serve(request, response).catch((): Outcome => {
      response.destroy();
      return [500];
    });
    const [status, route = 'none'] = await outcome;
    options.note?.(request.method ?? '', route, status, Math.round(performance.now() - start));
  };
}

async function serveExchange(
  options: ListenerOptions,
  client: Client,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Outcome> {
  const cookie = decodeCookie(request.headers.cookie);
  const opening = cookie && (await options.keys.open(cookie.keyId, cookie.shown));
  const received = opening && (await receive(request, response, opening));
  if (!received) return refuse(response, 500);
  const { head, salt, body } = received;
  const place = load.begin();
  try {
    if (!place) return refuse(response, 503, load.pause());
    const inner = { ...head, ...client, body, onceClosed: (closed: () => void) => void onceClosed(response, closed) };
    const isWhole = body instanceof Uint8Array;
    if (!isWhole) place.end(); // as above
    const answer = await answerTo(options, opening, inner).finally(() => isWhole && place.end());
    if (received.isBroken) return refuse(response, 500);
    await send(response, opening, salt, answer);
    return [answer.status, answer.route];
  } finally {
    if (body instanceof Readable) body.destroy();
  }
}

async function answerTo(
  { url, answer, mayRepeat = () => false }: ListenerOptions,
  { fresh }: Opening,
  request: InnerRequest,
): Promise<InnerAnswer> {
  const { method, scheme, authority, path } = request;
  const isSafe = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  if (!fresh && !isSafe && !mayRepeat(request)) return { status: 425, fields: [], body: NOTHING };
  if (`${scheme}://${authority}` !== new URL(url).origin) return { status: 421, fields: [], body: NOTHING };
  return path === '*' ? { status: 204, fields: [], body: NOTHING } : answer(request);
}

interface Received {
  readonly head: RequestHead;
  readonly salt: Uint8Array;
  readonly body: Uint8Array | Readable;
  /** The rest of the body could not be opened. */
  isBroken?: true;
}

/** Reads a request until its head is there, and has the rest of its body follow. @returns `undefined` for what cannot be opened */
function receive(
  request: IncomingMessage,
  response: ServerResponse,
  { exchange }: Opening,
): Promise<Received | undefined> {
  return new Promise((resolve) => {
    const pieces: Uint8Array[] = [];
    let head: RequestHead | undefined;
    let stream: Readable | undefined;
    let received: Received | undefined;
    const reader = MessageReader.ofRequest(exchange, {
      head: (came) => {
        head = came;
      },
      content: (piece) => {
        if (!stream) pieces.push(piece);
        else if (!stream.push(piece)) request.pause();
      },
    });
    const attempt = (work: () => void) => {
      try {
        work();
      } catch (error) {
        stop(error as Error);
      }
    };
    const stop = (error: Error | null) => {
      request.off('data', onData).off('end', onEnd).resume();
      resolve(undefined);
      if (!error || !received) return;
      received.isBroken = true;
      stream?.destroy(error);
      if (response.headersSent) response.destroy();
    };
    const onData = (bytes: Uint8Array) =>
      attempt(() => {
        reader.push(bytes);
        if (!head || stream) return;
        stream = new Readable({
          read: () => void request.resume(),
          destroy: (error, done) => {
            stop(null);
            done(error);
          },
        }).on('error', () => undefined);
        for (const piece of pieces) stream.push(piece);
        received = { head, salt: reader.salt, body: stream };
        resolve(received);
      });
    const onEnd = () =>
      attempt(() => {
        reader.end();
        if (stream) stream.push(null);
        else if (head)
          resolve({ head, salt: reader.salt, body: pieces.length === 1 ? (pieces[0] ?? NOTHING) : concatAll(pieces) });
      });
    const onClose = () => request.complete || stop(new Error('the client has left'));
    request.on('data', onData).once('end', onEnd).once('close', onClose);
  });
}

/** Seals an answer; one that is cut ends the connection, so that the client sees it. */
async function send(
  response: ServerResponse,
  { exchange, issue }: Opening,
  salt: Uint8Array,
  { body, status, fields }: InnerAnswer,
): Promise<void> {
  const head = { status, fields };
  const begin = (length?: number) =>
    response.writeHead(200, { ...FIELDS, ...(length !== undefined && { 'Content-Length': length }) });
  const end = (chunks: readonly Uint8Array[]) => {
    if (!response.headersSent) begin(chunks.reduce((sum, { length }) => sum + length, 0));
    for (const chunk of chunks.slice(0, -1)) response.write(chunk);
    response.end(chunks.at(-1));
  };
  if (body instanceof Uint8Array) return end(sealAnswer(exchange, salt, issue(), head, body));
  const writer = MessageWriter.ofAnswer(exchange, salt, issue(), head);
  const write = (chunks: readonly Uint8Array[]) => {
    if (chunks.length > 0 && !response.headersSent) begin();
    for (const chunk of chunks) response.write(chunk);
  };
  // Slow streams pass at once; where the client is slower, chunks are filled.
  const flush = () => writer.isHolding && !response.writableNeedDrain && write(writer.flush());
  const timer = setInterval(flush, HELD);
  onceClosed(response, () => body.destroy());
  try {
    for await (const piece of body) {
      write(writer.push(piece));
      if (response.writableNeedDrain && !response.destroyed) await drained(response);
    }
    end(writer.end());
  } catch {
    response.destroy();
  } finally {
    clearInterval(timer);
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
