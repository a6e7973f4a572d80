/** The pages below `/-/`: signing in and out, joining with an invitation, the account. */
import express, { type Express, type Request, type Response } from 'express';
import { normaliseCode } from '../../core/keys/binding.ts';
import { KeyServerError } from '../errors.ts';
import { addressOf, limitRequests, MAXIMUM_FORM_LENGTH } from '../http/limits.ts';
import {
  endSession,
  findSession,
  joinWithCode,
  type NewSession,
  type SignInAttempt,
  signIn,
} from '../readers/accounts.ts';
import { createEntryCode } from '../readers/document-sessions.ts';
import { isAcceptablePassword, MINIMUM_PASSWORD_LENGTH } from '../readers/passwords.ts';
import { grantsOf, type Subscriber } from '../readers/subscribers.ts';
import type { KeyServerState } from '../storage/state.ts';
import { documentLimit, noStore, openedOnly, refuseTooMany } from './own-pages.ts';
import { accountPage, type JoinPage, joinPage, type Masthead, type SignInPage, signInPage } from './pages.ts';
import { type ReadingCookie, sameOriginOnly } from './session-cookie.ts';
import { limitSignIns, rememberBrowser, type SignInLimits } from './sign-in-limits.ts';
import { documentTarget, localTarget, queryOf } from './targets.ts';

export interface AccountPages extends SignInLimits {
  readonly origin: string;
  /** The origin of the documents. */
  readonly documents: string;
  readonly cookie: ReadingCookie;
  readonly masthead: () => Promise<Masthead>;
}

const form = express.urlencoded({ extended: false, limit: MAXIMUM_FORM_LENGTH, parameterLimit: 10, inflate: false });

/** Adds the routes below `/-/` to the reading site. */
export function addAccountPages(app: Express, pages: AccountPages): void {
  const { origin, limits } = pages;
  const ownForm = [noStore, sameOriginOnly(origin)];
  app.get('/-/', (_request, response) => response.redirect(303, '/-/account'));
  app.get('/-/sign-in', noStore, async (_request, response) =>
    sendSignIn(pages, response, 200, { to: '/', name: '', failed: false }),
  );
  app.get('/-/enter', noStore, openedOnly, documentLimit(limits), async (request, response) =>
    sendOn(pages, request, response),
  );
  app.get('/-/join', noStore, async (_request, response) =>
    sendJoin(pages, response, 200, { code: '', problem: undefined }),
  );
  app.get('/-/account', noStore, async (request, response) => showAccount(pages, request, response));
  app.post('/-/sign-in', ...ownForm, form, ...limitSignIns(pages, refuseTooMany), async (request, response) =>
    takeSignIn(pages, request, response),
  );
  app.post(
    '/-/join',
    ...ownForm,
    limitRequests(limits.joinsPerAddress, 'address', refuseTooMany),
    form,
    async (request, response) => takeJoin(pages, request, response),
  );
  app.post('/-/sign-out', ...ownForm, (request, response) => takeSignOut(pages, request, response));
}

async function sendSignIn(
  pages: AccountPages,
  response: Response,
  status: number,
  page: Omit<SignInPage, 'wanted'>,
): Promise<void> {
  const wanted = wantedBy(page.to, pages);
  response
    .status(status)
    .type('html')
    .send(signInPage(await pages.masthead(), { ...page, wanted }));
}

/** The document that signing in leads to in the end. */
function wantedBy(to: string, { origin, documents }: AccountPages): string {
  const { pathname, searchParams } = new URL(to, origin);
  return documentTarget(pathname === '/-/enter' ? (searchParams.get('to') ?? '') : to, documents);
}

