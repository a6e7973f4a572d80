import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readStripeEvent } from '../../keyserver/subscriptions/stripe.ts';

const SECRET = 'whsec_test';
const NOW = 1_795_000_000;

/** As Stripe sends it, of API version 2025-03-31 and later. */
const subscription = {
  id: 'sub_1MowQVLkdIwHu7ixeRlqHVzs',
  object: 'subscription',
  cancel_at_period_end: false,
  customer: 'cus_Na6dX7aXxi11N4',
  ended_at: null as number | null,
  items: {
    object: 'list',
    data: [{ id: 'si_Na6d', current_period_end: NOW + 2_678_400, price: { id: 'price_daily', currency: 'eur' } }],
  },
  metadata: { subscriber: 'ada@example.org' } as Record<string, string>,
  start_date: NOW - 60,
  status: 'active',
};

function event(object: unknown, type = 'customer.subscription.updated'): Buffer {
  return Buffer.from(JSON.stringify({ id: 'evt_1', object: 'event', created: NOW - 5, data: { object }, type }));
}

function sign(body: Buffer, time = NOW, secret = SECRET): string {
  const v1 = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  return `t=${time},v1=${v1},v0=${'0'.repeat(64)}`;
}

const read = (object: unknown, type?: string) => {
  const body = event(object, type);
  return readStripeEvent(body, sign(body), SECRET, NOW);
};

describe('an event of Stripe', () => {
  it('says who subscribes, to what, and until when', () => {
    expect(read(subscription)).toEqual({
      id: subscription.id,
      at: NOW - 5,
      subscriber: 'ada@example.org',
      prices: ['price_daily'],
      from: NOW - 60,
      until: NOW + 2_678_400 + 86_400,
    });
  });

  it('of an older API version says the same', () => {
    const items = { data: [{ price: { id: 'price_daily' } }] };
    expect(read({ ...subscription, items, current_period_end: NOW + 100 })?.until).toBe(NOW + 100 + 86_400);
  });

  it('ends a subscription when it ended, and no later than what was paid for', () => {
    const ended = { ...subscription, status: 'canceled', ended_at: NOW - 10 };
    expect(read(ended, 'customer.subscription.deleted')?.until).toBe(NOW - 10);
    expect(read({ ...subscription, status: 'unpaid' })?.until).toBe(NOW - 5);
    expect(read({ ...subscription, status: 'past_due' })?.until).toBe(NOW + 2_678_400 + 86_400);
  });

  it('about anything else, or without a name, says nothing', () => {
    expect(read({ id: 'in_1' }, 'invoice.paid')).toBe(undefined);
    expect(read({ ...subscription, metadata: {} })).toBe(undefined);
  });

  it('has to be signed, with this secret, over these bytes, a short while ago', () => {
    const body = event(subscription);
    const refused = expect.objectContaining({ code: 'token-refused' });
    for (const signature of [
      undefined,
      '',
      't=1',
      sign(body, NOW, 'whsec_other'),
      sign(event({ ...subscription, status: 'canceled' })),
      sign(body, NOW - 301),
      sign(body, NOW + 301),
      sign(body).replace('v1=', 'v0='),
      sign(body).replace(`t=${NOW}`, `t=${NOW + 1}`),
      sign(body).replace(/v1=../, 'v1='),
    ])
      expect(() => readStripeEvent(body, signature, SECRET, NOW)).toThrow(refused);
    const twoSecrets = `${sign(body, NOW, 'whsec_old')},${sign(body).split(',')[1]}`;
    expect(readStripeEvent(body, twoSecrets, SECRET, NOW)?.id).toBe(subscription.id);
  });

  it.each([
    ['no JSON', Buffer.from('{')],
    ['null', Buffer.from('null')],
    ['without what it is about', Buffer.from('{"type":"customer.subscription.created","created":1}')],
  ])('that is %s is refused or passed over', (_what, body) => {
    const outcome = () => readStripeEvent(body, sign(body), SECRET, NOW);
    if (body.toString() === 'null') expect(outcome()).toBe(undefined);
    else expect(outcome).toThrow(expect.objectContaining({ code: 'argument-invalid' }));
  });
});
