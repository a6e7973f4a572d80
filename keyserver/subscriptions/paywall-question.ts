/**
 * The question to the publisher's own system, which plans a subscriber has: signed as Standard Webhooks says
 * (https://github.com/standard-webhooks/standard-webhooks, "Webhook Headers" and "Signature scheme"), and its answer, which is bounded and
 * checked. docs/subscriptions.md, "Your own paywall".
 */
import { createHmac } from 'node:crypto';
import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { readAtMost } from '../../core/encoding/byte-reader.ts';
import { parseJson } from '../../node-support/parse-json.ts';

/** Milliseconds until the whole answer is here. */
export const TIME_LIMIT = 2000;
/** Bytes of the longest answer. */
const MAXIMUM_LENGTH = 65_536;
const MAXIMUM_PLANS = 100;

/** Seconds since 1970; those of milliseconds are too large. */
const time = z.int().min(0).max(99_999_999_999);

const answer = z.strictObject({
  plans: z
    .array(
      z
        .strictObject({ plan: z.string().min(1).max(40), from: time, until: time.nullable() })
        .refine(({ from, until }) => until === null || from <= until),
    )
    .max(MAXIMUM_PLANS),
});

/** A plan of a subscriber. Times in seconds since 1970; `until` is inclusive, and `null` where no end is known. */
export type AnsweredPlan = z.infer<typeof answer>['plans'][number];

export interface PaywallAddress {
  readonly url: string;
  readonly secret: Uint8Array;
}

/**
 * Asks.
 *
 * @param subscriber - name
 * @param now - seconds since 1970
 * @throws Error where there is no answer in time, or none of the documented form; its message holds nothing of the answer
 */
export async function askPaywall(
  dispatcher: Dispatcher,
  { url, secret }: PaywallAddress,
  subscriber: string,
  now: number,
): Promise<readonly AnsweredPlan[]> {
  const body = JSON.stringify({ subscriber, time: now });
  const id = `msg_${toBase64url(randomBytes(16))}`;
  const signature = createHmac('sha256', secret).update(`${id}.${now}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'wispr-key-server',
    'webhook-id': id,
    'webhook-timestamp': String(now),
    'webhook-signature': `v1,${signature}`,
  };
  const signal = AbortSignal.timeout(TIME_LIMIT);
  const received = await request(url, { dispatcher, method: 'POST', body, headers, signal });
  const bytes = await readAtMost(received.body, MAXIMUM_LENGTH);
  if (bytes === undefined) throw new Error(`its answer is longer than ${MAXIMUM_LENGTH} bytes`);
  // Redirects are not followed: they would carry names elsewhere.
  if (received.statusCode !== 200) throw new Error(`it answered ${received.statusCode}`);
  const { data, error } = answer.safeParse(parseJson(bytes));
  if (error) {
    const place = error.issues[0]?.path.join('.') || 'its beginning';
    throw new Error(`its answer is not of the form that docs/subscriptions.md has, at ${place}`);
  }
  return data.plans;
}
