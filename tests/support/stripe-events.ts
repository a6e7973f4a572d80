/**
 * Events as Stripe sends them, with all members of the objects that its API reference shows (https://docs.stripe.com/api/events/object,
 * /checkout/sessions/object, /subscriptions/object, /charges/object; API version 2025-03-31), and their signature.
 */
import { createHmac } from 'node:crypto';

const DAY = 86_400;

/** A signature of scheme `v1`, as the header has it. */
export function stripeSignature(body: string, secret: string, time: number): string {
  const v1 = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return `t=${time},v1=${v1},v0=${'0'.repeat(64)}`;
}

let events = 0;

function eventOf(type: string, created: number, object: Record<string, unknown>): string {
  const id = `evt_1Pq${String(++events).padStart(8, '0')}`;
  const request = { id: null, idempotency_key: null };
  const about = { id, object: 'event', api_version: '2025-03-31.basil', created, data: { object } };
  return JSON.stringify({ ...about, livemode: false, pending_webhooks: 1, request, type });
}

/** Part of a subscription that tests change. */
export interface SubscriptionWish {
  readonly id: string;
  readonly price?: string;
  readonly start: number;
  /** Beginning of the period that is paid for. */
  readonly period?: number;
  readonly status?: string;
  readonly more?: Record<string, unknown>;
}

/** @param type - what follows `customer.subscription.` */
export function subscriptionEvent(
  type: 'created' | 'deleted' | 'updated',
  created: number,
  { id, price = 'price_daily', start, period = start, status = 'active', more = {} }: SubscriptionWish,
): string {
  const recurring = {
    interval: 'month',
    interval_count: 1,
    meter: null,
    trial_period_days: null,
    usage_type: 'licensed',
  };
  const item = {
    ...{ id: 'si_NcLYdDxLHxlFo7', object: 'subscription_item', created: start, discounts: [], metadata: {} },
    ...{ current_period_start: period, current_period_end: period + 30 * DAY, billing_thresholds: null },
    price: {
      id: price,
      object: 'price',
      active: true,
      currency: 'eur',
      recurring,
      type: 'recurring',
      unit_amount: 600,
    },
    ...{ quantity: 1, subscription: id, tax_rates: [] },
  };
  return eventOf(`customer.subscription.${type}`, created, {
    ...{ id, object: 'subscription', application: null, application_fee_percent: null },
    automatic_tax: { disabled_reason: null, enabled: false, liability: null },
    ...{ billing_cycle_anchor: start, billing_cycle_anchor_config: null, billing_mode: { type: 'classic' } },
    ...{ cancel_at: null, cancel_at_period_end: false, canceled_at: null, created: start, currency: 'eur' },
    cancellation_details: { comment: null, feedback: null, reason: null },
    ...{ collection_method: 'charge_automatically', customer: 'cus_Na6dX7aXxi11N4', days_until_due: null },
    ...{ default_payment_method: 'pm_1MowVT', default_source: null, default_tax_rates: [], description: null },
    ...{ discounts: [], ended_at: null, invoice_settings: { account_tax_ids: null, issuer: { type: 'self' } } },
    items: {
      object: 'list',
      data: [item],
      has_more: false,
      total_count: 1,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    ...{ latest_invoice: 'in_1MowVT', livemode: false, metadata: {}, next_pending_invoice_item_invoice: null },
    ...{ on_behalf_of: null, pause_collection: null, pending_setup_intent: null, pending_update: null },
    payment_settings: { payment_method_options: null, payment_method_types: null, save_default_payment_method: 'off' },
    ...{ schedule: null, start_date: start, status, test_clock: null, transfer_data: null },
    ...{ trial_end: null, trial_settings: null, trial_start: null },
    ...more,
  });
}

/** Part of a checkout that tests change. */
export interface CheckoutWish {
  readonly session: string;
  readonly subscription: string;
  readonly reference?: string | null;
  readonly email: string;
  readonly more?: Record<string, unknown>;
}

export function checkoutEvent(
  created: number,
  { session, subscription, reference = null, email, more = {} }: CheckoutWish,
): string {
  const address = { city: null, country: 'DE', line1: null, line2: null, postal_code: null, state: null };
  return eventOf('checkout.session.completed', created, {
    ...{ id: session, object: 'checkout.session', adaptive_pricing: null, after_expiration: null },
    ...{ allow_promotion_codes: false, amount_subtotal: 600, amount_total: 600, billing_address_collection: 'auto' },
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    ...{ cancel_url: 'https://stripe.com', client_reference_id: reference, client_secret: null, consent: null },
    ...{
      created,
      currency: 'eur',
      custom_fields: [],
      customer: 'cus_Na6dX7aXxi11N4',
      customer_creation: 'if_required',
    },
    customer_details: { address, email, name: 'Ada Quillfeather', phone: null, tax_exempt: 'none', tax_ids: [] },
    ...{ customer_email: null, discounts: [], expires_at: created + DAY, invoice: 'in_1MowVT', livemode: false },
    ...{ locale: 'auto', metadata: {}, mode: 'subscription', payment_intent: null, payment_link: 'plink_1MoC3U' },
    ...{ payment_method_collection: 'always', payment_method_types: ['card'], payment_status: 'paid' },
    ...{ phone_number_collection: { enabled: false }, recovered_from: null, saved_payment_method_options: null },
    ...{ setup_intent: null, shipping_cost: null, status: 'complete', submit_type: 'auto', subscription },
    ...{ success_url: 'https://read.news.example/-/bought?session_id={CHECKOUT_SESSION_ID}', ui_mode: 'hosted' },
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ...{ url: null },
    ...more,
  });
}

export function refundEvent(created: number): string {
  return eventOf('charge.refunded', created, {
    ...{ id: 'ch_3MmlLrLkdIwHu7ix', object: 'charge', amount: 600, amount_captured: 600, amount_refunded: 600 },
    billing_details: { address: null, email: 'ada@example.org', name: null, phone: null },
    ...{ captured: true, created, currency: 'eur', customer: 'cus_Na6dX7aXxi11N4', disputed: false, livemode: false },
    ...{ metadata: {}, paid: true, payment_intent: 'pi_3MmlLr', refunded: true, status: 'succeeded' },
  });
}
