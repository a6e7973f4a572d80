/** The pages below `/-/`: signing in and out, joining with an invitation, the account. */
import express, { type Express, type Request, type Response } from 'express';
import { normaliseCode } from '../../core/keys/binding.ts';
import { documentTarget, localTarget } from '../../core/reading/local-target.ts';
import { KEYS_PAGE } from '../../core/site/path.ts';
import { KeyServerError } from '../errors.ts';
import { addressOf, limitFailures, MAXIMUM_FORM_LENGTH } from '../http/limits.ts';
import { isMailAddress } from '../mail/address.ts';
import type { OpenIdDoor } from '../openid/config.ts';
import { MAXIMUM_PASSKEYS, passkeysOf } from '../passkeys/store.ts';
import {
  endSession,
  findAccount,
  findSession,
  joinWithCode,
  joinWithPassword,
  type NewSession,
  setFirstPassword,
  signIn,
} from '../readers/accounts.ts';
import { deviceOfSession } from '../readers/browser-devices.ts';
import { devicesOf, removeDevice } from '../readers/devices.ts';
import { createEntryCode } from '../readers/document-sessions.ts';
import { findInvitation } from '../readers/invitations.ts';
import { isProven } from '../readers/own-account.ts';
import { isAcceptablePassword, MINIMUM_PASSWORD_LENGTH } from '../readers/passwords.ts';
import { as } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';
import { demandSeat } from '../subscriptions/seats.ts';
import { grantsOf, type Subscriber } from '../subscriptions/subscribers.ts';
import { plansOf } from '../subscriptions/subscriptions.ts';
import type { ReadingMail } from './mail-pages.ts';
import { documentLimit, noStore, openedOnly, refuseTooMany } from './own-pages.ts';
import { accountPage, type JoinPage, joinPage, type Masthead, type SignInPage, signInPage } from './pages.ts';
import type { ProgramVersion } from './program.ts';
import { type ReadingCookie, sameOriginOnly } from './session-cookie.ts';
import { limitSignIns, rememberBrowser, type SignInLimits } from './sign-in-limits.ts';
import { queryOf } from './targets.ts';

export interface AccountPages extends SignInLimits {
  readonly origin: string;
  /** The origin of the documents. */
  readonly documents: string;
  /** The origin of devices. */
  readonly keyServer: string;
  readonly cookie: ReadingCookie;
  /** `undefined`: no mail is sent. */
  readonly mail: ReadingMail | undefined;
  readonly masthead: () => Promise<Masthead>;
  /** Where else people can sign in. */
  readonly door: Pick<OpenIdDoor, 'title'> | undefined;
  /** What opens documents in browsers; `undefined` where they are decrypted here, or while the publication is not known. */
  readonly program: () => Promise<ProgramVersion | undefined>;
}

export const form = express.urlencoded({
  extended: false,
  limit: MAXIMUM_FORM_LENGTH,
  parameterLimit: 10,
  inflate: false,
});

/** Adds the routes below `/-/` to the reading site. */
export function addAccountPages(app: Express, pages: AccountPages): void {
  const { origin, limits } = pages;
  const ownForm = [noStore, sameOriginOnly(origin)];
  const joins = { kind: 'joins', limit: limits.joinsPerAddress, countedBy: 'address' } as const;
  const joinLimit = limitFailures(pages.state, joins, refuseTooMany);
  app.get('/-/', (_request, response) => response.redirect(303, '/-/account'));
  app.get('/-/sign-in', noStore, async (request, response) =>
    sendSignIn(pages, response, 200, { to: '/', name: '', failed: false, left: queryOf(request, 'left') === '1' }),
  );
  app.get('/-/enter', noStore, openedOnly, documentLimit(limits), async (request, response) =>
    sendOn(pages, request, response),
  );
  app.get('/-/join', noStore, async (request, response) =>
    sendJoin(pages, request, response, 200, { code: '', to: queryOf(request, 'to'), problem: undefined }),
  );
  app.get('/-/account', noStore, async (request, response) => showAccount(pages, request, response));
  app.post('/-/sign-in', ...ownForm, form, ...limitSignIns(pages, refuseTooMany), async (request, response) =>
    takeSignIn(pages, request, response),
  );
  app.post('/-/join', ...ownForm, joinLimit, form, async (request, response) => takeJoin(pages, request, response));
  app.post('/-/invitation', ...ownForm, joinLimit, form, (request, response) => nameInvited(pages, request, response));
  app.post('/-/password', ...ownForm, form, async (request, response) => takePassword(pages, request, response));
  app.post('/-/remove-device', ...ownForm, form, async (request, response) => takeRemoval(pages, request, response));
  app.post('/-/forget', ...ownForm, (request, response) => takeForgetting(pages, request, response));
  app.post('/-/sign-out', ...ownForm, (request, response) => takeSignOut(pages, request, response));
}

