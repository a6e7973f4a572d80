/** The cookies of the reading site, and the check that a form was sent by a page of this origin. */
import { parseCookie } from 'cookie';
import type { CookieOptions, Request, RequestHandler, Response } from 'express';
import { KeyServerError } from '../errors.ts';
import { VISIT_LIFETIME } from '../readers/gifts.ts';
import { SESSION_LIFETIME } from '../readers/session-tokens.ts';
import { KNOWN_BROWSER_LIFETIME } from '../sign-in/known-browsers.ts';
import { MAIL_CODE_LIFETIME } from '../sign-in/mail-codes.ts';
import { CHECKOUT_LIFETIME } from '../subscriptions/checkouts.ts';

/** Seconds that a person may take at the OpenID provider. */
const OPENID_LIFETIME = 900;
/** Flows of one kind that a browser has under way; characters of a cookie, of which browsers keep 4,096 with its name. */
const MOST_FLOWS = 4;
const MAXIMUM_COOKIE_LENGTH = 3_900;

export interface ReadingCookie {
  readonly read: (request: Request) => string | undefined;
  readonly set: (response: Response, token: string) => void;
  readonly clear: (response: Response) => void;
}

/** Holds the token of a session. */
export const sessionCookie = (origin: string) => cookieOf(origin, '', { maxAge: SESSION_LIFETIME * 1000 });

/** Makes a cookie of the operators' pages, which no other site's link brings. @param name - what it is for */
export function operatorCookie(origin: string, name: string, lifetime: number): ReadingCookie {
  return cookieOf(origin, `-${name}`, { maxAge: lifetime * 1000, sameSite: 'strict' });
}

/** Marks a browser that reads what is decrypted here, until the browser is closed. */
export const plainCookie = (origin: string) => cookieOf(origin, '-plain');

/** Holds the secrets of a browser that asked for codes by mail. */
export const mailCookie = (origin: string) => flowsIn(cookieOf(origin, '-mail', { maxAge: MAIL_CODE_LIFETIME * 1000 }));

/** Holds the secrets of a browser that went to a shop. */
export const checkoutCookie = (origin: string) =>
  flowsIn(cookieOf(origin, '-checkout', { maxAge: CHECKOUT_LIFETIME * 1000 }));

/** Holds the mark of a known browser. */
export const knownBrowserCookie = (origin: string) =>
  cookieOf(origin, '-known', { maxAge: KNOWN_BROWSER_LIFETIME * 1000 });

/** Holds what a browser has to bring back from the OpenID provider. */
export const openIdCookie = (origin: string) =>
  flowsIn(cookieOf(origin, '-openid', { maxAge: OPENID_LIFETIME * 1000 }));

/** Holds the tokens of a browser that has opened gifts. */
export const giftCookie = (origin: string) => flowsIn(cookieOf(origin, '-gift', { maxAge: VISIT_LIFETIME * 1000 }));

/** Flows that windows of a browser have begun side by side; each flow has its own secret. */
export interface FlowCookie {
  readonly read: (request: Request) => readonly string[];
  /** Adds one; where there is no room, the oldest go. @param flow - without `~` */
  readonly add: (request: Request, response: Response, flow: string) => void;
  readonly remove: (request: Request, response: Response, flow: string) => void;
  readonly clear: (response: Response) => void;
}

function flowsIn(cookie: ReadingCookie): FlowCookie {
  const read = (request: Request) => cookie.read(request)?.split('~').slice(0, MOST_FLOWS) ?? [];
  const keep = (response: Response, flows: readonly string[]) =>
    flows.length > 0 ? cookie.set(response, flows.join('~')) : cookie.clear(response);
  return {
    read,
    clear: cookie.clear,
    add: (request, response, flow) => {
      const flows = [flow, ...read(request)].slice(0, MOST_FLOWS);
      while (flows.length > 1 && flows.join('~').length > MAXIMUM_COOKIE_LENGTH) flows.pop();
      keep(response, flows);
    },
    remove: (request, response, flow) => {
      const others = read(request).filter((each) => each !== flow);
      keep(response, others);
    },
  };
}

/**
 * `__Host-` keeps other hosts from setting it. Over plain HTTP, on loopback, browsers refuse that prefix; there the port is in the name, because
 * cookies do not tell ports apart.
 */
function cookieOf(origin: string, purpose: string, more: CookieOptions = {}): ReadingCookie {
  const { protocol, port } = new URL(origin);
  const secure = protocol === 'https:';
  const name = secure ? `__Host-wispr${purpose}` : `wispr${purpose}-${port}`;
  const options: CookieOptions = { path: '/', httpOnly: true, secure, sameSite: 'lax' };
  return {
    read: (request) => valueIn(request.headers.cookie ?? '', name),
    set: (response, token) => void response.cookie(name, token, { ...options, ...more }),
    clear: (response) => void response.clearCookie(name, options),
  };
}

/** Reads one cookie. Another host may have set either of two of one name, by a `Path` or `Domain` of its own: neither is taken. */
function valueIn(header: string, name: string): string | undefined {
  const [value, another] = header.split(';').flatMap((pair) => parseCookie(pair)[name] ?? []);
  return another === undefined ? value : undefined;
}

/**
 * Lets a changing request pass only if a page of this origin sent it: `Origin` says so, or, where there is none, `Sec-Fetch-Site`. One of
 * the two comes with every form that a browser sends.
 *
 * @throws KeyServerError `cross-site`, to the error handler
 */
export function sameOriginOnly(origin: string): RequestHandler {
  return ({ headers }, _response, next) => {
    const own = headers.origin === undefined ? headers['sec-fetch-site'] === 'same-origin' : headers.origin === origin;
    next(own ? undefined : new KeyServerError('cross-site', 'the form was not sent by a page of this site'));
  };
}
