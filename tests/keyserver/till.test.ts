/** Subscribing by Payment Links of Stripe: from the plans to the article, with events as Stripe sends them, and a real mail server. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { deleteSubscriber, exportSubscriber } from '../../keyserver/sign-in/own-account.ts';
import { workEachMinute } from '../../keyserver/storage/each-minute.ts';
import { findVainOffers } from '../../keyserver/subscriptions/named-plans.ts';
import { definePlan, listPlans } from '../../keyserver/subscriptions/plans.ts';
import { findSubscriber, type Named, revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { signatureOf } from '../../serve/stripe/objects.ts';
import { forFile } from '../support/for-file.ts';
import { rigForFile, temporaryFolder } from '../support/keyserver-rig.ts';
import { mailSettings, startMailServer } from '../support/mail-server.ts';
import { offerPlans } from '../support/offers.ts';
import { createVisitor, handedOver, type Visitor } from '../support/reading-site-visitor.ts';
import { checkoutEvent, refundEvent, subscriptionEvent } from '../support/stripe-events.ts';
import { runWispr } from '../support/wispr.ts';

const SECRET = 'whsec_of_this_test';
const DAY = 86_400;
const SHOP = 'https://buy.stripe.com/test_weekday';
const PORTAL = 'https://billing.stripe.com/p/login/test_portal';
const ARTICLE = '/20/harbour.html';
const PLANS = [
  { name: 'daily', title: 'Weekday paper', about: 'Every issue', price: '€6 a month', trial: 14, buy: SHOP },
  {
    name: 'monday',
    title: 'Monday only',
    price: '€2 a month',
    buy: 'https://buy.stripe.com/test_monday?prefilled_promo_code=SEA',
  },
];

const smtp = forFile(() => startMailServer({ disabledCommands: ['STARTTLS'] }));
const rig = rigForFile(() => {
  const secretFile = join(temporaryFolder(), 'stripe.secret');
  writeFileSync(secretFile, SECRET, { mode: 0o600 });
  const plans = { price_daily: 'daily', price_monday: 'monday' };
  const mail = mailSettings(`smtp://127.0.0.1:${smtp.port}`);
  return { config: { mail, stripe: { secretFile, plans, portal: PORTAL } } };
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

async function comeBack(visitor: Visitor, session: string) {
  const back = await visitor.get(`/-/bought?session_id=${session}`);
  return back.status === 303 ? visitor.get(String(back.headers.location)) : back;
}
const accountOf = async (visitor: Visitor) => (await visitor.get('/-/account')).text.replace(/\s+/g, ' ');
const idOf = async (name: string) => (await findSubscriber(rig.server.state.database, name)) as Named;

describe('a person who subscribes', () => {
  it('chooses among the signed plans, pays at the shop, and reads the article on coming back', async () => {
    const [visitor, bought] = [browser(), names()];
    const { text, headers } = await visitor.get(`/-/subscribe?to=${ARTICLE}`);
    for (const { title, price } of PLANS) expect(text).toMatch(new RegExp(`${title}[^]*${price}`));
    expect(text.match(/ checked>/g)).toHaveLength(1);
    expect(headers['content-security-policy']).toContain("form-action https://buy.stripe.com 'self'");
    const shop = await choose(visitor);
    expect(shop.href).toMatch(/^https:\/\/buy\.stripe\.com\/test_weekday\?client_reference_id=[\w-]{43}$/);
    const waiting = await comeBack(visitor, bought.session);
    expect(waiting.text).toContain(`content="2; url=/-/bought?session_id=${bought.session}&amp;again=1"`);
    await pay(shop, bought);
    const page = await comeBack(visitor, bought.session);
    expect(handedOver(page).action).toBe(rig.server.documentsUrl + ARTICLE);
    expect(await accountOf(visitor)).toMatch(
      `<strong>Weekday paper</strong> <span class="badge">active</span> <span class="about">€6 a month, renews on `,
    );
    expect(await accountOf(visitor)).toContain(PORTAL);
    const link = /#([A-Z0-9-]+)/.exec(await smtp.take(bought.email))?.[1] ?? '';
    const other = browser();
    expect((await other.post('/-/join', { code: link, to: ARTICLE })).headers.location).toBe(ARTICLE);
    expect(await accountOf(other)).toContain(bought.email);
    expect(rig.log()).not.toContain(bought.email);
    const again = (await other.get('/-/subscribe')).text;
    expect(again).toMatch(
      /value="daily" required disabled>[\s\S]*You have this plan[\s\S]*value="monday" required checked>/,
    );
    expect((await other.post('/-/subscribe', { plan: 'daily', to: '/' })).headers.location).toBe('/-/account');
  });

  it('is asked at the shop for nothing that is known here, and stays who they are', async () => {
    const [mailed, numbered] = [
      await rig.join('known@example.org', { sets: ['none'] }),
      await rig.join('Customer 4711', { sets: ['none'] }),
    ];
    const shop = await choose(mailed, 'monday');
    expect([...shop.searchParams.keys()]).toEqual([
      'prefilled_promo_code',
      'client_reference_id',
      'locked_prefilled_email',
    ]);
    expect(shop.searchParams.get('locked_prefilled_email')).toBe('known@example.org');
    const { headers } = await mailed.get('/-/subscribe?to=/known@exa', { 'accept-encoding': 'br' });
    expect(headers['content-encoding']).toBeUndefined(); // a length that tells of the address beside `to`
    const bought = names();
    const other = await choose(numbered);
    expect(other.searchParams.has('locked_prefilled_email')).toBe(false);
    await pay(other, bought);
    expect((await numbered.get(`/-/bought?session_id=${bought.session}`)).headers.location).toBe(ARTICLE);
    expect(await accountOf(numbered)).toContain('renews on');
    expect(await idOf(bought.email)).toBeUndefined();
    const { id } = await idOf('Customer 4711');
    expect(await exportSubscriber(rig.server.state, id)).toMatchObject({
      paidElsewhere: [{ source: `stripe ${bought.subscription}` }],
      checkouts: [],
    });
  });

  it('begins with a trial by mail where there is no shop, once for each address', async () => {
    await offerPlans(rig, [{ name: 'daily', title: 'Weekday paper', trial: 14 }]);
    const visitor = browser();
    expect((await visitor.get('/-/subscribe')).text).toContain('free for 14 days');
    const { headers } = await visitor.post('/-/subscribe', { plan: 'daily', to: ARTICLE });
    expect(headers.location).toBe(`/-/sign-up?to=${encodeURIComponent(ARTICLE)}`);
    expect((await visitor.get(String(headers.location))).text).toContain('For 14 days');
    await offerPlans(rig, [], {}, { subscribe: 'https://news.example/subscribe' });
    expect((await visitor.get('/-/sign-up')).status).toBe(404);
    expect((await visitor.get('/-/subscribe')).headers.location).toBe('https://news.example/subscribe');
    await offerPlans(rig, PLANS);
  });

  it('is mailed the link once there is something to read, in either order, and not before', async () => {
    const { subscription: id, session, email } = names();
    const reference = (await choose(browser())).searchParams.get('client_reference_id');
    expect(await send(checkoutEvent(now(), { session, subscription: id, reference, email }))).toBe('204');
    expect(smtp.mails.filter(({ to }) => to === email)).toEqual([]);
    for (let times = 0; times < 2; times++) await send(subscriptionEvent('created', now(), { id, start: now() - 60 }));
    expect(decodeURIComponent(await smtp.take(email))).toContain(`to=${ARTICLE}#`);
    expect(smtp.mails.filter(({ to }) => to === email)).toEqual([]);
  });

  it('a buyer whose browser never comes back is mailed the link', async () => {
    const bought = names();
    await pay(undefined, bought);
    expect(await smtp.take(bought.email)).toContain(`${rig.server.readingUrl}/-/join?mail=1#`);
    const visitor = browser();
    await choose(visitor);
    for (let asked = 0; asked < 10; asked++)
      expect((await visitor.get(`/-/bought?session_id=cs_late&again=${asked}`)).text).toContain('http-equiv="refresh"');
    expect((await visitor.get('/-/bought?session_id=cs_late&again=10')).text).toContain('Check your mail');
  });
});

describe('a plan that the publisher offers', () => {
  it('is found where this configuration can neither begin nor take payment for it', async () => {
    const { state } = rig.server;
    const found = await findVainOffers({ mail: undefined, stripe: undefined }, state);
    expect(found.map(({ plan, todo }) => `${plan}: ${todo}`)).toEqual([
      'daily: set "mail"',
      'daily: name its price in "stripe.plans"',
      'monday: name its price in "stripe.plans"',
    ]);
    expect(await findVainOffers(rig.config, state)).toEqual([]);
  });

  const overview = async () => (await listPlans(rig.server.state)).find(({ name }) => name === 'daily');

  it('is made with the bundle, unless there is one, and commands say what is otherwise', async () => {
    const as = { title: 'Weekday paper', patterns: ['day-*'], zone: 'Europe/Berlin', differs: [] };
    expect(await overview()).toMatchObject({ ...as, offer: PLANS[0], periodKeys: 'given' });
    await definePlan(rig.server.state, { name: 'daily', title: 'Daily', sets: ['day-*', 'x'] });
    await offerPlans(rig, PLANS);
    const other = { title: 'Daily', patterns: ['day-*', 'x'], differs: ['title', 'sets'], periodKeys: 'different' };
    expect(await overview()).toMatchObject(other);
    const { stdout } = await runWispr(['admin', 'plan', '--config', rig.writeConfig()]);
    expect(stdout).toContain(`; €6 a month; 14 days free; ${SHOP}; OTHERWISE IN wispr.json: title, sets\n`);
    await definePlan(rig.server.state, { name: 'daily', title: 'Weekday paper', sets: ['day-*'] });
  });

  it('is not made where its sets or time zone could not be typed here', async () => {
    await offerPlans(rig, [{ name: 'odd', title: 'Odd', buy: SHOP }], { odd: ['two words'] });
    expect((await listPlans(rig.server.state)).map(({ name }) => name)).not.toContain('odd');
    await offerPlans(rig, PLANS);
  });
});

describe('attack 149', () => {
  const expectMail = async (visitor: Visitor, session: string) => {
    const { text } = await comeBack(visitor, session);
    expect(text).toContain('Check your mail');
    expect(await accountOf(visitor)).toContain('Sign in to read');
  };

  it('the address of a return alone signs nobody in, in another browser', async () => {
    const [visitor, bought] = [browser(), names()];
    await pay(await choose(visitor), bought);
    await expectMail(browser(), bought.session);
    const stranger = browser();
    const own = names();
    await pay(await choose(stranger), own);
    await expectMail(stranger, bought.session);
  });

  it('the cookie of a checkout that a victim has paid signs nobody in without the id of the checkout', async () => {
    const [attacker, bought] = [browser(), names()];
    await pay(await choose(attacker), bought);
    for (const session of ['', 'cs_test_0', `${bought.session}x`]) await expectMail(attacker, session);
    // The victim has the id, and no cookie.
    await expectMail(browser(), bought.session);
  });

  it('a purchase that was used already signs nobody in', async () => {
    const [visitor, bought] = [browser(), names()];
    await pay(await choose(visitor), bought);
    const copy = new Map(visitor.cookies);
    expect(handedOver(await comeBack(visitor, bought.session)).code).toBeDefined();
    const again = browser();
    for (const [name, value] of copy) again.cookies.set(name, value);
    await expectMail(again, bought.session);
  });

  it('a stranger who types the address of a subscriber at the shop is not signed in as them', async () => {
    await rig.invite({ name: 'victim@example.org', sets: ['none'] });
    const [stranger, bought] = [browser(), { ...names(), email: 'Victim@example.org' }];
    await pay(await choose(stranger), bought);
    await expectMail(stranger, bought.session);
    expect(await smtp.take('victim@example.org')).toContain('signs in as victim@example.org');
    const present = await rig.join('somebody@example.org', { sets: ['none'] });
    const gift = names();
    await pay(await choose(present), gift);
    expect((await comeBack(present, gift.session)).text).toContain('Check your mail');
    expect(await accountOf(present)).toContain('somebody@example.org');
  });

  it('nobody is signed in who was revoked, nor hours after the payment', async () => {
    const [visitor, bought] = [browser(), names()];
    await pay(await choose(visitor), bought);
    await revokeSubscriber(rig.server.state, bought.email);
    await expectMail(visitor, bought.session);
    const [late, other] = [browser(), names()];
    await pay(await choose(late), other);
    rig.passTime(3601);
    await expectMail(late, other.session);
  });

  it('a payment with somebody’s address signs in no longer once its owner has opened the mail, or signed in', async () => {
    for (const way of ['link', 'code'] as const) {
      const [stranger, bought, owner] = [browser(), names(), browser()];
      await pay(await choose(stranger), bought);
      expect(handedOver(await comeBack(stranger, bought.session)).code).toBeDefined();
      expect(await accountOf(stranger)).toContain(bought.email);
      const mail = await smtp.take(bought.email);
      if (way === 'link') await owner.join(/#([A-Z0-9-]+)/.exec(mail)?.[1] ?? '');
      else {
        await owner.post('/-/mail', { name: bought.email, to: '/' });
        const [code = ''] = /\b\d{6}\b/.exec(await smtp.take(bought.email)) ?? [];
        await owner.post('/-/mail-code', { code, wish: 'sign-in', to: '/' });
      }
      expect(await accountOf(owner)).toContain(bought.email);
      expect(await accountOf(stranger)).toContain('Sign in to read');
    }
    const [late, bought] = [browser(), names()];
    await pay(await choose(late), bought);
    await browser().join(/#([A-Z0-9-]+)/.exec(await smtp.take(bought.email))?.[1] ?? '');
    await expectMail(late, bought.session);
  });

  it('a purchase gives no session that could add a way to sign in', async () => {
    const [visitor, bought] = [browser(), names()];
    await pay(await choose(visitor), bought);
    await comeBack(visitor, bought.session);
    expect((await visitor.post('/-/password', { password: 'correct horse battery staple' })).status).toBe(403);
    expect((await visitor.post('/-/my-data', {})).status).toBe(403);
  });
});

describe('an event of Stripe', () => {
  const rightsOf = async (name: string) =>
    rig.server.state.database.all(
      `SELECT plan, begins, ends FROM subscriptions JOIN subscribers ON subscribers.id = subscriber
        WHERE name = ? ORDER BY begins, ends`,
      name,
    );

  it('gives the same rights in any order and as often as it comes', async () => {
    const start = now() - 40 * DAY;
    const eventsOf = ({ subscription: id, session, email }: ReturnType<typeof names>) => [
      subscriptionEvent('created', start, { id, start, status: 'incomplete' }),
      subscriptionEvent('updated', start + 1, { id, start }),
      checkoutEvent(start + 2, { session, subscription: id, email }),
      subscriptionEvent('updated', start + 30 * DAY, { id, start, period: start + 30 * DAY, status: 'past_due' }),
      subscriptionEvent('updated', start + 31 * DAY, { id, start, period: start + 30 * DAY, plan: 'monday' }),
      subscriptionEvent('deleted', start + 35 * DAY, {
        ...{ id, start, period: start + 30 * DAY, plan: 'monday', status: 'canceled' },
        more: { ended_at: start + 35 * DAY },
      }),
    ];
    const expected = [
      { plan: 'daily', begins: start, ends: start + 31 * DAY },
      { plan: 'monday', begins: start + 31 * DAY, ends: start + 35 * DAY },
    ];
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5], { minLength: 12 });
    await fc.assert(
      fc.asyncProperty(order, async (indices) => {
        const bought = names();
        const events = eventsOf(bought);
        for (const index of indices) expect(await send(events[index] ?? '')).toBe('204');
        expect(await rightsOf(bought.email)).toEqual(expected);
      }),
      { numRuns: 25 },
    );
    expect(await rig.server.state.database.all('SELECT id FROM unclaimed_tellings')).toEqual([]);
  });

  it('gives a subscription to whom it names itself, whatever its checkout says, in either order', async () => {
    for (const isFirst of [true, false]) {
      const { subscription: id, session, email } = names();
      const metadata = { subscriber: `named-${id}@example.org` };
      const told = subscriptionEvent('created', now(), { id, start: now() - 60, more: { metadata } });
      const checkout = checkoutEvent(now(), { session, subscription: id, email });
      for (const event of isFirst ? [told, checkout] : [checkout, told]) await send(event);
      expect([await rightsOf(metadata.subscriber), await rightsOf(email)]).toMatchObject([[{ plan: 'daily' }], []]);
    }
  });

  it('makes no subscriber, and no mail, of something else that is sold there', async () => {
    const { subscription: id, session, email } = names();
    const unused = '202 {"unused":"no-such-plan"}';
    expect(await send(subscriptionEvent('created', now(), { id, start: now() - 60, plan: 'club' }))).toBe(unused);
    expect(await send(checkoutEvent(now(), { session, subscription: id, email }))).toBe(unused);
    expect(await idOf(email)).toBeUndefined();
  });

  it('says by a line and one mail that a payment failed, and ends nothing', async () => {
    const [visitor, bought] = [browser(), names()];
    await pay(await choose(visitor), bought);
    await comeBack(visitor, bought.session);
    await smtp.take(bought.email);
    const about = { id: bought.subscription, start: now() - 60 };
    const failed = subscriptionEvent('updated', now() + 1, { ...about, status: 'past_due' });
    for (const event of [failed, failed, subscriptionEvent('updated', now() + 2, { ...about, status: 'past_due' })])
      expect(await send(event)).toBe('204');
    expect(await smtp.take(bought.email)).toContain('update your card');
    expect(await accountOf(visitor)).toContain(`The last payment failed. <a href="${PORTAL}"`);
    expect(await accountOf(visitor)).toContain('class="badge">active');
    await send(subscriptionEvent('updated', now() + 3, about));
    expect(await accountOf(visitor)).not.toContain('payment failed');
    expect(smtp.mails.filter(({ to }) => to === bought.email)).toEqual([]);
  });

  it('ends a cancelled subscription with what was paid, or at once; a refund ends nothing', async () => {
    const [visitor, bought] = [browser(), names()];
    await pay(await choose(visitor), bought);
    await comeBack(visitor, bought.session);
    const about = { id: bought.subscription, start: now() - 60 };
    const { elsewhere } = await revokeSubscriber(rig.server.state, bought.email, { dryRun: true });
    expect(elsewhere).toEqual([`stripe ${bought.subscription}`]);
    await send(subscriptionEvent('updated', now() + 1, { ...about, more: { cancel_at_period_end: true } }));
    expect(await accountOf(visitor)).toMatch(/€6 a month, ends on /);
    expect(await send(refundEvent(now()))).toBe('204');
    expect(await accountOf(visitor)).toContain('class="badge">active');
    const more = { ended_at: now(), canceled_at: now() };
    await send(subscriptionEvent('deleted', now(), { ...about, status: 'canceled', more }));
    rig.passTime(1);
    expect(await accountOf(visitor)).toMatch(/ended on .*href="[^"]*\/-\/subscribe">Renew</);
  });

  it('is of use only where the checkout is paid, of a subscription, and with an address', async () => {
    const before = names();
    for (const more of [{ payment_status: 'unpaid' }, { mode: 'payment', subscription: null }, { mode: 'setup' }])
      expect(await send(checkoutEvent(now(), { ...before, more }))).toBe('204');
    expect(await idOf(before.email)).toBeUndefined();
    for (const email of ['not an address', 'a`b@example.org', ''])
      expect(await send(checkoutEvent(now(), { ...names(), email }))).toBe('202 {"unused":"name-refused"}');
    expect(await send(checkoutEvent(now(), { ...names(), more: { id: 'cs\0' } }))).toContain('argument-invalid');
    for (const event of ['null', '[]', '{"type":{"toString":1}}']) expect(await send(event)).toBe('204'); // attack 141
    await rig.invite({ name: 'gone@example.org' });
    await revokeSubscriber(rig.server.state, 'gone@example.org');
    expect(await send(checkoutEvent(now(), { ...names(), email: 'gone@example.org' }))).toContain('revoked');
  });

  it('is nobody’s where the account was deleted', async () => {
    const [visitor, bought] = [browser(), names()];
    await pay(await choose(visitor), bought);
    await deleteSubscriber(rig.server.state, await idOf(bought.email));
    const { database } = rig.server.state;
    const source = `stripe ${bought.subscription}`;
    await send(subscriptionEvent('updated', now(), { id: bought.subscription, start: now() - 60 }));
    for (const table of ['sources', 'tellings', 'subscriptions'])
      expect(await database.all(`SELECT source FROM ${table} WHERE source = ?`, source)).toEqual([]);
    expect((await comeBack(visitor, bought.session)).text).toContain('Check your mail');
  });

  it('about a subscription that nobody claims is logged after ten minutes, and forgotten after 30 days, as is a checkout that nobody pays', async () => {
    const { state } = rig.server;
    const [{ subscription: id }, lines] = [names(), [] as string[]];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const stop = workEachMinute(state, log, false);
    await send(subscriptionEvent('created', now(), { id, start: now() - 60 }));
    await choose(browser());
    const kept = () =>
      state.database.all(
        'SELECT source FROM unclaimed_tellings UNION ALL SELECT plan FROM checkouts WHERE buyer IS NULL',
      );
    expect((await kept()).length).toBeGreaterThan(1);
    rig.passTime(30 * DAY + 1);
    await stop();
    expect(lines.map((line) => JSON.parse(line).source)).toContain(`stripe ${id}`);
    expect(state.counts.totals().get('stripe-unused')).toBeGreaterThan(0);
    expect(await kept()).toEqual([]);
  });
});
