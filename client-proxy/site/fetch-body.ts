/** A GET to a content host. Every failure has one of two codes: no answer, or a malformed one. */
import type { Dispatcher } from 'undici';
import { CodedError, reasonOf } from '../../core/errors.ts';
import type { ByteRange } from '../../core/object/geometry.ts';
import { innermost, systemCode } from '../../node-support/system-error.ts';
import { ReadingError } from '../../reading/errors.ts';
import type { RequestHeaders } from '../../reading/request-headers.ts';
import { LIMITS } from '../limits.ts';
import { connectionReason, isBrokenAnswer } from '../network/failures.ts';
import type { ParentProxy } from '../network/parent-proxy.ts';
import type { Upstream } from '../network/upstream.ts';
import { BodyQueue } from './body-queue.ts';

export interface BodyResponse {
  readonly status: number;
  /** Names in lower case. Nothing in them is signed. */
  readonly headers: RequestHeaders;
  readonly body: BodyQueue;
}

export interface CachedValidators {
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
}

/** Fields for caches on the way: what they hold is old, or no good (RFC 9111 section 5.2.1.4). */
export const PAST_CACHES: readonly string[] = ['cache-control', 'no-cache'];

export interface BodyRequest {
  readonly path: string;
  /** Bytes of the object: `start` inclusive, `end` exclusive. */
  readonly range?: ByteRange | undefined;
  /** Further header fields: names and values alternate. */
  readonly fields?: readonly string[];
  /** A version that is here: 304 is an answer, too. */
  readonly held?: CachedValidators | undefined;
  /** Milliseconds between two pieces of the body. */
  readonly bodyTimeout?: number;
}

/** undici's name for a connection that broke off. */
const CLOSED = 'UND_ERR_SOCKET';

/**
 * Fetches one path. Nothing that says who the reader is goes along: no cookie, no referrer, no user agent.
 *
 * @param signal - ends the request at whatever point it is, also while nothing reads the body; its reason is then what is thrown
 * @throws ReadingError `content-host-unreachable`, `content-host-answer`; also out of the body
 */
export async function fetchBody(
  upstream: Upstream,
  origin: string,
  wanted: BodyRequest,
  signal: AbortSignal,
): Promise<BodyResponse> {
  const answer = await attemptTwice(upstream, origin, wanted, signal);
  if (answer.status !== 304 || wanted.held !== undefined) return answer;
  // 304 for a version that is not here: once more, past the cache that said it.
  await answer.body.return();
  return attemptTwice(upstream, origin, { ...wanted, fields: PAST_CACHES }, signal);
}

async function attemptTwice(
  upstream: Upstream,
  origin: string,
  wanted: BodyRequest,
  signal: AbortSignal,
): Promise<BodyResponse> {
  try {
    return await attempt(upstream, origin, wanted, signal);
  } catch (error) {
    // A connection that was kept may close just when it is used again: once more, on another.
    if (systemCode(innermost(error)) !== CLOSED) throw error;
    return attempt(upstream, origin, wanted, signal);
  }
}

function attempt(
  upstream: Upstream,
  origin: string,
  { path, range, fields = [], held, bodyTimeout = upstream.limits.bodyTimeout }: BodyRequest,
  signal: AbortSignal,
): Promise<BodyResponse> {
  const headers = ['accept', '*/*', 'accept-encoding', 'identity', ...fields];
  if (range) headers.push('range', `bytes=${range.start}-${range.end - 1}`);
  if (held?.etag !== undefined) headers.push('if-none-match', held.etag);
  if (held?.lastModified !== undefined) headers.push('if-modified-since', held.lastModified);
  const authority = origin.slice(origin.indexOf('//') + 2);
  const { promise, ...settle } = Promise.withResolvers<BodyResponse>();
  try {
    const handler = handlerFor(settle, authority, signal, upstream.parentFor(origin));
    upstream.dispatch(origin, authority, { path, method: 'GET', headers, bodyTimeout }, handler);
  } catch (error) {
    settle.reject(describe(error, authority));
  }
  return promise;
}

function handlerFor(
  { resolve, reject }: Omit<PromiseWithResolvers<BodyResponse>, 'promise'>,
  authority: string,
  signal: AbortSignal,
  parent: ParentProxy | undefined,
): Dispatcher.DispatchHandler {
  let body: BodyQueue | undefined;
  let interim = 0;
  return {
    onRequestStart: (controller) => {
      if (signal.aborted) controller.abort(signal.reason);
      signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
    },
    onResponseStart: (controller, status, headers) => {
      parent?.checkStatus(status); // an error thrown here ends the request
      // Interim answers say nothing that counts, and each gives the host new time.
      if (status < 200) {
        if (++interim > LIMITS.interimAnswers)
          controller.abort(new ReadingError('content-host-answer', `${authority} gave nothing but interim answers`));
        return;
      }
      body = new BodyQueue(controller);
      resolve({ status, headers, body });
    },
    onResponseData: (_controller, chunk) => body?.push(chunk),
    onResponseEnd: () => body?.end(),
    onResponseError: (_controller, error) => {
      const met = body ? error : (parent?.explain(error) ?? error);
      const described = signal.aborted ? signal.reason : describe(met, authority);
      if (body) body.fail(described);
      else reject(described);
    },
  };
}

function describe(error: unknown, host: string): Error {
  if (error instanceof CodedError) return error;
  const cause = { cause: error };
  return isBrokenAnswer(error)
    ? new ReadingError('content-host-answer', `${host} gave a malformed answer: ${reasonOf(error)}`, cause)
    : new ReadingError('content-host-unreachable', `${host} could not be reached: ${connectionReason(error)}`, cause);
}
