/**
 * Events of Stripe about subscriptions, as its webhooks send them (https://docs.stripe.com/webhooks, "Verify webhook signatures manually";
 * https://docs.stripe.com/api/subscriptions/object). An event is taken for what it says of one subscription, and for nothing else.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { KeyServerError } from '../errors.ts';

/** Bytes of the longest event. */
export const MAXIMUM_EVENT_LENGTH = 262_144;
/** Seconds for which a signed event counts; Stripe's own libraries take as many. */
const TOLERANCE = 300;
/** Seconds for which a right outlasts what was paid for: the next payment is made and told of meanwhile. */
const OVERLAP = 86_400;

/** Statuses in which a subscription may be read with. */
const STANDING: readonly string[] = ['active', 'trialing', 'past_due'];

/** What an event says of a subscription. Times in seconds since 1970. */
export interface SubscriptionEvent {
  /** Of the subscription, at Stripe. */
  readonly id: string;
  /** When it happened: of two events the later one counts, in whichever order they arrive. */
  readonly at: number;
  /** The subscriber, from the metadata of the subscription. */
  readonly subscriber: string;
  /** Ids of the prices that are paid. */
  readonly prices: readonly string[];
  readonly from: number;
  readonly until: number;
}

const item = z.object({ price: z.object({ id: z.string() }), current_period_end: z.number().optional() });

const event = z.object({
  created: z.number(),
  type: z.string(),
  data: z.object({
    object: z.object({
      id: z.string().max(255),
      current_period_end: z.number().optional(), // before API version 2025-03-31
      ended_at: z.number().nullish(),
      items: z.object({ data: z.array(item).max(100) }),
      metadata: z.record(z.string(), z.string()),
      start_date: z.number(),
      status: z.string(),
    }),
  }),
});

/**
 * Checks the signature of an event, and reads it.
 *
 * @param body - as it arrived, byte for byte
 * @param signature - the header `Stripe-Signature`
 * @param secret - of the endpoint, `whsec_…`
 * @param now - seconds since 1970
 * @returns `undefined` where it is about no subscription, or about one without `metadata.subscriber`
 * @throws KeyServerError `token-refused` where it is not signed, or was signed long ago; `argument-invalid` where it is not of that form
 */
export function readStripeEvent(
  body: Uint8Array,
  signature: string | undefined,
  secret: string,
  now: number,
): SubscriptionEvent | undefined {
  checkSignature(body, signature ?? '', secret, now);
  const value = jsonOf(body);
  if (!/^customer\.subscription\./.test(String((value as { type?: unknown } | null)?.type))) return undefined;
  const { data, error } = event.safeParse(value);
  if (error) throw new KeyServerError('argument-invalid', 'the event is not of the form that Stripe documents');
  const { id, current_period_end, ended_at, items, metadata, start_date, status } = data.data.object;
  if (!metadata.subscriber) return undefined;
  const periodEnds = [current_period_end, ...items.data.map((each) => each.current_period_end)];
  const paidUntil = Math.max(0, ...periodEnds.map((end) => end ?? 0)) + OVERLAP;
  const until = STANDING.includes(status) ? paidUntil : Math.min(paidUntil, ended_at ?? data.created);
  const prices = items.data.map(({ price }) => price.id);
  return { id, at: data.created, subscriber: metadata.subscriber, prices, from: start_date, until };
}

/** The scheme `v1`: HMAC-SHA-256 over time and body. Several may stand there while a secret is replaced. */
function checkSignature(body: Uint8Array, header: string, secret: string, now: number): void {
  const parts = header
    .slice(0, 2048)
    .split(',')
    .map((part) => part.trim().split('='));
  const time = parts.find(([name]) => name === 't')?.[1] ?? '';
  const wanted = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  const given = parts.filter(([name]) => name === 'v1').map(([, hex = '']) => Buffer.from(hex, 'hex'));
  const isSigned = given.filter((bytes) => bytes.length === wanted.length && timingSafeEqual(bytes, wanted)).length > 0;
  if (isSigned && /^\d{1,12}$/.test(time) && Math.abs(now - Number(time)) <= TOLERANCE) return;
  throw new KeyServerError(
    'token-refused',
    'the event is not signed with the secret of this endpoint, or was signed long ago',
  );
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    throw new KeyServerError('argument-invalid', 'the event is no JSON');
  }
}
