/** A client of HTTPCrypt that does as a test tells it: one request at a time, from a stream if need be, with whatever comes back when. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { concatAll } from '../../core/encoding/bytes.ts';
import type { AnswerHead, RequestHead } from '../../core/httpcrypt/binary-http.ts';
import {
  beginExchange,
  type Exchange,
  encodeCookie,
  MessageReader,
  MessageWriter,
  sealRequest,
  type Ticket,
} from '../../core/httpcrypt/exchange.ts';
import { recordFromAnswer, type ServerKey, verifyRecord } from '../../core/httpcrypt/record.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { sendRaw } from './httpcrypt-path.ts';

export interface Asked extends Partial<RequestHead> {
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly ticket?: Ticket | undefined;
  /** Hears the request outside, as soon as it was begun. */
  readonly begun?: (outgoing: ClientRequest) => void;
  /** Hears each piece of content, when it comes. */
  readonly heard?: (piece: Buffer) => void;
}

export interface Came extends AnswerHead {
  /** Status of the answer outside. */
  readonly outside: number;
  readonly headers: IncomingMessage['headers'];
  readonly content: Buffer;
  readonly ticket: Ticket | undefined;
  /** Bytes of the body outside. */
  readonly length: number;
  /** The code of the error that ended it. */
  readonly error?: string;
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

  async serverKey(): Promise<ServerKey> {
    const { body } = await sendRaw(this.#at(''), 'OPTIONS', undefined);
    return verifyRecord(recordFromAnswer(body.toString()), { url: this.#url, key: this.#key }, nowInSeconds());
  }

  /** Sends a request by the last ticket, or by a fresh key. */
  async send({ body = new Uint8Array(0), ticket = this.ticket, begun, heard, ...more }: Asked): Promise<Came> {
    const server = await this.serverKey();
    const { publicKey } = server;
    const exchange: Exchange = ticket ? { ...ticket, publicKey } : beginExchange(publicKey);
    this.ticket = undefined;
    const authority = new URL(this.#url).host;
    const head = { method: 'GET', scheme: 'http', authority, path: '/', fields: [], ...more };
    const outgoing = request(this.#at('x9Kd-2_f'), {
      method: 'POST',
      headers: { cookie: encodeCookie('sid', server.id, exchange), 'content-type': 'application/octet-stream' },
      agent: false,
    });
    outgoing.setMaxListeners(0);
    const answered = new Promise<IncomingMessage>((resolve, reject) =>
      outgoing.on('response', resolve).on('error', reject),
    );
    answered.catch(() => undefined);
    begun?.(outgoing);
    const salt = await write(outgoing, exchange, head, body);
    return this.#read(await answered, exchange, salt(), heard);
  }

  async #read(answer: IncomingMessage, exchange: Exchange, salt: Uint8Array, heard: Asked['heard']): Promise<Came> {
    const pieces: Uint8Array[] = [];
    let [length, head, ticket, error] = [
      0,
      { status: 0, fields: [] } as AnswerHead,
      undefined as Ticket | undefined,
      '',
    ];
    const reader = MessageReader.ofAnswer(exchange, salt, {
      ticket: (came) => {
        ticket = came;
      },
      head: (came) => {
        head = came;
      },
      content: (piece) => {
        pieces.push(piece);
        heard?.(Buffer.from(piece));
      },
    });
    try {
      for await (const bytes of answer) {
        length += bytes.length;
        if (answer.statusCode === 200) reader.push(bytes);
      }
    } catch (thrown) {
      error = (thrown as { code: string }).code;
    }
    try {
      if (answer.statusCode === 200) reader.end();
    } catch (thrown) {
      error = (thrown as { code: string }).code;
    }
    this.ticket = ticket;
    const content = Buffer.from(concatAll(pieces));
    const { statusCode: outside = 0, headers } = answer;
    return { ...head, outside, headers, content, ticket, length, ...(error && { error }) };
  }

  #at(name: string): string {
    return `http://127.0.0.1:${this.#port}${new URL(this.#url).pathname}${name}`;
  }
}

/** Sends the body; goes on sending where it comes in pieces. @returns its salt */
async function write(
  outgoing: ClientRequest,
  exchange: Exchange,
  head: RequestHead,
  body: NonNullable<Asked['body']>,
): Promise<() => Uint8Array> {
  if (body instanceof Uint8Array) {
    const sealed = sealRequest(exchange, head, body);
    outgoing.end(sealed.body);
    return () => sealed.salt;
  }
  const writer = MessageWriter.ofRequest(exchange, head);
  const sendAll = async () => {
    for await (const piece of body) {
      for (const chunk of [...writer.push(piece), ...writer.flush()])
        if (!outgoing.write(chunk))
          await new Promise((resolve) => outgoing.once('drain', resolve).once('close', resolve));
      if (outgoing.destroyed) return;
    }
    for (const chunk of writer.end()) outgoing.write(chunk);
    outgoing.end();
  };
  sendAll().catch(() => outgoing.destroy());
  return () => writer.salt;
}
