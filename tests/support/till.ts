/** A key server that sells by the pretended Stripe, for all tests of a file; and what browsers and Stripe do there. */
import { beforeAll, expect } from 'vitest';
import { findSubscriber, type Named } from '../../keyserver/subscriptions/subscribers.ts';
import { signatureOf } from '../../serve/stripe/objects.ts';
import { forFile } from './for-file.ts';
import { rigForFile } from './keyserver-rig.ts';
import { startMailServer } from './mail-server.ts';
import { offerPlans } from './offers.ts';
import { createVisitor, type Visitor } from './reading-site-visitor.ts';
import { checkoutEvent, stripeSettings, subscriptionEvent } from './stripe-events.ts';

const SECRET = 'whsec_of_this_test';
export const DAY = 86_400;
export const SHOP = 'https://buy.stripe.com/test_weekday';
export const PORTAL = 'https://billing.stripe.com/p/login/test_portal';
export const ARTICLE = '/20/harbour.html';
export const PLANS = [
  { name: 'daily', title: 'Weekday paper', about: 'Every issue', price: '€6 a month', trial: 14, buy: SHOP },
  {
    name: 'monday',
    title: 'Monday only',
    price: '€2 a month',
    buy: 'https://buy.stripe.com/test_monday?prefilled_promo_code=SEA',
  },
];

/** Starts it, once the hooks of the file run. */
export function tillForFile() {
  const smtp = forFile(() => startMailServer());
  const rig = rigForFile(() => {
    const stripe = { ...stripeSettings(SECRET, 'daily', 'monday'), portal: PORTAL };
    return { config: { mail: smtp.settings, stripe } };
  });
  beforeAll(() => offerPlans(rig, PLANS));

  const now = () => rig.server.state.now();
  const browser = () => createVisitor(rig.server.readingUrl);
  async function send(event: string): Promise<string> {
    const headers = { 'stripe-signature': signatureOf(event, SECRET, now()) };
    const answer = await fetch(`${rig.server.url}/v1/stripe`, { method: 'POST', body: event, headers });
    return `${answer.status} ${await answer.text()}`.trim();
  }

  let number = 0;
  /** Names at Stripe that no other test has. */
  const names = () => ({
    subscription: `sub_${++number}`,
    session: `cs_test_${number}`,
    email: `buyer-${number}@example.org`,
  });

  /** Chooses a plan, as a browser does. @returns what the shop is given */
  async function choose(visitor: Visitor, plan = 'daily'): Promise<URL> {
    const { status, headers } = await visitor.post('/-/subscribe', { plan, to: ARTICLE });
    expect(status).toBe(303);
    return new URL(String(headers.location));
  }

  /** A purchase as Stripe tells of it: the subscription first, as it does mostly. */
  async function pay(url: URL | undefined, { subscription, session, email }: ReturnType<typeof names>): Promise<void> {
    const reference = url?.searchParams.get('client_reference_id') ?? null;
    expect(await send(subscriptionEvent('created', now(), { id: subscription, start: now() - 60 }))).toBe('204');
    expect(await send(checkoutEvent(now(), { session, subscription, reference, email }))).toBe('204');
  }

  /** Chooses and pays, and has not come back yet. */
  async function buy(visitor = browser(), bought = names()) {
    await pay(await choose(visitor), bought);
    return { visitor, bought };
  }

  async function comeBack(visitor: Visitor, session: string) {
    const back = await visitor.get(`/-/bought?session_id=${session}`);
    return back.status === 303 ? visitor.get(String(back.headers.location)) : back;
  }
  const accountOf = async (visitor: Visitor) => (await visitor.get('/-/account')).text.replace(/\s+/g, ' ');
  const idOf = async (name: string) => (await findSubscriber(rig.server.state.database, name)) as Named;
  return { accountOf, browser, buy, choose, comeBack, idOf, names, now, pay, rig, send, smtp };
}