/** Lets a person sign in, and go on to `page.to`. */
export async function sendSignIn(
  pages: AccountPages,
  response: Response,
  status: number,
  page: Omit<SignInPage, 'byMail' | 'openid' | 'signsUp' | 'wanted'>,
): Promise<void> {
  const wanted = wantedBy(page.to, pages);
  response
    .status(status)
    .type('html')
    .send(
      signInPage(await pages.masthead(), {
        ...page,
        wanted,
        openid: pages.door?.title,
        byMail: pages.mail !== undefined,
        signsUp: pages.mail?.signUp !== undefined,
      }),
    );
}

/** The document that signing in leads to in the end. */
export function wantedBy(to: string, { origin, documents }: Pick<AccountPages, 'documents' | 'origin'>): string {
  const { pathname, searchParams } = new URL(to, origin);
  return documentTarget(pathname === '/-/enter' ? (searchParams.get('to') ?? '') : to, documents);
}

/** Sends a browser back to the documents with a code, or lets the person sign in first. */
async function sendOn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const { state, cookie, documents } = pages;
  const [challenge, to] = [queryOf(request, 'challenge'), documentTarget(queryOf(request, 'to'), documents)];
  if (!(await subscriberOf(pages, request))) {
    const again = `/-/enter?${new URLSearchParams({ challenge, to })}`;
    response.set('WWW-Authenticate', 'Wispr-Session');
    return sendSignIn(pages, response, 401, { to: again, name: '', failed: false });
  }
  const code = await createEntryCode(state, cookie.read(request) ?? '', challenge);
  if (code === undefined) throw new KeyServerError('entry-refused', 'this is no challenge');
  // Not on the sign-in page: its form would be sent with `Origin: null`.
  response.set('Referrer-Policy', 'no-referrer');
  response.redirect(303, `${documents}/-/enter?${new URLSearchParams({ code, to })}`);
}

/** Who is signed in, by the cookie. */
export async function subscriberOf(
  { state, cookie }: Pick<AccountPages, 'cookie' | 'state'>,
  request: Request,
): Promise<Subscriber | undefined> {
  const token = cookie.read(request);
  return token === undefined ? undefined : findSession(state, token);
}

async function sendJoin(
  pages: AccountPages,
  request: Request,
  response: Response,
  status: number,
  page: Pick<JoinPage, 'code' | 'problem' | 'to'>,
): Promise<void> {
  const { documents, keyServer } = pages;
  const to = page.to === '' ? '' : afterJoining(page.to, documents);
  const present = (await subscriberOf(pages, request))?.name;
  const mailed = queryOf(request, 'mail') === '1';
  const rest = { to, keyServer, present, mailed, minimumLength: MINIMUM_PASSWORD_LENGTH };
  const html = joinPage(await pages.masthead(), { ...page, ...rest });
  response.status(status).type('html').send(html);
}

async function showAccount(
  pages: AccountPages,
  request: Request,
  response: Response,
  problem: boolean = false,
): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  if (!subscriber) return sendSignIn(pages, response, 401, { to: '/-/account', name: '', failed: false });
  const { state } = pages;
  const { id, name, revoked } = subscriber;
  await state.renewRights?.(id);
  const page = {
    name,
    revoked: revoked !== null,
    grants: await grantsOf(state.database, id),
    subscriptions: await plansOf(state.database, id),
    now: state.now(),
    devices: await devicesOf(state.database, id),
    thisDevice: await deviceOfSession(state, pages.cookie.read(request) ?? ''),
    passkeys: await passkeysOf(state.database, 'reader_passkeys', id),
    maximumPasskeys: MAXIMUM_PASSKEYS,
    hasPassword: (await findAccount(state.database, id)) !== undefined,
    minimumLength: MINIMUM_PASSWORD_LENGTH,
    program: await pages.program(),
    problem: problem || queryOf(request, 'problem') === 'password',
    byMail: pages.mail !== undefined,
    isProven: await isProven(state, pages.cookie.read(request) ?? ''),
    isMailed: pages.mail !== undefined && isMailAddress(name),
  };
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

/** A document, or on to its keys: what is wanted then stands behind "#", which browsers keep. */
function afterJoining(to: string, origin: string): string {
  return to === KEYS_PAGE ? to : documentTarget(to, origin);
}

/** Without the field for a password, the invitation alone signs in. */
async function takeJoin(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [code, to, password] = [field(request, 'code'), field(request, 'to'), optionalField(request, 'password')];
  if (password !== undefined && !isAcceptablePassword(password))
    return sendJoin(pages, request, response, 400, { code, to, problem: 'password' });
  const present = (await subscriberOf(pages, request))?.id;
  const joined = await join(pages.state, code, { password, address: addressOf(request), present });
  if ('problem' in joined)
    return sendJoin(pages, request, response, joined.problem === 'seats' ? 409 : 403, {
      code,
      to,
      problem: joined.problem,
    });
  const { session } = joined;
  await beginSession(pages, request, response, session);
  if (to !== '') return response.redirect(303, afterJoining(to, pages.origin));
  response.redirect(303, password === undefined ? '/' : '/-/account');
}

