/**
 * Objects of Stripe's API as its webhooks send them, of version 2025-03-31 and later, in which periods stand at the items of a subscription
 * (https://docs.stripe.com/api). Only what depends on no settings of a shop stands in them.
 */
import { createHmac, randomBytes } from 'node:crypto';

const API_VERSION = '2025-03-31.basil';
const CURRENCY = 'eur';
/** Seconds of a month. */
const MONTH = 30 * 86_400;

/** Goods of a shop. */
export interface PricedPlan {
  /** The key server's name of the plan. */
  readonly name: string;
  readonly title: string;
  /** The price as people see it: `€6 a month`. */
  readonly price: string;
  /** The price in cents. */
  readonly amount: number;
}

/** A subscription, and how it stands; times in seconds since 1970. */
export interface Purchase {
  readonly plan: PricedPlan;
  readonly email: string;
  readonly reference: string | null;
  readonly ids: Readonly<Record<'session' | 'customer' | 'subscription' | 'item' | 'charge' | 'intent', string>>;
  readonly created: number;
  invoice: string;
  period: { start: number; end: number };
  status: 'incomplete' | 'active' | 'past_due' | 'canceled';
  /** Time at which it was cancelled, though it may stand until the period ends. */
  canceled: number | null;
  ended: number | null;
  refunded: number;
}

export interface StripeEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly data: { readonly object: Readonly<Record<string, unknown>>; readonly previous_attributes?: object };
}

/** Header `Stripe-Signature` of an event. @param time - seconds since 1970 */
export function signatureOf(body: string | Uint8Array, secret: string, time: number): string {
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')}`;
}

const newId = (prefix: string): string => `${prefix}_${randomBytes(20).toString('hex')}`;

export const priceOf = ({ name }: PricedPlan): string => `price_${name.replaceAll('-', '_')}`;

export function newPurchase(plan: PricedPlan, email: string, reference: string | null, now: number): Purchase {
  const ids = {
    ...{ session: newId('cs_test'), customer: newId('cus'), subscription: newId('sub') },
    ...{ item: newId('si'), charge: newId('ch'), intent: newId('pi') },
  };
  const period = { start: now, end: now + MONTH };
  const state = { invoice: newId('in'), period, status: 'incomplete', canceled: null, ended: null } as const;
  return { plan, email, reference, ids, created: now, ...state, refunded: 0 };
}

/** The next month begins, paid or not. */
export function beginPeriod(purchase: Purchase): void {
  const start = purchase.period.end;
  purchase.period = { start, end: start + MONTH };
  purchase.invoice = newId('in');
}

export function eventOf(type: string, created: number, object: object, before?: object): StripeEvent {
  const data = { object: { ...object }, ...(before && { previous_attributes: before }) };
  const common = { object: 'event', api_version: API_VERSION, livemode: false, pending_webhooks: 1 };
  return {
    id: newId('evt'),
    ...common,
    created,
    data,
    request: { id: null, idempotency_key: null },
    type,
  } as StripeEvent;
}

/** https://docs.stripe.com/api/checkout/sessions/object */
export function sessionObject({ ids, plan, email, reference, created, invoice }: Purchase) {
  return {
    ...{ id: ids.session, object: 'checkout.session', created, livemode: false, mode: 'subscription' },
    ...{ status: 'complete', payment_status: 'paid', client_reference_id: reference },
    ...{ customer: ids.customer, customer_email: null, subscription: ids.subscription, invoice },
    customer_details: { address: null, email, name: null, phone: null, tax_exempt: 'none', tax_ids: [] },
    ...{ amount_subtotal: plan.amount, amount_total: plan.amount, currency: CURRENCY },
    ...{ payment_intent: null, payment_link: `plink_${plan.name}`, metadata: {} },
  };
}

/** https://docs.stripe.com/api/subscriptions/object */
export function subscriptionObject({ ids, plan, created, invoice, period, status, canceled, ended }: Purchase) {
  const endsWithPeriod = canceled !== null && ended === null;
  const recurring = { interval: 'month', interval_count: 1, meter: null, usage_type: 'licensed' };
  const common = { active: true, billing_scheme: 'per_unit', created, currency: CURRENCY, livemode: false };
  const price = {
    ...{ id: priceOf(plan), object: 'price', ...common, type: 'recurring', recurring, unit_amount: plan.amount },
    ...{ product: `prod_${plan.name}`, metadata: {} },
  };
  const item = {
    ...{ id: ids.item, object: 'subscription_item', created, price, quantity: 1, subscription: ids.subscription },
    ...{ current_period_start: period.start, current_period_end: period.end, metadata: {} },
  };
  return {
    ...{ id: ids.subscription, object: 'subscription', created, livemode: false, customer: ids.customer, status },
    ...{
      start_date: created,
      billing_cycle_anchor: created,
      currency: CURRENCY,
      collection_method: 'charge_automatically',
    },
    items: { object: 'list', data: [item], has_more: false, url: '/v1/subscription_items' },
    ...{ cancel_at_period_end: endsWithPeriod, cancel_at: endsWithPeriod ? period.end : null },
    ...{ canceled_at: canceled, ended_at: ended, latest_invoice: invoice, metadata: {} },
    cancellation_details: { comment: null, feedback: null, reason: canceled ? 'cancellation_requested' : null },
  };
}

/** https://docs.stripe.com/api/invoices/object */
export function invoiceObject({ ids, plan, email, created, invoice, period }: Purchase, isPaid: boolean) {
  const amounts = isPaid ? [plan.amount, 0] : [0, plan.amount];
  const subscription_details = { subscription: ids.subscription, metadata: {} };
  const first = period.start === created;
  return {
    ...{ id: invoice, object: 'invoice', created: period.start, livemode: false, customer: ids.customer },
    ...{ customer_email: email, billing_reason: first ? 'subscription_create' : 'subscription_cycle' },
    ...{ currency: CURRENCY, total: plan.amount, amount_due: plan.amount },
    ...{ amount_paid: amounts[0], amount_remaining: amounts[1], status: isPaid ? 'paid' : 'open' },
    ...{ attempted: true, attempt_count: 1, next_payment_attempt: isPaid ? null : period.start + 3 * 86_400 },
    ...{ period_start: period.start, period_end: period.start, metadata: {} },
    parent: { type: 'subscription_details', subscription_details, quote_details: null },
  };
}

/** https://docs.stripe.com/api/charges/object */
export function chargeObject({ ids, plan, email, created, refunded }: Purchase) {
  return {
    ...{ id: ids.charge, object: 'charge', created, livemode: false, customer: ids.customer },
    ...{ amount: plan.amount, amount_captured: plan.amount, amount_refunded: refunded, currency: CURRENCY },
    ...{ refunded: refunded >= plan.amount, paid: true, captured: true, status: 'succeeded' },
    ...{ payment_intent: ids.intent, billing_details: { email, name: null, phone: null }, metadata: {} },
  };
}
