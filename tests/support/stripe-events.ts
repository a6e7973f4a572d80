/** Events of the pretended Stripe, one by one, as their bodies; and settings of a key server for it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  chargeObject,
  eventOf,
  newPurchase,
  type Purchase,
  sessionObject,
  subscriptionObject,
} from '../../serve/stripe/objects.ts';
import { temporaryFolder } from './keyserver-rig.ts';

const purchaseOf = (plan: string, email = '', reference: string | null = null, start = 0): Purchase =>
  newPurchase({ name: plan, title: plan, price: '', amount: 600 }, email, reference, start);

/** Settings of a key server whose prices are `price_PLAN` at Stripe. @param secret - by which Stripe signs */
export function stripeSettings(secret: string, ...plans: string[]) {
  const secretFile = join(temporaryFolder(), 'stripe.secret');
  writeFileSync(secretFile, secret, { mode: 0o600 });
  return { secretFile, plans: Object.fromEntries(plans.map((plan) => [`price_${plan}`, plan])) };
}

/** Part of a subscription that tests change. */
interface SubscriptionWish {
  readonly id: string;
  readonly plan?: string;
  readonly start: number;
  /** Beginning of the period that is paid for. */
  readonly period?: number;
  readonly status?: string;
  readonly more?: object;
}

/** @param type - follows `customer.subscription.` */
export function subscriptionEvent(
  type: 'created' | 'deleted' | 'updated',
  created: number,
  { id, plan = 'daily', start, period = start, status = 'active', more }: SubscriptionWish,
): string {
  const purchase = purchaseOf(plan, '', null, start);
  purchase.period = { start: period, end: period + 30 * 86_400 };
  const object = { ...subscriptionObject(purchase), id, status, ...more };
  return JSON.stringify(eventOf(`customer.subscription.${type}`, created, object));
}

/** Part of a checkout that tests change. */
interface CheckoutWish {
  readonly session: string;
  readonly subscription: string;
  readonly reference?: string | null;
  readonly email: string;
  readonly more?: object;
}

export function checkoutEvent(created: number, wish: CheckoutWish): string {
  const { session: id, subscription, reference = null, email, more } = wish;
  const object = { ...sessionObject(purchaseOf('daily', email, reference, created)), id, subscription, ...more };
  return JSON.stringify(eventOf('checkout.session.completed', created, object));
}

export function refundEvent(created: number): string {
  return JSON.stringify(eventOf('charge.refunded', created, chargeObject({ ...purchaseOf('daily'), refunded: 600 })));
}
