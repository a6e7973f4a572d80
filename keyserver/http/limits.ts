/** Every limit on requests, in one place. Failed attempts are counted where guessing is the danger, all of them where load is. */
import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import { nameKey } from '../readers/subscribers.ts';

const QUARTER_OF_AN_HOUR = 15 * 60_000;
const MINUTE = 60_000;

export interface RequestLimits {
  /** In 15 minutes: failed bindings of one address, and codes refused to all together. */
  readonly bindingsPerAddress: number;
  readonly bindingsTotal: number;
  /** Key requests a minute of one address. */
  readonly keyRequestsPerAddress: number;
  /** Failed sign-ins in 15 minutes, of one address and for one name. */
  readonly signInsPerAddress: number;
  readonly signInsPerName: number;
  /** At the reading site in 15 minutes: failed attempts to join of one address, and codes refused to all together. */
  readonly joinsPerAddress: number;
  readonly joinsTotal: number;
  /** Requests for documents a minute of one address: each can make the reading site fetch the whole of one. */
  readonly documentsPerAddress: number;
  /** Documents that are sent to one address at a time, milliseconds that a further one waits for its turn, and those without progress. */
  readonly openDocumentsPerAddress: number;
  readonly documentWait: number;
  readonly readerSilence: number;
  /** Publishing: refusals in 15 minutes, and all requests a minute, of one address. */
  readonly publishingRefusals: number;
  readonly publishingPerAddress: number;
  /** Requests for timestamp and roots a minute of one address. */
  readonly metadataPerAddress: number;
}

export const DEFAULT_LIMITS: RequestLimits = {
  bindingsPerAddress: 20,
  bindingsTotal: 1000,
  keyRequestsPerAddress: 1200,
  signInsPerAddress: 30,
  signInsPerName: 10,
  joinsPerAddress: 20,
  joinsTotal: 1000,
  documentsPerAddress: 600,
  openDocumentsPerAddress: 32,
  documentWait: 10_000,
  readerSilence: 30_000,
  publishingRefusals: 20,
  publishingPerAddress: 60,
  metadataPerAddress: 1200,
};

/** Bytes of a form's body; those of the API are in `MESSAGE_LIMITS`. */
export const MAXIMUM_FORM_LENGTH = 8192;

/** What a limit counts. */
export type CountedBy = 'address' | 'name';

/**
 * Refuses with 429 whatever exceeds `limit`, after which `refuse` writes the body.
 *
 * @param options - `failuresOnly`: counts answers of 400 and above, in 15 minutes; otherwise all of a minute
 */
export function limitRequests(
  limit: number,
  countedBy: CountedBy,
  refuse: RequestHandler,
  { failuresOnly }: { readonly failuresOnly: boolean } = { failuresOnly: true },
): RequestHandler {
  return rateLimit({
    windowMs: failuresOnly ? QUARTER_OF_AN_HOUR : MINUTE,
    limit,
    skipSuccessfulRequests: failuresOnly,
    keyGenerator: (request) => keyOf(request, countedBy),
    handler: refuse,
    legacyHeaders: false,
    standardHeaders: false,
  });
}

/**
 * Refuses all requests once `limit` codes were refused within 15 minutes, from all addresses. Only {@link countRefusedCode} counts: were
 * it everything that fails, or that breaks off, then a thousand empty requests would keep good codes out.
 */
export function limitRefusedCodes(limit: number, refuse: RequestHandler): RequestHandler {
  let refused = 0;
  let begun = performance.now();
  return (request, response, next) => {
    if (performance.now() - begun > QUARTER_OF_AN_HOUR) [refused, begun] = [0, performance.now()];
    if (refused >= limit) return refuse(request, response, next);
    response.locals.countRefusedCode = () => {
      refused += 1;
    };
    next();
  };
}

/** Notes that a well-formed code was refused in this answer. */
export function countRefusedCode(response: Response): void {
  response.locals.countRefusedCode?.();
}

function keyOf(request: Request, countedBy: CountedBy): string {
  if (countedBy === 'address') return ipKeyGenerator(request.ip ?? 'unknown');
  const name: unknown = request.body?.name;
  return typeof name === 'string' ? nameKey(name).slice(0, 100) : '';
}
