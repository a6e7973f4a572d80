/** HTTPCrypt as the Reader sends it, without the Reader's bound of time: on 2,400 bit/s a request takes longer. */
import { Agent, request } from 'node:http';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import {
  beginExchange,
  type ChannelKeys,
  encodeCookie,
  openAnswer,
  sealRequest,
} from '../../core/httpcrypt/message.ts';
import { recordFromText, type ServerKey, verifyRecord } from '../../core/httpcrypt/record.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { FAR } from '../link/narrow-link.ts';
import { HTTPCRYPT_PORT } from './setting.ts';

interface Ticket {
  readonly server: ServerKey;
  readonly exchange: ChannelKeys;
}

export class Channel {
  readonly #endpoint: HttpcryptEndpoint;
  #ticket: Ticket | undefined;

  constructor(endpoint: HttpcryptEndpoint) {
    this.#endpoint = endpoint;
  }

  /** With a ticket, or else after asking for the key of the server; over one connection. @returns the status inside */
  async post(path: string, content: Uint8Array): Promise<number> {
    const agent = new Agent({ keepAlive: true });
    try {
      const { server, exchange } = this.#ticket ?? (await this.#begin(agent));
      const sealed = sealRequest(server.publicKey, exchange, { target: `POST ${path}`, content });
      const cookie = encodeCookie(server.id, exchange.shown);
      const { status, ticket } = await openAnswer(exchange.secret, sealed, await this.#send(agent, sealed, cookie));
      this.#ticket = { server, exchange: ticket };
      return status;
    } finally {
      agent.destroy();
    }
  }

  async #begin(agent: Agent): Promise<Ticket> {
    const record = recordFromText(fromUtf8(await this.#send(agent)) ?? '');
    if (record === undefined) throw new Error('the endpoint does not give its key');
    const { url, key } = this.#endpoint;
    const server = await verifyRecord(record, { url, key: fromBase64url(key) ?? new Uint8Array(0) }, nowInSeconds());
    return { server, exchange: beginExchange(server.publicKey) };
  }

  #send(agent: Agent, body?: Uint8Array, cookie = ''): Promise<Uint8Array> {
    const { pathname, host } = new URL(this.#endpoint.url);
    const name = body ? toBase64url(crypto.getRandomValues(new Uint8Array(12))) : '';
    const more = body && { 'content-type': 'application/octet-stream', 'content-length': body.length, cookie };
    const options = { agent, host: FAR, port: HTTPCRYPT_PORT, path: pathname + name, headers: { host, ...more } };
    return new Promise((resolve, reject) => {
      const sent = request({ ...options, method: body ? 'POST' : 'OPTIONS' }, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece)).on('error', reject);
        answer.on('end', () => resolve(Buffer.concat(pieces)));
      });
      sent.on('error', reject).end(body);
    });
  }
}
