/** The pages below `/-/`: signing in and out, and the account. */
import type { Express, Request, RequestHandler, Response } from 'express';
import { titleOfSet } from '../../core/publication/set-titles.ts';
import { KEYS_PAGE } from '../../core/site/path.ts';
import { documentTarget, localTarget } from '../../reading/local-target.ts';
import { ACCOUNT } from '../../words/en/account.ts';
import { ADDITIONS } from '../../words/en/mails.ts';
import { noStore } from '../http/app.ts';
import { field, nameField, queryOf } from '../http/forms.ts';
import { addressOf } from '../http/limits.ts';
import { isMailAddress } from '../mail/address.ts';
import { deviceOfSession } from '../readers/browser-devices.ts';
import { devicesOf, removeDevice } from '../readers/devices.ts';
import { giftsOf } from '../readers/gifts.ts';
import { findAccount, signIn } from '../sign-in/accounts.ts';
import { isProven } from '../sign-in/own-account.ts';
import { MAXIMUM_PASSKEYS, passkeysOf } from '../sign-in/passkeys.ts';
import { MINIMUM_PASSWORD_LENGTH } from '../sign-in/passwords.ts';
import { asReader } from '../storage/audit.ts';
import { isStanding } from '../subscriptions/access.ts';
import { renewalsOf } from '../subscriptions/kept-elsewhere.ts';
import { grantsOf, nameKey, type Subscriber } from '../subscriptions/subscribers.ts';
import { type HeldPlan, plansOf } from '../subscriptions/subscriptions.ts';
import {
  type AccountPages,
  beginSession,
  endSessionOf,
  handOver,
  headlineFor,
  leave,
  mailHead,
  ownForm,
  subscriberOf,
  trialOf,
  wantedBy,
} from './account-session.ts';
import { documentLimit, openedOnly, refuseTooMany, sendPage } from './own-pages.ts';
import { REFUSED_SIGN_INS, type RefusedSignIn } from './pages.ts';
import { limitSignIns } from './sign-in-limits.ts';
import { planCard, stateOf, useOf, wordsOf, wordsOfGift } from './words.ts';

/** Adds the routes below `/-/` to the reading site. */
export function addAccountPages(app: Express, pages: AccountPages): void {
  const own = ownForm(pages);
  app.get('/-/', (_request, response) => response.redirect(303, '/-/account'));
  app.get('/-/sign-in', noStore, (request, response) =>
    sendSignIn(pages, response, {
      to: localTarget(queryOf(request, 'to'), pages.origin),
      left: queryOf(request, 'left'),
    }),
  );
  app.get('/-/enter', noStore, openedOnly, documentLimit(pages.limits), (request, response) =>
    sendOn(pages, request, response),
  );
  app.get('/-/account', noStore, (request, response) => showAccount(pages, request, response));
  app.post('/-/sign-in', ...own, ...limitSignIns(pages, refuseTooMany), (request, response) =>
    acceptSignIn(pages, request, response),
  );
  app.get('/-/confirm', noStore, async (request, response) => {
    const name = (await subscriberOf(pages, request))?.name ?? '';
    await sendSignIn(pages, response, { to: '/-/account', name, again: name !== '' });
  });
  app.post('/-/remove-device', ...own, async (request, response) => {
    const device = Number(field(request, 'device'));
    if (Number.isSafeInteger(device)) await removeOwn(pages, request, device);
    response.redirect(303, '/-/account');
  });
  // Removes the device at this server, and keys, cookies and pages in the browser.
  app.post('/-/forget', ...own, async (request, response) => {
    const device = await deviceOfSession(pages.state, pages.cookie.read(request) ?? '');
    if (device !== undefined) await removeOwn(pages, request, device);
    await endSessionOf(pages, request);
    await leave(pages, response, true);
  });
  app.post('/-/sign-out', ...own, async (request, response) => {
    await endSessionOf(pages, request);
    await leave(pages, response);
  });
}

export interface SignInPage {
  /** Path and query to go to afterwards. */
  readonly to: string;
  readonly name?: string;
  /** Tells whether name and password were tried, and did not fit. */
  readonly failed?: boolean;
  /** Tells whether the reader is signed in, and proves it once more. */
  readonly again?: boolean;
  /** Reason why another way to sign in failed. */
  readonly refused?: RefusedSignIn;
  /** Way in which the reader has just left: `forgotten`, or signed out; empty otherwise. */
  readonly left?: string;
}

/** Lets a person sign in, and go on to `page.to`. */
export async function sendSignIn(pages: AccountPages, response: Response, page: SignInPage): Promise<void> {
  const { mail, openid } = pages;
  const signsUp = (await trialOf(pages)) !== undefined;
  const refused = page.refused && REFUSED_SIGN_INS[page.refused];
  const ways = { openid: openid?.title, byMail: mail !== undefined, signsUp };
  const wanted = wantedBy(page.to, pages);
  // The page that is wanted stands, on the way to keys, behind "#".
  const onward = page.to === KEYS_PAGE ? page.to : wanted;
  const headline = await headlineFor(pages, page.to);
  await sendPage(pages, response, 'sign-in', { name: '', ...page, ...ways, refused, wanted, onward, headline });
}

