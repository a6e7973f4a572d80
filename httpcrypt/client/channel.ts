/** Exchanges with an HTTPCrypt endpoint: docs/spec/httpcrypt.md, the client's side. */
import { type Dispatcher, request as sendRequest } from 'undici';
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { Fields } from '../../core/httpcrypt/binary-http.ts';
import { ChannelError } from '../../core/httpcrypt/errors.ts';
import { beginExchange, cookieName, type Exchange, encodeCookie, sealRequest } from '../../core/httpcrypt/exchange.ts';
import type { ServerKey } from '../../core/httpcrypt/record.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { endToEndFields } from '../../node-support/end-to-end-fields.ts';
import { IDEMPOTENT, SAFE } from '../../node-support/http-requests.ts';
import { type OpenedAnswer, openStream, sealStream } from '../sealed-streams.ts';
import { findServerKey, isBusy, type WhereToAsk } from './find-key.ts';

/** Fields of a request that the message says otherwise. A length that the caller says goes inside: the server behind may need it. */
const SAID_OTHERWISE = ['expect', 'host'];
/** Status of what the endpoint could not open. */
const UNOPENED = 500;
/** Random bytes of the path, from which to which. */
const NAME_LENGTHS = [6, 18] as const;
const MAXIMUM_TICKETS = 8;

type Looks = Readonly<Record<string, string>>;
type Timeout = Dispatcher.DispatchOptions['bodyTimeout'] | undefined;

export interface ChannelOptions extends Omit<WhereToAsk, 'headers'> {
  /** User-Agent and Accept of the client's other requests, for one that has no User-Agent of its own. */
  readonly shown?: (() => Looks | undefined) | undefined;
}

/** An exchange with the host of the endpoint's URL. */
export interface ChannelRequest {
  readonly method: string;
  /** Path and query, or `*`. */
  readonly path: string;
  /** Names and values in turn; those for a single connection are left out. */
  readonly fields: Fields;
  /** Bytes, or a stream, which is read once and no faster than the endpoint takes it. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Says that it may be answered twice, though its method does not; the endpoint takes it without a ticket. */
  readonly isRepeatable?: boolean | undefined;
  /** Ends the exchange, also while its answer is read. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the head of the answer, and between pieces of its body; the dispatcher's if left out. */
  readonly headersTimeout?: Timeout;
  readonly bodyTimeout?: Timeout;
}

/** Status, fields and body; the body throws ChannelError `channel-unreadable` where it is cut or altered, and is to be read to its end or returned. */
export type ChannelAnswer = Omit<OpenedAnswer, 'ticket'>;

/** A ticket, or a fresh key, for one request. */
interface Shown {
  readonly server: ServerKey;
  readonly exchange: Exchange;
}

export class HttpcryptChannel {
  readonly #options: ChannelOptions;
  #server: Promise<ServerKey> | undefined;
  #tickets: Shown[] = [];

  constructor(options: ChannelOptions) {
    this.#options = options;
  }

  /**
   * Sends a request: with a ticket, then a fresh key, then to another server key, and nothing by another way.
   *
   * @throws ChannelError; the dispatcher's errors of the connection to the endpoint; the reason of `signal`
   */
  async send(request: ChannelRequest): Promise<ChannelAnswer> {
    const { method, body, isRepeatable = false } = request;
    const isSafe = isRepeatable || SAFE.has(method);
    const mayRepeat = (isRepeatable || IDEMPOTENT.has(method)) && (!body || body instanceof Uint8Array);
    let failed: ServerKey | undefined;
    for (let ticket = this.#takeTicket(); ; ticket = undefined) {
      const shown = ticket ?? beginWith(await unlessAborted(this.#currentKey(request, failed), request.signal));
      let isSent = false;
      try {
        const taken = ticket || isSafe ? shown : await this.#getTicket(request, shown);
        isSent = true;
        const { next, answer } = await this.#exchange(request, taken);
        this.#tickets = [...this.#tickets, next].slice(-MAXIMUM_TICKETS);
        return answer;
      } catch (error) {
        const busy = busyAnswer(error);
        if (busy) return busy;
        if (isUnopened(error)) this.#tickets = []; // tickets of the same server key, most likely
        if (!isUnopened(error)) throw error;
        if (isSent && !mayRepeat) throw notRepeated(error);
        if (failed) throw error;
        if (!ticket) failed = shown.server;
      }
    }
  }

  #takeTicket(): Shown | undefined {
    const now = nowInSeconds();
    this.#tickets = this.#tickets.filter(({ server }) => now <= server.notAfter);
    return this.#tickets.pop();
  }

  async #getTicket({ fields, signal }: ChannelRequest, shown: Shown): Promise<Shown> {
    const asked = { method: 'OPTIONS', path: '*', fields: Object.entries(looksOf(fields)).flat(), signal };
    const { next, answer } = await this.#exchange(asked, shown);
    for await (const _ of answer.body);
    return next;
  }

