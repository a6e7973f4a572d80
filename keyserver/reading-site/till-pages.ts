/** Subscribing: the plans on offer, the way to the shop, and the way back. */
import type { Express, Request, Response } from 'express';
import { isBuyUrl, type OfferedPlan } from '../../core/publication/offers.ts';
import { SUBSCRIBE_PAGE } from '../../core/site/path.ts';
import { documentTarget } from '../../reading/local-target.ts';
import { BOUGHT } from '../../words/en/till.ts';
import { noStore } from '../http/app.ts';
import { keepLength } from '../http/compressed.ts';
import { field, queryOf } from '../http/forms.ts';
import { limitFailures } from '../http/limits.ts';
import { isMailAddress } from '../mail/address.ts';
import { createSession } from '../sign-in/accounts.ts';
import { isStanding } from '../subscriptions/access.ts';
import { createCheckout, findReturn, useReturn } from '../subscriptions/checkouts.ts';
import { renewalsOf } from '../subscriptions/kept-elsewhere.ts';
import { isPaymentLink } from '../subscriptions/named-plans.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { plansOf } from '../subscriptions/subscriptions.ts';
import { type AccountPages, beginSession, headlineFor, ownForm, subscriberOf, trialOf } from './account-session.ts';
import { openedOnly, refuseTooMany, sendPage, unrecorded } from './own-pages.ts';
import type { FlowCookie } from './session-cookie.ts';

/** Questions of a browser for a purchase that the shop has not told of yet, and the seconds between two of them. */
const QUESTIONS = 10;
const INTERVAL = 2;

interface TillPages extends AccountPages {
  /** Holds the secrets of a browser that went to a shop. */
  readonly checkout: FlowCookie;
  /** Names of the plans that have a price at Stripe. */
  readonly priced: ReadonlySet<string>;
}

/** Adds the routes. */
export function addTillPages(app: Express, pages: TillPages): void {
  app.get(SUBSCRIBE_PAGE, noStore, (request, response) => showPlans(pages, request, response));
  // Checkouts are kept in a bounded number: no address pushes out those of others.
  const ways = { kind: 'checkouts', limit: pages.limits.mailsPerAddress, countedBy: 'address', all: true } as const;
  const limit = limitFailures(pages.state, ways, refuseTooMany);
  app.post(SUBSCRIBE_PAGE, ...ownForm(pages), limit, (request, response) => goToShop(pages, request, response));
  // Content hosts offer trials also where nobody can sign up.
  app.get('/-/sign-up', (request, response) => {
    const to = documentTarget(queryOf(request, 'to'), pages.documents);
    response.redirect(303, `${SUBSCRIBE_PAGE}?${new URLSearchParams({ to })}`);
  });
  app.get('/-/bought', unrecorded, openedOnly, (request, response) => comeBack(pages, request, response));
}

/** Plans that can be begun: at a shop, or as the trial of this site. */
async function plansToBegin(pages: TillPages): Promise<readonly OfferedPlan[]> {
  const trial = await trialOf(pages);
  return (await pages.masthead()).plans.filter(({ name, buy }) => buy !== undefined || name === trial?.plan);
}

async function showPlans(pages: TillPages, request: Request, response: Response): Promise<void> {
  const [plans, trial] = [await plansToBegin(pages), await trialOf(pages)];
  const { subscribe } = await pages.masthead();
  // The publisher's own page, where nothing can be begun here.
  if (plans.length === 0 && subscribe !== undefined && new URL(subscribe).origin !== pages.origin)
    return response.redirect(303, subscribe);
  const subscriber = await subscriberOf(pages, request);
  const now = pages.state.now();
  if (subscriber) keepLength(response); // the address says what "to" is, beside the name
  const paid = await paidBy(pages, subscriber);
  const held = subscriber ? await plansOf(pages.state.database, subscriber.id) : [];
  const standing = held.filter((each) => isStanding(each, now));
  const portals = plans.flatMap((plan) => portalFor(pages, plan, paid) ?? []);
  const shops = plans.flatMap((plan) => portalFor(pages, plan, paid) ?? plan.buy ?? []).map((url) => new URL(url));
  // A form leads to the shop, which browsers have to be told.
  const policy = String(response.get('Content-Security-Policy'));
  const origins = [...new Set(shops.map(({ origin }) => origin))].join(' ');
  response.set('Content-Security-Policy', policy.replace('form-action ', `form-action ${origins} `));
  const to = documentTarget(queryOf(request, 'to'), pages.documents);
  const isHeld = ({ name }: OfferedPlan) => standing.some(({ plan }) => plan === name);
  const opening = to === '/' ? [] : await pages.plansFor(to, plans);
  const again = opening.filter(({ name }) => held.some(({ plan }) => plan === name));
  const left = [...again, ...opening, ...plans].filter(({ name }) => !paid.has(name));
  const chosen = left.find((plan) => !isHeld(plan)) ?? left[0];
  await sendPage(pages, response, 'subscribe', {
    ...{ to, headline: await headlineFor(pages, to) },
    plans: plans.map((plan) => ({ ...plan, isHeld: isHeld(plan), isPaid: paid.has(plan.name) })),
    chosen: chosen?.name,
    shops: [...new Set(shops.map(({ host }) => host))],
    changedAt: portals.map((url) => new URL(url).host)[0],
    hasTrial: subscriber === undefined && trial !== undefined,
    isSignedIn: subscriber !== undefined,
    ...promises(pages, plans),
  });
}

