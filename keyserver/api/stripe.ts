/** Events of Stripe: who has begun a subscription, and what has become of it. */
import type { Express, Request } from 'express';
import { KeyServerError } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { limitRequests, verifyFirst } from '../http/limits.ts';
import { isMailAddress } from '../mail/address.ts';
import { mailBought, mailPaymentFailed } from '../mail/purchases.ts';
import { createSubscriber } from '../readers/invitations.ts';
import { as, audit } from '../storage/audit.ts';
import type { KeyServerState } from '../storage/state.ts';
import { completeCheckout, findCheckout, targetOf } from '../subscriptions/checkouts.ts';
import { claimSource, isOfNoPlan, ownerOf, recordTelling, type Settled } from '../subscriptions/kept-elsewhere.ts';
import {
  type CheckoutEvent,
  checkSignature,
  eventId,
  MAXIMUM_EVENT_LENGTH,
  readStripeEvent,
  type SubscriptionEvent,
} from '../subscriptions/stripe.ts';
import { findSubscriber, parseSubscriberName, type Subscriber } from '../subscriptions/subscribers.ts';
import { body, bytesOf, refuseTooMany } from './answers.ts';
import type { ApiOptions, StripeConfig } from './options.ts';
import { refusalOf } from './refusals.ts';

const STRIPE_PATH = '/v1/stripe';

/** Adds the route, where the configuration has a secret for it. */
export function addStripeRoute(app: Express, options: ApiOptions): void {
  const { state, limits, log, stripe } = options;
  if (stripe === undefined) return;
  const counted = limitRequests(limits.subscriptionsPerAddress, refuseTooMany);
  const verify = async (request: Request) => {
    const signature = request.get('stripe-signature') ?? '';
    try {
      checkSignature(bytesOf(request.body), signature, stripe.secret, state.now());
    } catch (error) {
      // Events without a signature come from anybody, and are no news.
      if (signature !== '')
        log.warn('an event is not signed with the secret in "stripe.secretFile", or a clock is wrong');
      throw error;
    }
  };
  const limit = limits.publishingRefusals;
  const signed = verifyFirst(state, { kind: 'stripe', limit }, verify, refuseTooMany);
  app.post(STRIPE_PATH, noStore, body(MAXIMUM_EVENT_LENGTH), signed, counted, async (request, response) => {
    try {
      const taken = await acceptEvent(options, stripe, bytesOf(request.body));
      log.info({ taken }, 'an event of Stripe came');
      response.status(204).end();
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal || refusal.status >= 500) throw error;
      // Stripe would repeat it for days otherwise, and then send no more.
      const { code } = refusal;
      const { missing, problem } = error instanceof KeyServerError ? error.fields : {};
      const about = { code, event: eventId(bytesOf(request.body)), missing, problem };
      log.warn(about, 'an event of Stripe cannot be used: nothing was changed');
      if (code !== 'revoked') state.counts.add(`stripe-unused ${code}`);
      response.status(202).json({ unused: code });
    }
  });
}

/**
 * Takes what an event says.
 *
 * @returns whether it changed anything
 * @throws KeyServerError for an event that cannot be used; `revoked` for a subscriber who was revoked: a payment does not undo that
 */
async function acceptEvent(options: ApiOptions, stripe: StripeConfig, bytes: Uint8Array): Promise<boolean> {
  const told = readStripeEvent(bytes);
  if (!told) return false;
  return told.kind === 'checkout'
    ? acceptCheckout(options, told)
    : acceptSubscription(options, stripe, told, eventId(bytes));
}

