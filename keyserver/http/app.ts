/** Parts that API, reading site and its documents have in common. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { type IsTrustedProxy, trustedProxies } from '../../node-support/client-address.ts';
import { isWindow, senderOf } from '../../reading/navigation.ts';
import type { RequestLimits } from '../config/limits.ts';
import type { CountStore } from './count-store.ts';
import { limitRequests } from './limits.ts';

/** Characters of a foreign host that the log shows. */
const MAXIMUM_HOST_LENGTH = 255;

export interface AppOptions {
  readonly origin: string;
  readonly log: Logger;
  readonly dev: boolean;
  readonly isTrustedProxy: IsTrustedProxy;
  readonly limits: RequestLimits;
  /** Origins that forms may lead to, besides its own; left out where there are no forms and scripts. */
  readonly formsLeadTo?: readonly string[];
  readonly scripts?: readonly string[];
  /** Counts of all requests of an address; left out where nothing else counts them. */
  readonly requests?: CountStore;
  /** Called for each answer with its route, as a pattern, and its status. */
  readonly count: (route: string, status: number) => void;
}

/**
 * An app that logs each request by its route, never by its URL, and answers only under its own origin: a foreign `Host` is DNS rebinding,
 * or another site's traffic.
 *
 * @param misdirected - answers requests for another host
 * @param refuseTooMany - answers those above what one address may ask, whatever it asks for
 */
export function createApp(options: AppOptions, misdirected: RequestHandler, refuseTooMany: RequestHandler): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('query parser', false).set('trust proxy', options.isTrustedProxy);
  app.set('is shared', trustedProxies(options.limits.sharedNetworks));
  app.set('env', 'production'); // Express would show readers a stack where an error handler fails
  const { host, port, protocol } = new URL(options.origin);
  const hosts = port === '' ? [host, `${host}:${protocol === 'https:' ? 443 : 80}`] : [host];
  const headers = securityHeaders(options);
  app.use(logRequest(options), (request, response, next) => {
    response.setHeaders(headers);
    if (hosts.includes(request.headers.host?.toLowerCase() ?? '')) next();
    else misdirected(request, response, next);
  });
  const limit = limitRequests(options.limits.requestsPerAddress, refuseTooMany, options.requests);
  app.use((request, response, next) => {
    // Requests of another site's page are refused later on: they could use up what the reader's address may do.
    if (senderOf(request.headers) === 'elsewhere' && !isWindow(request.headers)) next();
    else limit(request, response, next);
  });
  return app;
}

function logRequest(options: AppOptions): RequestHandler {
  return (request, response, next) => {
    const start = performance.now();
    response.once('close', () => {
      const route: string = response.locals.route ?? request.route?.path ?? 'none';
      noteAnswer(options, { request, response, start, route });
    });
    next();
  };
}

/** Writes a line for a request: what was asked for by its pattern, how it ended, and how long it took; the host too, where it is another one. */
export function noteAnswer({ log, count }: Pick<AppOptions, 'count' | 'log'>, noted: Noted): void {
  const { request, response, start, route } = noted;
  const ms = Math.round(performance.now() - start);
  const { statusCode: status } = response;
  const cut = response.writableFinished ? {} : { cut: true };
  const host = status === 421 ? { host: request.headers.host?.slice(0, MAXIMUM_HOST_LENGTH) } : {};
  count(route, status);
  log.info({ method: request.method, route, status, ms, ...cut, ...host }, 'request');
}

interface Noted {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Start, by `performance.now()`. */
  readonly start: number;
  readonly route: string;
}

/**
 * Sets strict defaults for everything that is not a document. `same-origin` and not `no-referrer`, because under the latter browsers send
 * `Origin: null` with forms.
 */
function protection({ dev, formsLeadTo, scripts = [] }: AppOptions) {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'style-src': ["'self'"],
        'script-src': formsLeadTo ? ["'self'", ...scripts.map((digest) => `'${digest}'`)] : ["'none'"],
        'img-src': ["'self'", 'data:'],
        'connect-src': [formsLeadTo ? "'self'" : "'none'"],
        'form-action': formsLeadTo ? ["'self'", ...formsLeadTo] : ["'none'"],
        'base-uri': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    crossOriginEmbedderPolicy: false,
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
    referrerPolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' },
    strictTransportSecurity: dev ? false : { maxAge: 31_536_000 },
  });
}

/** Headers of every answer, which are always the same. */
export function securityHeaders(options: AppOptions): Map<string, string> {
  const headers = new Map<string, string>();
  const response = { setHeader: (name: string, value: string) => headers.set(name, value), removeHeader: () => {} };
  protection(options)({} as IncomingMessage, response as unknown as ServerResponse, () => {});
  return headers;
}

/** Forbids keeping the answer. */
export const noStore: RequestHandler = (_request, response, next) => {
  response.set('Cache-Control', 'no-store');
  next();
};