/** Finds what holds after a payment at each of the shops: only Stripe tells of it, and leads back. */
function promises({ mail, priced }: TillPages, plans: readonly OfferedPlan[]) {
  const comesBack = plans.every(({ name, buy }) => buy === undefined || priced.has(name));
  return { comesBack, isMailed: comesBack && mail !== undefined };
}

/** Finds the portal, for whoever pays for another plan at Stripe: there it is changed, where a Payment Link would make a second subscription. */
function portalFor({ portal, priced }: TillPages, { name, buy }: OfferedPlan, paid: ReadonlySet<string>) {
  return buy !== undefined && paid.size > 0 && !paid.has(name) && priced.has(name) ? portal : undefined;
}

/** Names of the plans that somebody pays for at a shop, which are not sold twice. */
async function paidBy({ state }: TillPages, subscriber: Subscriber | undefined): Promise<ReadonlySet<string>> {
  const renewals = subscriber ? await renewalsOf(state.database, subscriber.id, state.now()) : [];
  return new Set(renewals.filter(({ ends }) => !ends).map(({ plan }) => plan));
}

async function goToShop(pages: TillPages, request: Request, response: Response): Promise<void> {
  const target = documentTarget(field(request, 'to'), pages.documents);
  const again = new URLSearchParams({ to: target });
  const plan = (await plansToBegin(pages)).find(({ name }) => name === field(request, 'plan'));
  if (!plan) return response.redirect(303, `${SUBSCRIBE_PAGE}?${again}`);
  if (!isBuyUrl(plan.buy)) return response.redirect(303, `/-/sign-up?${again}`);
  const subscriber = await subscriberOf(pages, request);
  const paid = await paidBy(pages, subscriber);
  if (paid.has(plan.name)) return response.redirect(303, '/-/account');
  const portal = portalFor(pages, plan, paid);
  if (portal !== undefined) return response.redirect(303, portal);
  const shop = new URL(plan.buy);
  // Shops other than Stripe do not say by a reference who has paid, and are told nothing.
  if (!pages.priced.has(plan.name) && !isPaymentLink(plan.buy)) return response.redirect(303, shop.href);
  const wish = { plan: plan.name, target, subscriber: subscriber?.id };
  const { reference, secret } = await createCheckout(pages.state, wish);
  pages.checkout.add(request, response, secret);
  shop.searchParams.set('client_reference_id', reference);
  if (subscriber && isMailAddress(subscriber.name)) shop.searchParams.set('locked_prefilled_email', subscriber.name);
  response.redirect(303, shop.href);
}

/**
 * Signs a browser in that comes back from the shop with the checkout that it has begun: as a subscriber whom the purchase has made, and no other one.
 * A browser of that subscriber goes on. Everybody else has the mail.
 */
async function comeBack(pages: TillPages, request: Request, response: Response): Promise<void> {
  const { state, checkout } = pages;
  const present = await subscriberOf(pages, request);
  const session = queryOf(request, 'session_id');
  const found = await findReturn(state, checkout.read(request), session);
  if (found === 'waits') return sendWaiting(pages, request, response, session);
  const isTheirs = found && (present ? present.id === found.buyer : found.isNew);
  const begun = await state.database.transaction(async () => {
    if (!isTheirs || !(await useReturn(state, found))) return undefined;
    // The address was typed by whoever paid, and proven by nobody: this session adds no credentials, and ends when somebody proves it.
    return present ? 'before' : createSession(state, found.buyer, 'purchase');
  });
  if (!found || !begun) return sendElsewhere(pages, response);
  checkout.remove(request, response, found.secret);
  if (begun !== 'before') await beginSession(pages, request, response, begun);
  // The page's own address decides: what was bought may not open it.
  response.redirect(303, found.target);
}

/** Has the browser ask again by itself, for a while. */
async function sendWaiting(pages: TillPages, request: Request, response: Response, session: string): Promise<void> {
  const asked = Number(queryOf(request, 'again')) || 0;
  if (asked >= QUESTIONS) return sendElsewhere(pages, response);
  const next = new URLSearchParams({ session_id: session, again: String(asked + 1) });
  await sendPage(pages, response, 'bought', { ...BOUGHT.wait, refresh: `${INTERVAL}; url=/-/bought?${next}` });
}

function sendElsewhere(pages: TillPages, response: Response): Promise<void> {
  const said = pages.mail ? BOUGHT.mail : BOUGHT.none;
  return sendPage(pages, response, 'bought', said);
}
