/**
 * How a browser that is signed in at the account's origin gets a session at the documents' origin, which cannot see the other's cookie: from here
 * to the account's `/-/enter` with a challenge, and back to `/-/enter` here with a code. Only the browser that began has the secret behind the
 * challenge, so a code from another browser opens nothing.
 */
import type { Express, Request, RequestHandler, Response } from 'express';
import { LEAVE_PAGE } from '../../core/site/path.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { senderOf } from '../../reading/navigation.ts';
import { KeyServerError } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { queryOf } from '../http/forms.ts';
import { challengeOf, createEntrySecret, enterWithCode, findDocumentSession } from '../sign-in/document-sessions.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { accountOnly, openedOnly, unrecorded } from './own-pages.ts';
import type { ReadingCookie } from './session-cookie.ts';

/** At the documents' origin. */
export interface Entrance {
  readonly state: KeyServerState;
  /** Of the documents. */
  readonly origin: string;
  /** Where people sign in. */
  readonly account: string;
  /** Tells whether documents are decrypted in browsers; a foreign page makes none of them read what is decrypted here. */
  readonly isInBrowser: () => Promise<boolean>;
  /** Answers a browser that has signed out. */
  readonly sendLeaving: (response: Response) => Promise<void>;
  readonly session: ReadingCookie;
  readonly secret: ReadingCookie;
}

/** Adds the routes below `/-/` of the documents' origin. */
export function addEntrance(app: Express, entrance: Entrance, limit: RequestHandler): void {
  app.get('/-/begin', unrecorded, openedOnly, limit, async (request, response) => {
    const to = queryOf(request, 'to');
    const isLed = senderOf(request.headers) === 'elsewhere' && (await entrance.isInBrowser());
    if (!isLed && !(await readerOf(entrance, request))) begin(entrance, request, response, to);
    else response.redirect(303, documentTarget(to, entrance.origin));
  });
  app.get('/-/plain', unrecorded, openedOnly, limit, (request, response) => {
    if (senderOf(request.headers) !== 'elsewhere') keepSecret(entrance, request, response);
    response.set('Cache-Control', 'no-store').redirect(303, documentTarget(queryOf(request, 'to'), entrance.origin));
  });
  app.get('/-/enter', unrecorded, openedOnly, limit, (request, response) => enter(entrance, request, response));
  app.post(LEAVE_PAGE, noStore, accountOnly(entrance.account), limit, async (_request, response) => {
    for (const cookie of [entrance.session, entrance.secret]) cookie.clear(response);
    // Neither decrypted pages nor keys, kept documents and the worker stay for the next person at this browser. Not "cookies": browsers would
    // clear those of the whole domain, with everything that belongs to the publisher's other hosts.
    await entrance.sendLeaving(response.set('Clear-Site-Data', '"cache", "storage"'));
  });
}

/** Who reads, by the cookie. */
export async function readerOf({ state, session }: Entrance, request: Request): Promise<Subscriber | undefined> {
  const token = session.read(request);
  return token === undefined ? undefined : findDocumentSession(state, token);
}

/** Whether a browser reads what is decrypted here, or is about to. */
export async function hasBegun(entrance: Entrance, request: Request): Promise<boolean> {
  return entrance.secret.read(request) !== undefined || (await readerOf(entrance, request)) !== undefined;
}

/** Leads to the account's origin for a code. Windows that are opened at the same time share the secret. @param to - the document wanted */
export function begin(entrance: Entrance, request: Request, response: Response, to: string): void {
  const { origin, account } = entrance;
  const kept = keepSecret(entrance, request, response);
  const query = new URLSearchParams({ challenge: challengeOf(kept) ?? '', to: documentTarget(to, origin) });
  response.set('Cache-Control', 'no-store').redirect(303, `${account}/-/enter?${query}`);
}

/** The secret of this browser, which from now on reads what is decrypted here. */
function keepSecret({ secret }: Entrance, request: Request, response: Response): string {
  const kept = secret.read(request) ?? '';
  if (challengeOf(kept) !== undefined) return kept;
  const made = createEntrySecret();
  secret.set(response, made);
  return made;
}

/** A browser that keeps no cookies gets a page here, and is not sent round and round. */
async function enter(
  { state, origin, session, secret }: Entrance,
  request: Request,
  response: Response,
): Promise<void> {
  const token = await enterWithCode(state, queryOf(request, 'code'), secret.read(request) ?? '');
  if (token === undefined) throw new KeyServerError('entry-refused', 'code and browser do not belong together');
  session.set(response, token);
  response.redirect(303, documentTarget(queryOf(request, 'to'), origin));
}
