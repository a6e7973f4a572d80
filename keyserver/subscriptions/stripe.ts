/**
 * Events of Stripe about subscriptions and the checkouts that begin them, as its webhooks send them (https://docs.stripe.com/webhooks, "Verify webhook
 * signatures manually"; https://docs.stripe.com/api/subscriptions/object, /checkout/sessions/object). An event is taken for what it says of one
 * subscription, and for nothing else.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '../../node-support/parse-json.ts';
import { KeyServerError, unfit } from '../errors.ts';
import type { Telling } from './kept-elsewhere.ts';

/** Bytes of the longest event. */
export const MAXIMUM_EVENT_LENGTH = 262_144;
/** Seconds for which a signed event counts; Stripe's own libraries take as many. */
const TOLERANCE = 300;
/** Seconds for which a right outlasts what was paid for: the next payment is made and told of meanwhile. */
const OVERLAP = 86_400;

/** Statuses in which a subscription may be read with, and those in which nothing was ever paid: they give and take nothing. */
const STANDING: readonly string[] = ['active', 'trialing', 'past_due'];
const NEVER_PAID: readonly string[] = ['incomplete', 'incomplete_expired'];

/** Events of a checkout that is done: the second one, where the payment took its time. */
const CHECKOUT = /^checkout\.session\.(?:completed|async_payment_succeeded)$/;
/** Payment of a checkout that begins something: a trial costs nothing. */
const PAID: readonly string[] = ['paid', 'no_payment_required'];

/** Statement of an event about a subscription. */
export interface SubscriptionEvent extends Omit<Telling, 'plans'> {
  readonly kind: 'subscription';
  readonly id: string;
  /** The subscriber, from the metadata of the subscription; `undefined`: it names none. */
  readonly subscriber: string | undefined;
  readonly prices: readonly string[];
}

/** Statement of an event about a checkout: who has begun a subscription. */
export interface CheckoutEvent {
  readonly kind: 'checkout';
  readonly at: number;
  /** Name of the checkout, as the address has it at which a browser comes back. */
  readonly session: string;
  /** The subscription. */
  readonly id: string;
  /** Reference that the buyer brought along from here, `client_reference_id`. */
  readonly reference: string | undefined;
  /** Typed by the buyer. */
  readonly address: string;
}

/** Last second of the year 9999. */
const time = z.int().min(0).max(253_402_300_799);
const period = { current_period_start: time.optional(), current_period_end: time.optional() };
const item = z.object({ price: z.object({ id: z.string() }), ...period });

const id = z.string().regex(/^[ -~]{1,255}$/);

const eventAbout = <About extends z.ZodType>(object: About) =>
  z.object({
    account: z.null().optional(), // account that is connected to the seller's
    created: time,
    type: z.string(),
    data: z.object({ object }),
  });

const subscriptionEvent = eventAbout(
  z.object({
    id,
    ...period, // API versions before 2025-03-31 have it
    cancel_at: time.nullish(),
    cancel_at_period_end: z.boolean().optional(),
    ended_at: time.nullish(),
    items: z.object({ data: z.array(item).max(100) }),
    metadata: z.record(z.string(), z.string()),
    start_date: time,
    status: z.string(),
  }),
);

const checkoutEvent = eventAbout(
  z.object({
    id,
    client_reference_id: z.string().max(200).nullish(),
    customer_details: z.object({ email: z.string().max(512).nullish() }).nullish(),
    mode: z.string(),
    payment_status: z.string(),
    subscription: id.nullish(),
  }),
);

/**
 * Reads an event whose signature was checked.
 *
 * @returns `undefined` where it is about neither a subscription nor its checkout, or about one that was never paid
 * @throws KeyServerError `argument-invalid` where it is not of the form that Stripe documents, or of a connected account
 */
