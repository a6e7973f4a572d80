/** The pages below `/-/`: signing in and out, and the account. */
import type { Express, Request, RequestHandler, Response } from 'express';
import { documentTarget, localTarget } from '../../reading/local-target.ts';
import { noStore } from '../http/app.ts';
import { field, nameField, queryOf } from '../http/forms.ts';
import { addressOf } from '../http/limits.ts';
import { isMailAddress } from '../mail/address.ts';
import { deviceOfSession } from '../readers/browser-devices.ts';
import { devicesOf, removeDevice } from '../readers/devices.ts';
import { findAccount, signIn } from '../sign-in/accounts.ts';
import { isProven } from '../sign-in/own-account.ts';
import { MAXIMUM_PASSKEYS, passkeysOf } from '../sign-in/passkeys.ts';
import { MINIMUM_PASSWORD_LENGTH } from '../sign-in/passwords.ts';
import { asReader } from '../storage/audit.ts';
import { grantsOf, nameKey, type Subscriber } from '../subscriptions/subscribers.ts';
import { plansOf } from '../subscriptions/subscriptions.ts';
import {
  type AccountPages,
  beginSession,
  endSessionOf,
  form,
  handOver,
  leave,
  subscriberOf,
  wantedBy,
} from './account-session.ts';
import { documentLimit, openedOnly, refuseTooMany, sendPage } from './own-pages.ts';
import { accountPage, type SignInPage, signInPage } from './pages.ts';
import { sameOriginOnly } from './session-cookie.ts';
import { limitSignIns } from './sign-in-limits.ts';

/** Adds the routes below `/-/` to the reading site. */
export function addAccountPages(app: Express, pages: AccountPages): void {
  const { origin, limits } = pages;
  const ownForm = [noStore, sameOriginOnly(origin)];
  app.get('/-/', (_request, response) => response.redirect(303, '/-/account'));
  app.get('/-/sign-in', noStore, async (request, response) =>
    sendSignIn(pages, response, 200, { to: '/', name: '', failed: false, left: queryOf(request, 'left') === '1' }),
  );
  app.get('/-/enter', noStore, openedOnly, documentLimit(limits), async (request, response) =>
    sendOn(pages, request, response),
  );
  app.get('/-/account', noStore, async (request, response) => showAccount(pages, request, response));
  app.post('/-/sign-in', ...ownForm, form, ...limitSignIns(pages, refuseTooMany), async (request, response) =>
    acceptSignIn(pages, request, response),
  );
  app.get('/-/confirm', noStore, async (request, response) => {
    const name = (await subscriberOf(pages, request))?.name ?? '';
    await sendSignIn(pages, response, 200, { to: '/-/account', name, failed: false, again: name !== '' });
  });
  app.post('/-/remove-device', ...ownForm, form, async (request, response) => acceptRemoval(pages, request, response));
  app.post('/-/forget', ...ownForm, (request, response) => acceptForgetting(pages, request, response));
  app.post('/-/sign-out', ...ownForm, (request, response) => acceptSignOut(pages, request, response));
}

/** Lets a person sign in, and go on to `page.to`. */
export async function sendSignIn(
  pages: AccountPages,
  response: Response,
  status: number,
  page: Omit<SignInPage, 'byMail' | 'openid' | 'signsUp' | 'wanted'>,
): Promise<void> {
  const wanted = wantedBy(page.to, pages);
  const masthead = await pages.masthead();
  const openid = pages.openid?.title;
  const [byMail, signsUp] = [pages.mail !== undefined, pages.mail?.signUp !== undefined];
  sendPage(response.status(status), masthead, signInPage(masthead, { ...page, wanted, openid, byMail, signsUp }));
}

/**
 * Lets a session pass that was begun just now: a copied one adds nothing that outlives it. Others are asked to sign in once more, and then begin
 * again at the account. Who is not signed in is led there.
 */
export function provenOnly(pages: AccountPages): RequestHandler {
  return async (request, response, next) => {
    const subscriber = await subscriberOf(pages, request);
    if (!subscriber) return response.redirect(303, '/-/account');
    if (await isProven(pages.state, pages.cookie.read(request) ?? '')) return next();
    await sendSignIn(pages, response, 403, { to: '/-/account', name: subscriber.name, failed: false, again: true });
  };
}

/** Mails a subscriber what was added to the account, in case somebody else has done it. */
export async function tellAdded(
  { limits, mail, masthead, told: counts }: AccountPages,
  { name }: Subscriber,
  what: string,
): Promise<void> {
  if (!mail || !isMailAddress(name)) return;
  const told = await counts.begin(nameKey(name));
  told.end(true);
  if (told.hits > limits.mailsPerNameAndDay) return;
  const { publisher, site } = await masthead();
  mail.mailer.sendLater(name, 'added', { publisher, site, what });
}

/** Leads a browser to the document, or lets the person sign in first. */
async function sendOn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const to = documentTarget(queryOf(request, 'to'), pages.documents);
  if (await subscriberOf(pages, request)) return handOver(pages, response, pages.cookie.read(request), to);
  const again = `/-/enter?${new URLSearchParams({ to })}`;
  response.set('WWW-Authenticate', 'Wispr-Session');
  await sendSignIn(pages, response, 401, { to: again, name: '', failed: false });
}

async function showAccount(pages: AccountPages, request: Request, response: Response): Promise<void> {
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
    problem: queryOf(request, 'problem') === 'password',
    byMail: pages.mail !== undefined,
    isProven: await isProven(state, pages.cookie.read(request) ?? ''),
    isMailed: pages.mail !== undefined && isMailAddress(name),
  };
  const masthead = await pages.masthead();
  sendPage(response, masthead, accountPage(masthead, page));
}

async function acceptSignIn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [name, password] = [nameField(request), field(request, 'password')];
  const to = localTarget(field(request, 'to'), pages.origin);
  const session = await signIn(pages.state, { name, password, address: addressOf(request) });
  const again = (await subscriberOf(pages, request)) !== undefined;
  if (!session) return sendSignIn(pages, response, 403, { to, name, failed: true, again });
  await beginSession(pages, request, response, session);
  response.redirect(303, to);
}

async function acceptRemoval(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  const device = Number(field(request, 'device'));
  if (subscriber && Number.isSafeInteger(device))
    await removeDevice(asReader(pages.state, subscriber.name), subscriber.id, device);
  response.redirect(303, '/-/account');
}

/** Nothing stays: neither the device at this server, nor keys, cookies and pages in the browser. */
async function acceptForgetting(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [subscriber, token] = [await subscriberOf(pages, request), pages.cookie.read(request)];
  const device = token === undefined ? undefined : await deviceOfSession(pages.state, token);
  if (subscriber && device !== undefined)
    await removeDevice(asReader(pages.state, subscriber.name), subscriber.id, device);
  await endSessionOf(pages, request);
  pages.knownBrowser.clear(response);
  await leave(pages, response, '"cache", "storage"');
}

async function acceptSignOut(pages: AccountPages, request: Request, response: Response): Promise<void> {
  await endSessionOf(pages, request);
  await leave(pages, response);
}
