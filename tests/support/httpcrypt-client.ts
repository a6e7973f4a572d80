/** A client of HTTPCrypt that does as a test tells it: one request at a time, from a stream if need be, with whatever comes back when. */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import type { AnswerHead, RequestHead } from '../../core/httpcrypt/binary-http.ts';
import { beginExchange, type Exchange, encodeCookie, sealRequest, type Ticket } from '../../core/httpcrypt/exchange.ts';
import { recordFromAnswer, verifyRecord } from '../../core/httpcrypt/record.ts';
import { openStream, sealStream } from '../../httpcrypt/sealed-streams.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { sendRaw } from './httpcrypt-path.ts';

interface Asked extends Partial<RequestHead> {
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly ticket?: Ticket | undefined;
  /** Hears the request outside, as soon as it was begun. */
  readonly begun?: (outgoing: ClientRequest) => void;
  /** Hears each piece of content, when it comes. */
  readonly heard?: (piece: Buffer) => void;
}

interface Came extends AnswerHead {
  /** Status of the answer outside; all others are empty, if that is not 200. */
  readonly outside: number;
  readonly content: Buffer;
  readonly ticket: Ticket | undefined;
  /** The code of the error that ended it. */
  readonly error: string | undefined;
}

export class HttpcryptClient {
  readonly #url: string;
  readonly #key: Uint8Array;
  readonly #port: number;
  ticket: Ticket | undefined;

  /** @param endpoint - `url#key` @param port - of this machine, where it listens */
  constructor(endpoint: string, port: number) {
    const [url = '', key] = endpoint.split('#');
    this.#url = url;
    this.#key = fromBase64url(key, 32) ?? new Uint8Array(0);
    this.#port = port;
  }

  /** Sends a request by the last ticket, or by a fresh key. */
  async send({ body = new Uint8Array(0), ticket = this.ticket, begun, heard, ...more }: Asked): Promise<Came> {
    const record = recordFromAnswer((await sendRaw(this.#at(''), 'OPTIONS', undefined)).body.toString());
    const { publicKey, id } = await verifyRecord(record, { url: this.#url, key: this.#key }, nowInSeconds());
    const exchange: Exchange = ticket ? { ...ticket, publicKey } : beginExchange(publicKey);
    this.ticket = undefined;
    const head = { method: 'GET', scheme: 'http', authority: new URL(this.#url).host, path: '/', fields: [], ...more };
    const outgoing = request(this.#at('x9Kd-2_f'), {
      method: 'POST',
      headers: { cookie: encodeCookie('sid', id, exchange), 'content-type': 'application/octet-stream' },
      agent: false,
    });
    outgoing.on('error', () => undefined); // may come after the answer too
    begun?.(outgoing);
    const sealed = body instanceof Uint8Array ? sealRequest(exchange, head, body) : sealStream(exchange, head, body);
    if (sealed.body instanceof Uint8Array) outgoing.end(sealed.body);
    else pipeline(sealed.body, outgoing).catch(() => undefined);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return this.#read(answer, exchange, sealed.salt, heard);
  }

  async #read(answer: IncomingMessage, exchange: Exchange, salt: Uint8Array, heard: Asked['heard']): Promise<Came> {
    const { statusCode: outside = 0 } = answer;
    if (outside !== 200) {
      answer.resume();
      return { outside, status: 0, fields: [], content: Buffer.alloc(0), ticket: undefined, error: undefined };
    }
    const { body, ...head } = await openStream(exchange, salt, untilItEnds(answer));
    this.ticket = head.ticket;
    const pieces: Uint8Array[] = [];
    let error: string | undefined;
    try {
      for await (const piece of body) {
        pieces.push(piece);
        heard?.(Buffer.from(piece));
      }
    } catch (thrown) {
      error = (thrown as { code: string }).code;
    }
    return { ...head, outside, content: Buffer.concat(pieces), error };
  }

  #at(name: string): string {
    return `http://127.0.0.1:${this.#port}${new URL(this.#url).pathname}${name}`;
  }
}

/** The bytes of an answer, also of one whose connection breaks off: HTTPCrypt has to tell. */
async function* untilItEnds(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* answer;
  } catch {}
}