/** Prices that are no plan here are passed over, unless there is no other. */
async function acceptSubscription(
  options: ApiOptions,
  stripe: StripeConfig,
  told: SubscriptionEvent,
  event: string | undefined,
): Promise<boolean> {
  const { state, log } = options;
  const { prices } = told;
  const unknown = prices.filter((price) => !Object.hasOwn(stripe.plans, price));
  const plans = [...new Set(prices.flatMap((price) => (unknown.includes(price) ? [] : (stripe.plans[price] ?? []))))];
  const missing = unknown.map((price) => `stripe.plans.${price}`).join(' ');
  const { isNews, begins, failsNow, owner } = await state.database.transaction(() => record(state, told, plans));
  if (!isNews && plans.length === 0)
    throw new KeyServerError('no-such-plan', 'no price is a plan of "stripe.plans"', { fields: { missing } });
  if (unknown.length > 0) log.warn({ event, missing }, 'a price of an event of Stripe is no plan: it gives nothing');
  if (!owner) log.info({ event }, 'an event of Stripe waits for the checkout that says whose subscription it is');
  else if (failsNow) await mailPaymentFailed(options, owner.name);
  if (owner && begins) await mailBought(options, { ...owner, to: begins.to });
  return isNews;
}

/** Takes what is told, within the caller's transaction. Nobody is made for a subscription that gives nothing. */
async function record(state: KeyServerState, told: SubscriptionEvent, plans: readonly string[]) {
  const { database, now } = state;
  const { kind: _, id, subscriber: named, prices: __, ...telling } = told;
  const source = sourceOf(id);
  const name = named === undefined ? undefined : parseSubscriberName(named);
  const before = name === undefined ? undefined : await findSubscriber(database, name);
  if (before) demandStanding(before);
  let moved: Settled;
  if (name !== undefined && (before || plans.length > 0)) {
    const subscriber = before?.id ?? (await createSubscriber(database, name, now()));
    moved = await claimSource(database, source, { subscriber, said: telling.at, isNamed: true });
  }
  const owner = await ownerOf(database, source);
  if (owner) demandStanding(owner);
  const recorded = await recordTelling(database, source, { ...telling, plans }, now());
  const isNews = (moved ?? recorded.change) !== undefined;
  // The checkout that came before has mailed nothing yet.
  const begins = name === undefined && recorded.change === 'begun' && { to: await targetOf(database, source) };
  const details = { plans: [...plans], from: telling.from, until: telling.until, source: id };
  if (isNews && owner) await audit(as(state, 'stripe'), 'subscription', owner.name, details);
  return { isNews, begins, failsNow: recorded.failsNow, owner };
}

/** Begins what a checkout says: whose the subscription is. Whoever was signed in without a mail address stays who they are; otherwise the address counts. */
async function acceptCheckout(options: ApiOptions, told: CheckoutEvent): Promise<boolean> {
  const { state } = options;
  const { database, now } = state;
  const { reference, session, address, at: said } = told;
  const source = sourceOf(told.id);
  const bought = await database.transaction(async () => {
    // The subscription names it itself, or was told of before.
    if (await ownerOf(database, source)) return undefined;
    const checkout = reference === undefined ? undefined : await findCheckout(state, reference);
    // Buyers of something else that is sold there are no subscribers here.
    if (!checkout && (await isOfNoPlan(database, source)))
      throw new KeyServerError('no-such-plan', 'the checkout is of a subscription whose prices are no plan here');
    const typed = checkout?.name && !isMailAddress(checkout.name) ? checkout.name : addressName(address);
    const before = await findSubscriber(database, typed);
    if (before) demandStanding(before);
    const name = before?.name ?? typed;
    const buyer = before?.id ?? (await createSubscriber(database, name, now()));
    const change = await claimSource(database, source, { subscriber: buyer, said, isNamed: false });
    if (reference !== undefined)
      await completeCheckout(state, reference, { session, source, buyer, isNew: before === undefined });
    await audit(as(state, 'stripe'), 'bought', name, { source: told.id });
    return { id: buyer, name, to: checkout?.target ?? '/', change };
  });
  if (bought?.change) await mailBought(options, bought);
  return bought !== undefined;
}

/** @throws KeyServerError `name-refused` */
function addressName(address: string): string {
  const name = parseSubscriberName(address);
  if (isMailAddress(name)) return name;
  const problem = 'it is no mail address';
  throw new KeyServerError('name-refused', 'the event has no address to which mail can go', { fields: { problem } });
}

/** @throws KeyServerError `revoked` */
function demandStanding({ revoked }: Subscriber): void {
  if (revoked !== null) throw new KeyServerError('revoked', 'the subscriber was revoked');
}

const sourceOf = (id: string) => `stripe ${id}`;