async function join(
  state: KeyServerState,
  text: string,
  {
    password,
    address,
    present,
  }: { readonly password: string | undefined; readonly address: string; readonly present: number | undefined },
): Promise<{ readonly session: NewSession } | CodeProblem> {
  return withCode(text, async (code) => ({
    session: await (password === undefined
      ? joinWithCode(state, code, present)
      : joinWithPassword(state, code, { password, address })),
  }));
}

/** The code in what a person typed or pasted, which may be the whole link. */
function codeIn(text: string): string | undefined {
  const [code = ''] = text.replace(/^.*#/, '').split('.');
  return normaliseCode(code);
}

/** Whose an invitation is, for its page: the code is not used up, and no seat taken. */
async function nameInvited(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const { state } = pages;
  const present = (await subscriberOf(pages, request))?.id;
  const found = await withCode(field(request, 'code'), async (code) => {
    const { subscriber, name, seats } = await findInvitation(state, code, '');
    if (seats !== null) await demandSeat(state.database, subscriber, present);
    return { name, ...(seats !== null && { again: true }) };
  });
  if ('name' in found) response.json(found);
  else if (found.problem === 'seats') response.status(409).json({ error: 'seats-taken' });
  else response.status(403).json({ error: 'code-refused' });
}

interface CodeProblem {
  readonly problem: 'code' | 'seats';
}

/** Does something with the code in what a person typed; says where the code is not good, or its group has no free seat. */
async function withCode<Found>(text: string, use: (code: string) => Promise<Found>): Promise<Found | CodeProblem> {
  const code = codeIn(text);
  if (code === undefined) return { problem: 'code' };
  try {
    return await use(code);
  } catch (error) {
    if (!(error instanceof KeyServerError)) throw error;
    if (error.code === 'code-refused') return { problem: 'code' };
    if (error.code === 'seats-taken') return { problem: 'seats' };
    throw error;
  }
}

async function takePassword(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [subscriber, password] = [await subscriberOf(pages, request), field(request, 'password')];
  if (subscriber && !isAcceptablePassword(password)) return showAccount(pages, request, response.status(400), true);
  if (subscriber && (await setFirstPassword(pages.state, subscriber.id, { password, address: addressOf(request) })))
    await rememberBrowser(pages, response, subscriber);
  response.redirect(303, '/-/account');
}

async function takeRemoval(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  const device = Number(field(request, 'device'));
  if (subscriber && Number.isSafeInteger(device))
    await removeDevice(as(pages.state, `reader ${subscriber.name}`), subscriber.id, device);
  response.redirect(303, '/-/account');
}

/** Nothing stays: neither the device at this server, nor keys, cookies and pages in the browser. */
async function takeForgetting(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [subscriber, token] = [await subscriberOf(pages, request), pages.cookie.read(request)];
  const device = token === undefined ? undefined : await deviceOfSession(pages.state, token);
  if (subscriber && device !== undefined)
    await removeDevice(as(pages.state, `reader ${subscriber.name}`), subscriber.id, device);
  await endSessionOf(pages, request);
  pages.knownBrowser.clear(response);
  leave(pages, response, '"cache", "storage"');
}

async function takeSignOut(pages: AccountPages, request: Request, response: Response): Promise<void> {
  await endSessionOf(pages, request);
  leave(pages, response);
}

/** Takes the session out of the browser, and leads to where the documents' origin does the same. */
export function leave({ cookie, documents }: AccountPages, response: Response, data = '"cache"'): void {
  cookie.clear(response);
  response.set('Clear-Site-Data', data).redirect(303, `${documents}/-/leave`);
}

/** The token is always new; a session that the browser had ends. From now on the browser is known. */
export async function beginSession(
  pages: AccountPages,
  request: Request,
  response: Response,
  { token, subscriber }: NewSession,
): Promise<void> {
  await endSessionOf(pages, request);
  pages.cookie.set(response, token);
  await rememberBrowser(pages, response, subscriber);
}

async function endSessionOf({ state, cookie }: AccountPages, request: Request): Promise<void> {
  const token = cookie.read(request);
  if (token !== undefined) await endSession(state, token);
}

/** A field of a form; one that is missing or repeated is empty. */
export function field(request: Request, name: string): string {
  return optionalField(request, name) ?? '';
}

/** `undefined` where the form has no such field. */
function optionalField(request: Request, name: string): string | undefined {
  const value: unknown = request.body?.[name];
  return value === undefined || typeof value === 'string' ? value : '';
}