  /** @param failed - one that is not taken again */
  async #currentKey({ fields }: ChannelRequest, failed: ServerKey | undefined): Promise<ServerKey> {
    const before = this.#server;
    const known = await before?.catch(() => undefined);
    if (known && known !== failed && nowInSeconds() <= known.notAfter) return known;
    // A parallel exchange may have begun to look.
    if (this.#server && this.#server !== before) return this.#server;
    this.#server = findServerKey({ ...this.#options, headers: this.#looks(fields) }, failed);
    return this.#server;
  }

  /** Fields that an observer sees: those of the client's other requests. */
  #looks(fields: Fields): Looks {
    const own = looksOf(fields);
    return own['user-agent'] === undefined ? (this.#options.shown?.() ?? own) : own;
  }

  async #exchange(request: ChannelRequest, { server, exchange }: Shown) {
    const { endpoint, dispatcher } = this.#options;
    const { url } = endpoint;
    const { method, path, body = new Uint8Array(0), signal, bodyTimeout, headersTimeout } = request;
    const fields = endToEndFields(request.fields, SAID_OTHERWISE);
    const inner = { method, scheme: 'http', authority: new URL(url).host, path, fields };
    const sealed = body instanceof Uint8Array ? sealRequest(exchange, inner, body) : sealStream(exchange, inner, body);
    const cookie = encodeCookie(await cookieName(url), server.id, exchange);
    const outer = await sendRequest(url + randomName(), {
      dispatcher,
      method: 'POST',
      headers: { ...this.#looks(fields), 'content-type': 'application/octet-stream', cookie },
      body: sealed.body as Uint8Array, // an iterable is taken by undici too, but not by its types
      ...(signal && { signal }),
      ...(bodyTimeout !== undefined && { bodyTimeout }),
      ...(headersTimeout !== undefined && { headersTimeout }),
    });
    const { statusCode: status } = outer;
    outer.body.on('error', () => undefined); // thrown where it is read
    if (status === 200) {
      const { ticket, ...answer } = await openStream(exchange, sealed.salt, outer.body);
      return { next: { server, exchange: { publicKey: server.publicKey, ...ticket } }, answer };
    }
    outer.body.destroy();
    const pause = Number(outer.headers['retry-after']); // NaN where nothing was said
    throw new ChannelError('channel-unreadable', `${url} answered ${status}`, { fields: { status, pause } });
  }
}

function beginWith(server: ServerKey): Shown {
  return { server, exchange: beginExchange(server.publicKey) };
}

/** Waits for what goes on for others. @throws the reason of `signal` */
async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const end = () => reject(signal.reason);
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  return Promise.race([aborted, work]).finally(() => signal.removeEventListener('abort', end));
}

/** Returns what an endpoint that opens nothing answers, because it has too much to do or is asked too often: 503 or 429, and when to ask again. */
function busyAnswer(error: unknown): ChannelAnswer | undefined {
  if (!(error instanceof ChannelError)) return undefined;
  const { status, pause } = error.fields;
  if (!isBusy(status)) return undefined;
  return { status, fields: Number(pause) > 0 ? ['retry-after', String(pause)] : [], body: nothing() };
}

async function* nothing(): AsyncGenerator<Uint8Array, void> {}

/** Tells whether the endpoint could not open the request, or its answer cannot be opened: as after its restart. */
function isUnopened(error: unknown): boolean {
  if (!(error instanceof ChannelError) || error.code !== 'channel-unreadable') return false;
  return (error.fields.status ?? UNOPENED) === UNOPENED;
}

function notRepeated(cause: unknown): ChannelError {
  const why = 'no answer to a request over HTTPCrypt could be opened, and it was not sent again';
  return new ChannelError('channel-not-repeated', why, { cause });
}

function looksOf(fields: Fields): Looks {
  const looks: Record<string, string> = {};
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const name = fields[index]?.toLowerCase() ?? '';
    if (name === 'user-agent' || name === 'accept') looks[name] = fields[index + 1] ?? '';
  }
  return looks;
}

/** Ending of an address that looks ordinary. */
function randomName(): string {
  const [least, most] = NAME_LENGTHS;
  const [random = 0] = randomBytes(1);
  return toBase64url(randomBytes(least + (random % (most - least + 1))));
}
