/** Limits of requests: docs/keyserver.md, "Limits". Failures are counted where guessing is the danger, all requests where load is. */
import type { Request, RequestHandler, Response } from 'express';
import { clientAddress, clientsBehind } from '../../node-support/client-address.ts';
import { onceClosed } from '../../node-support/once-closed.ts';
import { KeyServerError } from '../errors.ts';
import type { KeyServerState } from '../storage/state.ts';
import { nameKey } from '../subscriptions/subscribers.ts';
import { CountStore } from './count-store.ts';
import { FailureCounts } from './failure-counts.ts';
import { nameField } from './forms.ts';

export type { RequestLimits } from '../config/limits.ts';

/** Bytes of a form's body; those of the API are in `MESSAGE_LIMITS`. */
export const MAXIMUM_FORM_LENGTH = 8192;

/** Keys by which a limit counts. A name is the form's field `name`. */
export type CountedBy = 'address' | 'known-browser' | 'name' | 'name-and-address';

/** Refuses with 429 the requests of one address above `limit` a minute, after which `refuse` writes the body. They are counted on this machine, which they are to protect. */
export function limitRequests(limit: number, refuse: RequestHandler, counts = new CountStore()): RequestHandler {
  return async (request, response, next) => {
    const { hits, end } = await counts.increment(addressOf(request));
    if (hits <= limit * clientsOf(request)) return next();
    refuse(request, retryAfter(response, (end - Date.now()) / 1000), next);
  };
}

/** Bound on failures: how many are too many in 15 minutes, or in `window` seconds, and of what. */
export interface FailureLimit {
  /** Name that no other limit has. */
  readonly kind: string;
  readonly limit: number;
  readonly countedBy: CountedBy;
  /** Counts what succeeds too. */
  readonly all?: boolean;
  readonly window?: number;
}

/**
 * Refuses with 429 whatever has failed too often, at all key servers together, after which `refuse` writes the body. A known browser is counted as such,
 * and by nothing else.
 */
export function limitFailures(
  state: KeyServerState,
  { kind, limit, countedBy, all = false, window }: FailureLimit,
  refuse: RequestHandler,
): RequestHandler {
  const counts = new FailureCounts(state, kind, window);
  return async (request, response, next) => {
    if ((knownBrowserOf(response) !== undefined) !== (countedBy === 'known-browser')) return next();
    const attempt = await counts.begin(keyOf(request, response, countedBy));
    if (attempt.hits > (countedBy === 'address' ? limit * clientsOf(request) : limit)) {
      attempt.end(false);
      return refuse(request, retryAfter(response, attempt.wait), next);
    }
    // A client that leaves before the answer has failed: otherwise broken-off attempts would cost the server work without being counted.
    // The server's own failures are not the client's, and 429 says nothing of what was sent.
    const isFailure = ({ locals, statusCode: status }: Response) =>
      locals.hasFailed === true || (status >= 400 && status < 500 && status !== 429);
    onceClosed(response, () => attempt.end(all || !response.writableEnded || isFailure(response)));
    next();
  };
}

/**
 * Verifies a credential first, and counts afterwards: whoever has a valid one is refused for nobody else's failures, and whatever is answered to it is
 * none. What is refused more than `limit` times in 15 minutes from one address gets 429, after which `refuse` writes the body.
 *
 * @param verify - throws `token-refused`
 */
export function verifyFirst(
  state: KeyServerState,
  { kind, limit }: Pick<FailureLimit, 'kind' | 'limit'>,
  verify: (request: Request, response: Response) => Promise<void>,
  refuse: RequestHandler,
): RequestHandler {
  const counts = new FailureCounts(state, kind);
  return async (request, response, next) => {
    try {
      await verify(request, response);
    } catch (error) {
      if (!(error instanceof KeyServerError && error.code === 'token-refused')) throw error;
      const attempt = await counts.begin(addressOf(request));
      const isCounted = attempt.hits <= limit * clientsOf(request);
      attempt.end(isCounted);
      if (isCounted) throw error;
      return refuse(request, retryAfter(response, attempt.wait), next);
    }
    next();
  };
}

/** Says in an answer 429 when to ask again. @param seconds - from now on */
export function retryAfter(response: Response, seconds: number): Response {
  return response.set('Retry-After', pauseText(seconds));
}

/** Value of `Retry-After`. */
export function pauseText(seconds: number): string {
  return String(Math.max(1, Math.ceil(seconds)));
}

/** Has this request counted as one of a known browser, named by `id`. */
export function countAsKnownBrowser(response: Response, id: string): void {
  response.locals.knownBrowser = id;
}

/** Has this request counted as a failure, though its answer leads to the page that says so. */
export function countAsFailure(response: Response): void {
  response.locals.hasFailed = true;
}

/** Finds the address as {@link clientAddress} does. */
export function addressOf(request: Request): string {
  return clientAddress(request, request.app.get('trust proxy fn'));
}

/** Counts the clients behind an address: the limits of one address apply so many times. */
export function clientsOf(request: Request): number {
  return clientsBehind(request, request.app.get('trust proxy fn'), request.app.get('is shared'));
}

function keyOf(request: Request, response: Response, countedBy: CountedBy): string {
  switch (countedBy) {
    case 'address':
      return addressOf(request);
    case 'known-browser':
      return knownBrowserOf(response) ?? '';
    case 'name':
      return nameKey(nameField(request));
    case 'name-and-address':
      return `${addressOf(request)} ${nameKey(nameField(request))}`;
  }
}

function knownBrowserOf(response: Response): string | undefined {
  return response.locals.knownBrowser;
}
