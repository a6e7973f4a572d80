import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkSignature, readStripeEvent } from '../../keyserver/subscriptions/stripe.ts';
import { close, listen } from '../../serve/hosts.ts';
import type { StripeEvent } from '../../serve/stripe/objects.ts';
import { buyPath, type PretendedStripe, type StripeOptions, startPretendedStripe } from '../../serve/stripe/server.ts';

const SECRET = 'whsec_of_this_test';
const PLAN = { name: 'every-day', title: 'Every day <b>', price: '€6 a month', amount: 600 };
const MONTH = 30 * 86_400;
const now = () => Math.floor(Date.now() / 1000);

/** Takes events as a key server does. */
const seller = createServer(async (request, response) => {
  const body = await buffer(request);
  checkSignature(body, String(request.headers['stripe-signature']), SECRET, now());
  taken.push(JSON.parse(body.toString()));
  response.writeHead(204).end();
});
const taken: StripeEvent[] = [];
const types = () => taken.map(({ type }) => type);
const running: PretendedStripe[] = [];
let webhook = '';

beforeEach(async () => {
  webhook = `${await listen(seller)}/v1/stripe`;
});
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
  await close(seller);
  taken.length = 0;
});

async function start(options: Partial<StripeOptions> = {}): Promise<PretendedStripe> {
  const stripe = await startPretendedStripe({ secret: SECRET, plans: [PLAN], ...options });
  running.push(stripe);
  stripe.connect({ webhook, after: 'http://127.0.0.1/-/bought' });
  return stripe;
}

const pay = (
  { url }: PretendedStripe,
  query = '',
  form: Record<string, string> = { email: 'ada@example.org' },
  headers = {},
) =>
  fetch(`${url}${buyPath(PLAN.name)}${query}`, {
    ...{ method: 'POST', body: new URLSearchParams(form), redirect: 'manual', headers },
  });

describe('the pretended Stripe', () => {
  it('shows a checkout that says what it is, and keeps a locked address', async () => {
    const { url } = await start();
    const page = await (await fetch(`${url}${buyPath(PLAN.name)}?locked_prefilled_email=a%22%40example.org`)).text();
    expect(page).toContain('Pretended checkout: nothing is paid.');
    expect(page).toContain('<h1>Every day &#60;b&#62;</h1>');
    expect(page).toMatch(/value="a&#34;@example\.org" readonly/);
  });

  it('sells a plan: signed events that a key server can read, then the way back with the id of the checkout', async () => {
    const stripe = await start();
    const answer = await pay(stripe, '?client_reference_id=ref_1&locked_prefilled_email=ben%40example.org');
    const [purchase] = stripe.purchases;
    const { session, subscription: id } = purchase?.ids ?? {};
    expect(answer.headers.get('location')).toBe(`http://127.0.0.1/-/bought?session_id=${session}`);
    const read = taken.map((event) => readStripeEvent(Buffer.from(JSON.stringify(event))));
    const paid = { id, step: 'updated', prices: ['price_every_day'], until: (purchase?.created ?? 0) + MONTH + 86_400 };
    const bought = { session, id, reference: 'ref_1', address: 'ben@example.org' };
    // Payment was not made yet; an invoice is for programs of other kinds.
    expect(read).toMatchObject([undefined, undefined, paid, bought]);
  });

  it('drops a reference that Stripe would drop, and sells nothing for a declined card, an address that is none or a foreign page', async () => {
    const stripe = await start();
    await pay(stripe, '?client_reference_id=a%20b');
    expect(stripe.purchases.map(({ reference }) => reference)).toEqual([null]);
    const declined = await pay(stripe, '', { email: 'ada@example.org', card: 'declined' });
    expect(await declined.text()).toContain('Your card was declined.');
    expect((await pay(stripe, '', { email: 'ada' })).status).toBe(200);
    expect((await pay(stripe, '', undefined, { 'sec-fetch-site': 'cross-site' })).status).toBe(421);
    expect((await pay(stripe, '', { email: 'a'.repeat(5000) })).status).toBe(502);
    expect([stripe.purchases.length, taken.length]).toEqual([1, 4]);
  });

  it('tells of renewal, a payment that fails and comes late, cancelling, the end and a refund', async () => {
    const stripe = await start();
    await pay(stripe);
    const [purchase] = stripe.purchases;
    const portal = (what: string) => {
      const body = new URLSearchParams({ subscription: purchase?.ids.subscription ?? '', do: what });
      return fetch(`${stripe.portal}?prefilled_email=ada%40example.org`, { method: 'POST', body });
    };
    const told: unknown[] = [];
    for (const what of ['renew', 'fail', 'renew', 'cancel', 'renew', 'renew', 'refund']) {
      taken.length = 0;
      expect(await (await portal(what)).text()).toContain('Pretended customer portal');
      const object = Object(taken.at(-1)?.data.object);
      const months = ((object.items?.data[0].current_period_end ?? 0) - (purchase?.created ?? 0)) / MONTH;
      told.push([what, types().join(' '), object.status, months]);
    }
    expect(told).toEqual([
      ['renew', 'invoice.paid customer.subscription.updated', 'active', 2],
      ['fail', 'invoice.payment_failed customer.subscription.updated', 'past_due', 3],
      ['renew', 'invoice.paid customer.subscription.updated', 'active', 3],
      ['cancel', 'customer.subscription.updated', 'active', 3],
      ['renew', 'customer.subscription.deleted', 'canceled', 3],
      ['renew', '', undefined, expect.any(Number)],
      ['refund', 'charge.refunded', 'succeeded', expect.any(Number)],
    ]);
    expect(await (await fetch(`${stripe.portal}?prefilled_email=eve%40example.org`)).text()).toContain(
      'no subscription',
    );
  });
});