/**
 * Lets a session pass that was begun just now: a copied one adds nothing that outlives it. Others are asked to sign in once more, and then begin
 * again at the account. A reader who is not signed in is led there.
 */
export function provenOnly(pages: AccountPages): RequestHandler {
  return async (request, response, next) => {
    const subscriber = await subscriberOf(pages, request);
    if (!subscriber) return response.redirect(303, '/-/account');
    if (await isProven(pages.state, pages.cookie.read(request) ?? '')) return next();
    await sendSignIn(pages, response.status(403), { to: '/-/account', name: subscriber.name, again: true });
  };
}

/** Mails a subscriber what was added to the account, in case somebody else has done it. */
export async function tellAdded(
  pages: AccountPages,
  { name }: Subscriber,
  addition: keyof typeof ADDITIONS,
): Promise<void> {
  const { limits, mail, told: counts } = pages;
  if (!mail || !isMailAddress(name)) return;
  const told = await counts.begin(nameKey(name));
  told.end(true);
  if (told.hits > limits.mailsPerNameAndDay) return;
  mail.mailer.sendLater(name, 'added', { ...(await mailHead(pages)), what: ADDITIONS[addition] });
}

async function sendOn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const to = documentTarget(queryOf(request, 'to'), pages.documents);
  if (await subscriberOf(pages, request)) return handOver(pages, response, pages.cookie.read(request), to);
  if (await pages.tease(request, response, to)) return;
  const again = `/-/enter?${new URLSearchParams({ to })}`;
  await sendSignIn(pages, response.status(401), { to: again });
}

async function showAccount(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  if (!subscriber) return sendSignIn(pages, response.status(401), { to: '/-/account' });
  const { state } = pages;
  const { id, name, revoked } = subscriber;
  const token = pages.cookie.read(request) ?? '';
  await state.renewRights?.(id);
  const now = state.now();
  const { titles, plans: offers } = await pages.masthead();
  const titleOf = (pattern: string) => (pattern === '*' ? ACCOUNT.everything : titleOfSet(titles, pattern));
  const plans = await plansOf(state.database, id);
  const standing = plans.filter((plan) => isStanding(plan, now));
  const ended = plans
    .filter(({ until }) => until !== null && until < now)
    .sort((a, b) => Number(b.until) - Number(a.until));
  const hasLapsed = plans.length > 0 && ended.length === plans.length;
  const shown = hasLapsed ? ended.slice(0, 1) : standing;
  const renewals = await renewalsOf(state.database, id, now);
  const cardOf = (plan: HeldPlan) => {
    const renewal = renewals.find((each) => each.plan === plan.plan);
    const offer = offers.find((each) => each.name === plan.plan);
    return { ...planCard(plan, renewal, offer, now), portal: renewal && pages.portal };
  };
  const sets = (await grantsOf(state.database, id)).map((grant) => ({ ...grant, zone: null }));
  const [devices, thisDevice] = [await devicesOf(state.database, id), await deviceOfSession(state, token)];
  const gifts = await giftsOf(state, subscriber);
  const passkeys = await passkeysOf(state.database, 'reader_passkeys', id);
  await sendPage(pages, response, 'account', {
    name,
    revoked: revoked !== null,
    plans: shown.map(cardOf),
    isPaid: renewals.length > 0,
    hasLapsed,
    grants: [
      ...plans
        .filter((plan) => !shown.includes(plan))
        .map((plan) => ({ title: plan.title, state: stateOf(plan, now) })),
      ...sets.map((set) => ({ ...set, title: titleOf(set.pattern), state: stateOf(set, now) })),
    ],
    gifts: await Promise.all(gifts.map(async (gift) => wordsOfGift(gift, await pages.headlineOf(gift.target)))),
    devices: devices.map((device) => ({ ...device, ...wordsOf(device, thisDevice, now) })),
    thisDevice,
    passkeys: passkeys.map((passkey) => ({ ...passkey, used: useOf(passkey) })),
    maximumPasskeys: MAXIMUM_PASSKEYS,
    hasPassword: (await findAccount(state.database, id)) !== undefined,
    minimumLength: MINIMUM_PASSWORD_LENGTH,
    program: await pages.program(),
    problem: queryOf(request, 'problem') === 'password',
    byMail: pages.mail !== undefined,
    isMailed: pages.mail !== undefined && isMailAddress(name),
    isProven: await isProven(state, token),
  });
}

async function acceptSignIn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const [name, password] = [nameField(request), field(request, 'password')];
  const to = localTarget(field(request, 'to'), pages.origin);
  const session = await signIn(pages.state, { name, password, address: addressOf(request) });
  const again = (await subscriberOf(pages, request)) !== undefined;
  if (!session) return sendSignIn(pages, response.status(403), { to, name, failed: true, again });
  await beginSession(pages, request, response, session);
  response.redirect(303, to);
}

async function removeOwn(pages: AccountPages, request: Request, device: number): Promise<void> {
  const subscriber = await subscriberOf(pages, request);
  if (subscriber) await removeDevice(asReader(pages.state, subscriber.name), subscriber.id, device);
}
