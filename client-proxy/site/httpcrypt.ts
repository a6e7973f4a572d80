/** Messages to a key server over HTTPCrypt: docs/spec/httpcrypt.md, the Reader's side. */
import type { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Dispatcher } from 'undici';
import { randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { equalBytes, fromUtf8 } from '../../core/encoding/bytes.ts';
import { reasonOf } from '../../core/errors.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { ChannelError, unreadable } from '../../core/httpcrypt/errors.ts';
import {
  beginExchange,
  cookieName,
  type Exchange,
  encodeCookie,
  openAnswer,
  sealRequest,
} from '../../core/httpcrypt/exchange.ts';
import {
  MAXIMUM_RECORD_ANSWER,
  recordFromAddresses,
  recordFromAnswer,
  recordFromText,
  type ServerKey,
  verifyRecord,
} from '../../core/httpcrypt/record.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { askNameServers } from '../../node-support/name-servers.ts';
import { ReaderError } from '../errors.ts';
import { type ExchangeResult, sendTo } from './exchange.ts';

/** Of a request that has to be repeated with a ticket. */
const TOO_EARLY = 425;
/** Of what the server could not open. */
const UNREADABLE = 500;
const MAXIMUM_ANSWER = 300_000;
const FIELDS = ['content-type', 'application/json'];
/** Random bytes of the path, from which to which. */
const NAME_LENGTHS = [6, 18] as const;

export interface HttpcryptClientOptions {
  readonly dispatcher: Dispatcher;
  /** The system's if left out. */
  readonly dnsServers?: readonly string[] | undefined;
  readonly endpoint: HttpcryptEndpoint;
}

/** A ticket, and the server key that it hangs on. */
interface Ticket {
  readonly server: ServerKey;
  readonly exchange: Exchange;
}

export class HttpcryptChannel {
  readonly #options: HttpcryptClientOptions;
  #server: Promise<ServerKey> | undefined;
  #ticket: Ticket | undefined;

  constructor(options: HttpcryptClientOptions) {
    this.#options = options;
  }

  /** Sends a message: with a ticket, then a fresh key, then to another server key. @throws ChannelError; as exchange.ts */
  async post(path: string, content: Uint8Array): Promise<ExchangeResult> {
    const ticket = this.#consumeTicket();
    if (ticket) {
      const answer = await this.#tryPost(path, content, ticket);
      if (answer) return answer;
    }
    const server = await this.#currentKey();
    const answer = await this.#tryPost(path, content, beginWith(server));
    if (answer) return answer;
    this.#server = undefined;
    const other = await this.#findKey(server);
    this.#server = Promise.resolve(other);
    return this.#post(path, content, beginWith(other));
  }

  /** `undefined` where the answer cannot be opened. */
  async #tryPost(path: string, content: Uint8Array, ticket: Ticket): Promise<ExchangeResult | undefined> {
    try {
      return await this.#post(path, content, ticket);
    } catch (error) {
      if (error instanceof ChannelError && error.code === 'channel-unreadable') return undefined;
      throw error;
    }
  }

  /** A message that is sent too early is sent again, with the ticket that this brought. */
  async #post(path: string, content: Uint8Array, ticket: Ticket): Promise<ExchangeResult> {
    const first = await this.#exchange(path, content, ticket);
    const next = first.status === TOO_EARLY ? this.#consumeTicket() : undefined;
    return next ? this.#exchange(path, content, next) : first;
  }

  /** The ticket at hand, if it is good still. */
  #consumeTicket(): Ticket | undefined {
    const ticket = this.#ticket;
    this.#ticket = undefined;
    return ticket && nowInSeconds() <= ticket.server.notAfter ? ticket : undefined;
  }

  async #exchange(path: string, content: Uint8Array, { server, exchange }: Ticket): Promise<ExchangeResult> {
    const { dispatcher, endpoint } = this.#options;
    const head = { method: 'POST', scheme: 'http', authority: new URL(endpoint.url).host, path, fields: FIELDS };
    const sealed = sealRequest(exchange, head, content);
    const cookie = encodeCookie(await cookieName(endpoint.url), server.id, exchange);
    const { status, body, time } = await sendTo(dispatcher, endpoint.url + randomName(), {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream', cookie },
      body: sealed.body,
      maximumLength: MAXIMUM_ANSWER,
    });
    if (status === UNREADABLE) throw unreadable(`${endpoint.url} cannot open the request`);
    if (status !== 200) throw new ReaderError('key-server-answer', `${endpoint.url} answered ${status}`);
    const answer = openAnswer(exchange, sealed.salt, body);
    this.#ticket = { server, exchange: { ...answer.ticket, publicKey: server.publicKey } };
    return { status: answer.status, body: answer.content, time };
  }

  async #currentKey(): Promise<ServerKey> {
    const known = await this.#server?.catch(() => undefined);
    if (known && nowInSeconds() <= known.notAfter) return known;
    this.#server = this.#findKey(undefined);
    return this.#server;
  }

  /** @param failed - the one that is not asked for again */
  async #findKey(failed: ServerKey | undefined): Promise<ServerKey> {
    const { endpoint } = this.#options;
    const channelKey = { url: endpoint.url, key: fromBase64url(endpoint.key) ?? new Uint8Array(0) };
    let why: unknown = 'none is announced';
    for (const ask of [() => this.#queryTxt(), () => this.#queryAaaa(), () => this.#askEndpoint()]) {
      try {
        const record = await ask();
        if (!record) continue;
        const key = await verifyRecord(record, channelKey, nowInSeconds());
        if (!failed || !equalBytes(key.id, failed.id)) return key;
        why = 'what is announced has failed';
      } catch (error) {
        why = reasonOf(error);
      }
    }
    throw new ChannelError('channel-key-refused', `${endpoint.url} has no key for HTTPCrypt: ${why}`);
  }

  #queryTxt(): Promise<Uint8Array | undefined> {
    return this.#resolve(async (resolver, name) => {
      const texts = (await resolver.resolveTxt(name)).map((pieces) => pieces.join(''));
      return texts.map(recordFromText).find((record) => record !== undefined);
    });
  }

  #queryAaaa(): Promise<Uint8Array | undefined> {
    return this.#resolve(async (resolver, name) => recordFromAddresses(await resolver.resolve6(name)));
  }

  async #askEndpoint(): Promise<Uint8Array | undefined> {
    const { dispatcher, endpoint } = this.#options;
    const { status, body } = await sendTo(dispatcher, endpoint.url, {
      method: 'OPTIONS',
      maximumLength: MAXIMUM_RECORD_ANSWER,
    });
    return status === 200 ? recordFromAnswer(fromUtf8(body) ?? '') : undefined;
  }

  /** Asks name servers; an IP address has no names. */
  async #resolve(
    ask: (resolver: Resolver, name: string) => Promise<Uint8Array | undefined>,
  ): Promise<Uint8Array | undefined> {
    const { hostname } = new URL(this.#options.endpoint.url);
    if (isIP(hostname) > 0 || hostname.startsWith('[')) return undefined;
    return askNameServers(this.#options.dnsServers, (resolver) => ask(resolver, `httpcrypt.${hostname}`));
  }
}

function beginWith(server: ServerKey): Ticket {
  return { server, exchange: beginExchange(server.publicKey) };
}

/** What an ordinary address may end in. */
function randomName(): string {
  const [least, most] = NAME_LENGTHS;
  const [random = 0] = randomBytes(1);
  return toBase64url(randomBytes(least + (random % (most - least + 1))));
}
