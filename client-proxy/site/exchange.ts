/** An HTTP exchange with a key server or a site's own proof: bounded in size and time, no redirects, HTTPS unless on this machine. */
import { type Dispatcher, request } from 'undici';
import { readAtMost } from '../../core/encoding/byte-reader.ts';
import { reasonOf } from '../../core/errors.ts';
import { ChannelError } from '../../core/httpcrypt/errors.ts';
import { isOrigin } from '../../core/site/site.ts';
import { sendPatiently } from '../../reading/pause.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { connectionReason } from '../network/failures.ts';

export interface ExchangeOptions {
  /** Canonical JSON, to be posted; without it, the exchange is a GET. */
  readonly body?: Uint8Array;
  readonly maximumLength: number;
  /** Milliseconds for all of it, where not the usual. */
  readonly timeout?: number;
}

export interface ExchangeResult {
  readonly status: number;
  readonly body: Uint8Array;
  /** Seconds since 1970 by the other's clock, if it says. */
  readonly time: number | undefined;
  /** Value of the header field, as it was sent. */
  readonly retryAfter?: string | string[] | undefined;
}

/** Failures that the reader can tell apart: what `https:` says of a certificate. */
const CERTIFICATE = /^(?:CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|ERR_TLS_CERT|HOSTNAME_MISMATCH)/;

/** Fields of a message. */
export const POSTED = { accept: '*/*', 'content-type': 'application/json' };

/** @throws ReaderError `key-server-unreachable`, `key-server-certificate`, `key-server-answer`, `link-malformed` */
export async function exchange(
  dispatcher: Dispatcher,
  origin: string,
  path: string,
  { body, maximumLength, timeout }: ExchangeOptions,
): Promise<ExchangeResult> {
  if (!isOrigin(origin, { allowLoopback: true }))
    throw new ReaderError('link-malformed', `${origin} is not an HTTPS origin`);
  return sendTo(dispatcher, origin + path, {
    method: body ? 'POST' : 'GET',
    headers: body ? POSTED : { accept: '*/*' },
    ...(body && { body }),
    maximumLength,
    ...(timeout !== undefined && { timeout }),
  });
}

export interface HttpExchange extends ExchangeOptions {
  readonly method: 'GET' | 'OPTIONS' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** May be answered twice, whatever its method says. */
  readonly idempotent?: boolean;
}

/** Sends a message, again when a busy key server says. @throws ReaderError as `exchange`, but `link-malformed`; ChannelError over HTTPCrypt */
export async function sendTo(dispatcher: Dispatcher, url: string, exchange: HttpExchange): Promise<ExchangeResult> {
  const send = () => sendOnce(dispatcher, url, exchange);
  return exchange.method === 'POST' ? sendPatiently(send, (answer) => answer) : send();
}

async function sendOnce(
  dispatcher: Dispatcher,
  url: string,
  {
    method,
    headers = {},
    idempotent = method !== 'POST',
    body,
    maximumLength,
    timeout = LIMITS.exchangeTimeout,
  }: HttpExchange,
): Promise<ExchangeResult> {
  const { origin } = new URL(url);
  try {
    const signal = AbortSignal.timeout(timeout);
    const answer = await request(url, { dispatcher, method, signal, headers, idempotent, ...(body && { body }) });
    const date = Date.parse(String(answer.headers.date ?? ''));
    return {
      status: answer.statusCode,
      body: await readBounded(answer.body, maximumLength, origin),
      time: Number.isNaN(date) ? undefined : Math.floor(date / 1000),
      retryAfter: answer.headers['retry-after'],
    };
  } catch (error) {
    throw describe(error, origin);
  }
}

async function readBounded(body: AsyncIterable<Uint8Array>, maximum: number, origin: string): Promise<Uint8Array> {
  const bytes = await readAtMost(body, maximum);
  if (bytes) return bytes;
  throw new ReaderError('key-server-answer', `${origin} answered with more than ${maximum} bytes`);
}

function describe(error: unknown, origin: string): ReaderError | ChannelError {
  if (error instanceof ReaderError || error instanceof ChannelError) return error;
  const { code = '', name } = error as { code?: string; name?: string };
  const cause = { cause: error };
  if (CERTIFICATE.test(code))
    return new ReaderError('key-server-certificate', `${origin} has no valid certificate: ${reasonOf(error)}`, cause);
  const why = name === 'TimeoutError' ? 'no answer in time' : connectionReason(error);
  return new ReaderError('key-server-unreachable', `${origin} could not be reached: ${why}`, cause);
}
