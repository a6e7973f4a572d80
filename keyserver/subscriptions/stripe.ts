/**
 * Events of Stripe about subscriptions, as its webhooks send them (https://docs.stripe.com/webhooks, "Verify webhook signatures manually";
 * https://docs.stripe.com/api/subscriptions/object). An event is taken for what it says of one subscription, and for nothing else.
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

/** Statement of an event about a subscription. */
export interface SubscriptionEvent extends Omit<Telling, 'plans'> {
  readonly id: string;
  /** The subscriber, from the metadata of the subscription; `undefined`: it names none. */
  readonly subscriber: string | undefined;
  readonly prices: readonly string[];
}

/** Last second of the year 9999. */
const time = z.int().min(0).max(253_402_300_799);
const period = { current_period_start: time.optional(), current_period_end: time.optional() };
const item = z.object({ price: z.object({ id: z.string() }), ...period });

const event = z.object({
  account: z.null().optional(), // of an account that is connected to the seller's
  created: time,
  type: z.string(),
  data: z.object({
    object: z.object({
      id: z.string().regex(/^[ -~]{1,255}$/),
      ...period, // before API version 2025-03-31
      ended_at: time.nullish(),
      items: z.object({ data: z.array(item).max(100) }),
      metadata: z.record(z.string(), z.string()),
      start_date: time,
      status: z.string(),
    }),
  }),
});

/**
 * Reads an event whose signature was checked.
 *
 * @returns `undefined` where it is about no subscription, or about one that was never paid
 * @throws KeyServerError `argument-invalid` where it is not of the form that Stripe documents, or of a connected account
 */
export function readStripeEvent(body: Uint8Array): SubscriptionEvent | undefined {
  const value = parseJson(body);
  if (value === undefined) throw unfit('the event is no JSON');
  if (!/^customer\.subscription\./.test(String((value as { type?: unknown } | null)?.type))) return undefined;
  const { data, error } = event.safeParse(value);
  if (error) {
    const problem = error.issues[0]?.path.join('.').slice(0, 100) ?? '';
    throw new KeyServerError('argument-invalid', 'the event is not of the form that Stripe documents', {
      fields: { problem },
    });
  }
  const { created: at, type } = data;
  const { id, ended_at, items, metadata, start_date: from, status, ...own } = data.data.object;
  if (NEVER_PAID.includes(status)) return undefined;
  const periods = [own, ...items.data];
  const paidUntil = Math.max(0, ...periods.map((each) => each.current_period_end ?? 0)) + OVERLAP;
  const starts = periods.flatMap(({ current_period_start: start }) => start ?? []);
  const isLast = status === 'canceled' || type.endsWith('.deleted');
  return {
    id,
    at,
    step: isLast ? 'deleted' : type.endsWith('.created') ? 'created' : 'updated',
    subscriber: metadata.subscriber || undefined,
    prices: items.data.map(({ price }) => price.id),
    from,
    periodFrom: starts.length > 0 ? Math.min(...starts) : at,
    until: STANDING.includes(status) && !isLast ? paidUntil : Math.min(paidUntil, ended_at ?? at, at),
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