/** Sends a browser back to the documents with a code, or lets the person sign in first. */
async function sendOn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const { state, cookie, documents } = pages;
  const [challenge, to] = [queryOf(request, 'challenge'), documentTarget(queryOf(request, 'to'), documents)];
  if (!subscriberOf(pages, request)) {
    const again = `/-/enter?${new URLSearchParams({ challenge, to })}`;
    response.set('WWW-Authenticate', 'Wispr-Session');
    return sendSignIn(pages, response, 401, { to: again, name: '', failed: false });
  }
  const code = createEntryCode(state, cookie.read(request) ?? '', challenge);
  if (code === undefined) throw new KeyServerError('entry-refused', 'this is no challenge');
  // Not on the sign-in page: its form would be sent with `Origin: null`.
  response.set('Referrer-Policy', 'no-referrer');
  response.redirect(303, `${documents}/-/enter?${new URLSearchParams({ code, to })}`);
}

/** Who is signed in, by the cookie. */
export function subscriberOf(
  { state, cookie }: Pick<AccountPages, 'cookie' | 'state'>,
  request: Request,
): Subscriber | undefined {
  const token = cookie.read(request);
  return token === undefined ? undefined : findSession(state, token);
}

async function sendJoin(
  pages: AccountPages,
  response: Response,
  status: number,
  page: Pick<JoinPage, 'code' | 'problem'>,
): Promise<void> {
  const html = joinPage(await pages.masthead(), { ...page, minimumLength: MINIMUM_PASSWORD_LENGTH });
  response.status(status).type('html').send(html);
}

async function showAccount(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const subscriber = subscriberOf(pages, request);
  if (!subscriber) return sendSignIn(pages, response, 401, { to: '/-/account', name: '', failed: false });
  const { database, now } = pages.state;
  const { id, name, revoked } = subscriber;
  const page = { name, revoked: revoked !== null, grants: grantsOf(database, id), now: now() };
  response.type('html').send(accountPage(await pages.masthead(), page));
}

async function takeSignIn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [name, password] = [field(request, 'name'), field(request, 'password')];
  const to = localTarget(field(request, 'to'), pages.origin);
  const session = await signIn(pages.state, { name, password, address: addressOf(request) });
  if (!session) return sendSignIn(pages, response, 403, { to, name, failed: true });
  await beginSession(pages, request, response, session);
  response.redirect(303, to);
}

async function takeJoin(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [text, password] = [field(request, 'code'), field(request, 'password')];
  if (!isAcceptablePassword(password)) return sendJoin(pages, response, 400, { code: text, problem: 'password' });
  const session = await join(pages.state, text, { password, address: addressOf(request) });
  if (!session) return sendJoin(pages, response, 403, { code: text, problem: 'code' });
  await beginSession(pages, request, response, session);
  response.redirect(303, '/-/account');
}

async function join(
  state: KeyServerState,
  text: string,
  attempt: Pick<SignInAttempt, 'address' | 'password'>,
): Promise<NewSession | undefined> {
  const code = normaliseCode(text);
  try {
    return code === undefined ? undefined : await joinWithCode(state, code, attempt);
  } catch (error) {
    if (!(error instanceof KeyServerError && error.code === 'code-refused')) throw error;
    return undefined;
  }
}

function takeSignOut(pages: AccountPages, request: Request, response: Response): void {
  endSessionOf(pages, request);
  pages.cookie.clear(response);
  response.set('Clear-Site-Data', '"cache"').redirect(303, `${pages.documents}/-/leave`);
}

/** The token is always new; a session that the browser had ends. From now on the browser is known. */
async function beginSession(
  pages: AccountPages,
  request: Request,
  response: Response,
  { token, subscriber }: NewSession,
): Promise<void> {
  endSessionOf(pages, request);
  pages.cookie.set(response, token);
  await rememberBrowser(pages, response, subscriber);
}

function endSessionOf({ state, cookie }: AccountPages, request: Request): void {
  const token = cookie.read(request);
  if (token !== undefined) endSession(state, token);
}

/** A field of a form; one that is missing or repeated is empty. */
function field(request: Request, name: string): string {
  const value: unknown = request.body?.[name];
  return typeof value === 'string' ? value : '';
}
