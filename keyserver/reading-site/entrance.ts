/**
 * Gives a browser that is signed in at the account's origin a session at the documents' origin, which cannot see the other's cookie: a form of
 * the account's origin brings a code to the address of the document. `Origin` says that no other page has sent it, so the code is that of the
 * person who is signed in at this very browser.
 */
import { type Express, type Request, type RequestHandler, type Response, Router } from 'express';
import { GIVEN, LEAVE_PAGE } from '../../core/site/path.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { senderOf } from '../../reading/navigation.ts';
import { KeyServerError } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { field, formOf, queryOf } from '../http/forms.ts';
import { enterWithCode, findDocumentSession } from '../sign-in/document-sessions.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { accountOnly, named, openedOnly, unrecorded } from './own-pages.ts';
import type { FlowCookie, ReadingCookie } from './session-cookie.ts';

const form = formOf(200, 1);

export interface Entrance {
  readonly state: KeyServerState;
  readonly origin: string;
  readonly account: string;
  /** Tells whether documents are decrypted in browsers; a foreign page makes none of them read what is decrypted here. */
  readonly isInBrowser: () => Promise<boolean>;
  readonly sendLeaving: (response: Response, left: string) => Promise<void>;
  readonly session: ReadingCookie;
  /** Marks a browser that has asked to read what is decrypted here. */
  readonly plain: ReadingCookie;
  /** Holds what opens the gifts that this browser has opened. */
  readonly given: FlowCookie;
}

/** Adds the routes below `/-/` of the documents' origin. */
export function addEntrance(app: Express, entrance: Entrance, limit: RequestHandler): void {
  app.get('/-/begin', unrecorded, openedOnly, limit, async (request, response) => {
    const to = queryOf(request, 'to');
    const isLed = senderOf(request.headers) === 'elsewhere' && (await entrance.isInBrowser());
    if (!isLed && !(await readerOf(entrance, request))) begin(entrance, response, to);
    else response.redirect(303, documentTarget(to, entrance.origin));
  });
  app.get('/-/plain', unrecorded, openedOnly, limit, (request, response) => {
    if (senderOf(request.headers) !== 'elsewhere') entrance.plain.set(response, 'yes');
    response.set('Cache-Control', 'no-store').redirect(303, documentTarget(queryOf(request, 'to'), entrance.origin));
  });
  app.post(LEAVE_PAGE, noStore, accountOnly(entrance.account), limit, async (request, response) => {
    for (const cookie of [entrance.session, entrance.plain, entrance.given]) cookie.clear(response);
    // Decrypted pages, keys, kept documents and the worker do not stay for the next person at this browser. Not "cookies": browsers would
    // clear those of the whole domain, with everything that belongs to the publisher's other hosts.
    const left = queryOf(request, 'forgotten') === '' ? '1' : 'forgotten';
    await entrance.sendLeaving(response.set('Clear-Site-Data', '"cache", "storage"'), left);
  });
}

/**
 * Takes the code that a form of the account brings to the address of a document. What comes next answers as to a GET.
 *
 * @param goOn - decides whether it does
 * @throws KeyServerError `entry-refused`, to the error handler
 */
export function takeCode(entrance: Entrance, limit: RequestHandler, goOn: RequestHandler): RequestHandler {
  const { state, account, session } = entrance;
  // Used before the routes: Express refuses a path that does not decode, and readers are told why.
  return Router().use(
    ({ method, headers }, _response, next) =>
      next(method === 'POST' && headers.origin === account ? undefined : 'router'),
    named,
    openedOnly,
    limit,
    form,
    async (request, response, next) => {
      const token = await enterWithCode(state, field(request, 'code'));
      request.method = 'GET';
      // Loaded again, it has been used: by this browser, if that is signed in.
      if (token === undefined && !(await readerOf(entrance, request)))
        throw new KeyServerError('entry-refused', 'the code was used, or is too old');
      if (token !== undefined) session.set(response, token);
      response.locals.session = token;
      next();
    },
    goOn,
  );
}

/** Finds the reader, by the cookie, or by the code that has come instead of one. */
export async function readerOf({ state, session }: Entrance, request: Request): Promise<Subscriber | undefined> {
  const token: string | undefined = request.res?.locals.session ?? session.read(request);
  return token === undefined ? undefined : findDocumentSession(state, token);
}

/** Leads to the account's origin for a code. @param to - the document wanted */
export function begin({ origin, account }: Entrance, response: Response, to: string): void {
  // Windows that are led here have no gift, or none any more: from now on the page is read as all others are.
  const query = new URLSearchParams({ to: documentTarget(to, origin).replace(GIVEN, '') });
  response.set('Cache-Control', 'no-store').redirect(303, `${account}/-/enter?${query}`);
}