export function readStripeEvent(body: Uint8Array): CheckoutEvent | SubscriptionEvent | undefined {
  const value = parseJson(body);
  if (value === undefined) throw unfit('the event is no JSON');
  const { type } = z.object({ type: z.string() }).safeParse(value).data ?? { type: '' };
  if (CHECKOUT.test(type)) return readCheckout(value);
  return /^customer\.subscription\./.test(type) ? readSubscription(value) : undefined;
}

function formed<Form extends z.ZodType>(form: Form, value: unknown): z.output<Form> {
  const { data, error } = form.safeParse(value);
  if (!error) return data;
  const problem = error.issues[0]?.path.join('.').slice(0, 100) ?? '';
  throw new KeyServerError('argument-invalid', 'the event is not of the form that Stripe documents', {
    fields: { problem },
  });
}

function readCheckout(value: unknown): CheckoutEvent | undefined {
  const { created: at, data } = formed(checkoutEvent, value);
  const { id: session, client_reference_id, customer_details, mode, payment_status, subscription } = data.object;
  if (mode !== 'subscription' || !subscription || !PAID.includes(payment_status)) return undefined;
  const [reference, address] = [client_reference_id || undefined, customer_details?.email ?? ''];
  return { kind: 'checkout', at, session, id: subscription, reference, address };
}

function readSubscription(value: unknown): SubscriptionEvent | undefined {
  const { created: at, data, type } = formed(subscriptionEvent, value);
  const { id, cancel_at, cancel_at_period_end, ended_at, items, metadata, start_date: from, ...own } = data.object;
  const { status } = own;
  if (NEVER_PAID.includes(status)) return undefined;
  const periods = [own, ...items.data];
  const paid = Math.max(0, ...periods.map((each) => each.current_period_end ?? 0));
  const paidUntil = paid + OVERLAP;
  const starts = periods.flatMap(({ current_period_start: start }) => start ?? []);
  const isLast = status === 'canceled' || type.endsWith('.deleted');
  const ends = cancel_at_period_end === true || typeof cancel_at === 'number';
  return {
    kind: 'subscription',
    id,
    at,
    step: isLast ? 'deleted' : type.endsWith('.created') ? 'created' : 'updated',
    subscriber: metadata.subscriber || undefined,
    prices: items.data.map(({ price }) => price.id),
    from,
    periodFrom: starts.length > 0 ? Math.min(...starts) : at,
    until: STANDING.includes(status) && !isLast ? paidUntil : Math.min(paidUntil, ended_at ?? at, at),
    paid: Math.min(paid, cancel_at ?? paid),
    ...(ends && { ends }),
    ...(status === 'past_due' && { failed: true }),
  };
}

/**
 * Checks the scheme `v1`: HMAC-SHA-256 over time and body. Several may stand there while a secret is replaced.
 *
 * @param body - as it arrived, byte for byte
 * @param header - `Stripe-Signature`
 * @param secret - of the endpoint, `whsec_…`
 * @param now - seconds since 1970
 * @throws KeyServerError `token-refused` where it is not signed, or was signed long ago
 */
export function checkSignature(body: Uint8Array, header: string, secret: string, now: number): void {
  const parts = header
    .slice(0, 2048)
    .split(',')
    .map((part) => part.trim().split('='));
  const time = parts.find(([name]) => name === 't')?.[1] ?? '';
  const wanted = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  const given = parts.filter(([name]) => name === 'v1').map(([, hex = '']) => Buffer.from(hex, 'hex'));
  const isSigned = given.filter((bytes) => bytes.length === wanted.length && timingSafeEqual(bytes, wanted)).length > 0;
  if (isSigned && /^\d{1,12}$/.test(time) && Math.abs(now - Number(time)) <= TOLERANCE) return;
  const problem = 'the event is not signed with the secret of this endpoint, or was signed long ago';
  throw new KeyServerError('token-refused', problem);
}

/** The id of a signed event, as Stripe lists it; `undefined` where it has none. */
export function eventId(body: Uint8Array): string | undefined {
  return /"id":\s*"(evt_[\w.-]{1,64})"/.exec(Buffer.from(body).toString())?.[1];
}
