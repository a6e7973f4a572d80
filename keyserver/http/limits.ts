/** Every limit on requests, in one place: docs/keyserver.md, "Limits". Failures are counted where guessing is the danger, all requests where load is. */
import type { Request, RequestHandler, Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import { onceClosed } from '../../node-support/once-closed.ts';
import type { KeyServerState } from '../storage/state.ts';
import { nameKey } from '../subscriptions/subscribers.ts';
import { clientAddress } from './client-address.ts';
import { CountStore } from './count-store.ts';
import { FailureCounts } from './failure-counts.ts';
import { nameField } from './forms.ts';

const MINUTE = 60_000;

export interface RequestLimits {
  /** Failed bindings in 15 minutes of one address. Codes have 80 bits: there is no limit in all, which outsiders could use up. */
  readonly bindingsPerAddress: number;
  /** Key requests a minute of one address. */
  readonly keyRequestsPerAddress: number;
  /** Failed sign-ins in 15 minutes: for one name from one address, of one address, for one name from everywhere. */
  readonly signInsPerNameAndAddress: number;
  readonly signInsPerAddress: number;
  readonly signInsPerName: number;
  /** Failed sign-ins in 15 minutes of one known browser, which the three limits above do not count. */
  readonly signInsPerKnownBrowser: number;
  /** Mails in 15 minutes: for one name from one address, of one address, for one name from everywhere, of one known browser. */
  readonly mailsPerNameAndAddress: number;
  readonly mailsPerAddress: number;
  readonly mailsPerName: number;
  readonly mailsPerKnownBrowser: number;
  /** At the reading site in 15 minutes: failed attempts to join of one address. */
  readonly joinsPerAddress: number;
  /** Requests for documents a minute of one address: each can make the reading site fetch the whole of one. */
  readonly documentsPerAddress: number;
  /** Documents that are sent to one address at a time, milliseconds that a further one waits for its turn, and those after which a slow one is cut. */
  readonly openDocumentsPerAddress: number;
  readonly documentWait: number;
  readonly readerSilence: number;
  /** Publishing: refusals in 15 minutes, and all requests a minute, of one address. */
  readonly publishingRefusals: number;
  readonly publishingPerAddress: number;
  /** Requests about subscriptions a minute of one address: a shop sends one for each order. */
  readonly subscriptionsPerAddress: number;
  /** Requests for timestamp and roots a minute of one address. */
  readonly metadataPerAddress: number;
  /** Connections to one listener at a time: of one address, unless it is a trusted proxy, and of all; the one longest without a request makes room. */
  readonly clientConnectionsPerAddress: number;
  readonly clientConnections: number;
  /** Requests that wait on one connection for those before them. */
  readonly pipelined: number;
  /** Milliseconds: until a request has arrived whole, and between two on a connection. */
  readonly requestHead: number;
  readonly clientIdle: number;
  /** Readers of one subscriber, and as many browsers: `limits.devices` of the configuration. */
  readonly devicesPerSubscriber: number;
}

export const DEFAULT_LIMITS: RequestLimits = {
  bindingsPerAddress: 20,
  keyRequestsPerAddress: 1200,
  signInsPerNameAndAddress: 10,
  signInsPerAddress: 30,
  signInsPerName: 1000,
  signInsPerKnownBrowser: 10,
  mailsPerNameAndAddress: 3,
  mailsPerAddress: 20,
  mailsPerName: 10,
  mailsPerKnownBrowser: 10,
  joinsPerAddress: 20,
  documentsPerAddress: 600,
  openDocumentsPerAddress: 32,
  documentWait: 10_000,
  readerSilence: 30_000,
  publishingRefusals: 20,
  publishingPerAddress: 60,
  subscriptionsPerAddress: 1200,
  metadataPerAddress: 1200,
  clientConnectionsPerAddress: 512,
  clientConnections: 4096,
  pipelined: 64,
  requestHead: 30_000,
  clientIdle: 5000,
  devicesPerSubscriber: 20,
};

/** Bytes of a form's body; those of the API are in `MESSAGE_LIMITS`. */
export const MAXIMUM_FORM_LENGTH = 8192;

/** What a limit counts by. A name is the form's field `name`. */
export type CountedBy = 'address' | 'known-browser' | 'name' | 'name-and-address';

/** Refuses with 429 the requests of one address above `limit` a minute, after which `refuse` writes the body. They are counted in this process, which they are to protect. */
export function limitRequests(limit: number, refuse: RequestHandler): RequestHandler {
  return rateLimit({
    windowMs: MINUTE,
    limit,
    store: new CountStore(MINUTE),
    keyGenerator: addressOf,
    handler: refuse,
    legacyHeaders: false,
    standardHeaders: false,
  });
}

/** What is counted of failures: how many are too many in 15 minutes, and of what. */
export interface FailureLimit {
  /** No other limit has the same. */
  readonly kind: string;
  readonly limit: number;
  readonly countedBy: CountedBy;
  /** Whether what succeeds counts too. */
  readonly all?: boolean;
}

/**
 * Refuses with 429 whatever has failed too often, at all key servers together, after which `refuse` writes the body. A known browser is counted as such,
 * and by nothing else.
 */
export function limitFailures(
  state: KeyServerState,
  { kind, limit, countedBy, all = false }: FailureLimit,
  refuse: RequestHandler,
): RequestHandler {
  const counts = new FailureCounts(state, kind);
  return async (request, response, next) => {
    if ((knownBrowserOf(response) !== undefined) !== (countedBy === 'known-browser')) return next();
    const attempt = await counts.begin(keyOf(request, response, countedBy));
    if (attempt.hits > limit) {
      attempt.end(false);
      return refuse(request, response, next);
    }
    // A client that leaves before the answer has failed: otherwise broken-off attempts would cost the server work without being counted.
    onceClosed(response, () => attempt.end(all || !response.writableEnded || isFailure(response.statusCode)));
    next();
  };
}

/** Has this request counted as one of a known browser, named by `id`. */
export function countAsKnownBrowser(response: Response, id: string): void {
  response.locals.knownBrowser = id;
}

/** Finds the address as {@link clientAddress} does. */
export function addressOf(request: Request): string {
  return clientAddress(request, request.app.get('trust proxy fn'));
}

/** What the client did wrong. The server's own failures are not the client's, and 429 says nothing of what was sent. */
function isFailure(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
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
