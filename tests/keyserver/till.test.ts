/** Subscribing by Payment Links of Stripe: from the plans to the article, with a real mail server. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exportSubscriber } from '../../keyserver/sign-in/own-account.ts';
import { findVainOffers } from '../../keyserver/subscriptions/named-plans.ts';
import { definePlan, listPlans } from '../../keyserver/subscriptions/plans.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { rigForTest, temporaryFolder } from '../support/keyserver-rig.ts';
import { offerPlans } from '../support/offers.ts';
import { createVisitor, handedOver, type Visitor } from '../support/reading-site-visitor.ts';
import { checkoutEvent, subscriptionEvent } from '../support/stripe-events.ts';
import { ARTICLE, PLANS, PORTAL, SHOP, tillForFile } from '../support/till.ts';
import { runWispr } from '../support/wispr.ts';

const { accountOf, browser, buy, choose, comeBack, idOf, names, now, pay, rig, send, smtp } = tillForFile();

describe('a person who subscribes', () => {
  it('chooses among the signed plans, pays at the shop, and reads the article on coming back', async () => {
    const [visitor, bought] = [browser(), names()];
    const { text, headers } = await visitor.get(`/-/subscribe?to=${ARTICLE}`);
    for (const { title, price } of PLANS) expect(text).toMatch(new RegExp(`${title}[^]*${price}`));
    expect(text.match(/ checked>/g)).toHaveLength(1);
    expect(text).toContain('Start with 14 days free, then €6 a month');
    expect(text).toContain('We mail a link to the address that you type there, and this browser opens your page');
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
    const mailed = await rig.join('known@example.org', { sets: ['none'] });
    const numbered = await rig.join('Customer 4711', { sets: ['none'] });
    const shop = await choose(mailed, 'monday');
    const asked = [...shop.searchParams.keys()].join();
    expect(asked).toBe('prefilled_promo_code,client_reference_id,locked_prefilled_email');
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
    const paidElsewhere = [{ source: `stripe ${bought.subscription}` }];
    expect(await exportSubscriber(rig.server.state, id)).toMatchObject({ paidElsewhere, checkouts: [] });
  });

  it('begins with a trial by mail where there is no shop, once for each address', async () => {
    await offerPlans(rig, [{ name: 'daily', title: 'Weekday paper', price: '€6 a month', trial: 14 }]);
    const visitor = browser();
    expect((await visitor.get('/-/subscribe')).text).toContain('14 days free, then €6 a month');
    const { headers } = await visitor.post('/-/subscribe', { plan: 'daily', to: ARTICLE });
    expect(headers.location).toBe(`/-/sign-up?to=${encodeURIComponent(ARTICLE)}`);
    expect((await visitor.get(String(headers.location))).text).toContain('Free for 14 days');
    await offerPlans(rig, [], {}, { subscribe: 'https://news.example/subscribe' });
    expect((await visitor.get('/-/sign-up?to=/a.html')).headers.location).toBe('/-/subscribe?to=%2Fa.html');
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

describe('a subscriber who pays for one plan, and wants another one', () => {
  async function buyDaily() {
    const { visitor, bought } = await buy();
    await comeBack(visitor, bought.session);
    return { visitor, bought };
  }

  it('changes it at the portal of Stripe, where a Payment Link would make a second subscription', async () => {
    const { visitor } = await buyDaily();
    const { text, headers } = await visitor.get(`/-/subscribe?to=${ARTICLE}`);
    expect(text).toContain('At billing.stripe.com you change it to the one that you choose.');
    expect(headers['content-security-policy']).toMatch(/form-action [^;]*https:\/\/billing\.stripe\.com /);
    expect((await choose(visitor, 'monday')).href).toBe(PORTAL);
  });

  it('pays by a link where the first one is cancelled, or the other one is sold elsewhere', async () => {
    const { visitor, bought } = await buyDaily();
    const buy = 'https://shop.example/print';
    await offerPlans(rig, [...PLANS, { name: 'print', title: 'On paper', buy }]);
    expect((await choose(visitor, 'print')).href).toBe(buy); // nothing of the buyer
    const { text } = await browser().get(`/-/subscribe?to=${ARTICLE}`);
    expect(text).toContain('Paid at buy.stripe.com or shop.example.');
    expect(text).not.toMatch(/come back|We mail|undefined/);
    await offerPlans(rig, PLANS);
    const more = { cancel_at_period_end: true };
    await send(subscriptionEvent('updated', now() + 1, { id: bought.subscription, start: now() - 60, more }));
    expect((await choose(visitor, 'monday')).host).toBe('buy.stripe.com');
  });
});

it('attack 135: an address that begins many checkouts is refused, and keeps those of others in their place', async () => {
  const narrow = await rigForTest({ limits: { mailsPerAddress: 2 } });
  await offerPlans(narrow, PLANS);
  const visitor = createVisitor(narrow.server.readingUrl);
  const begin = async () => (await visitor.post('/-/subscribe', { plan: 'daily', to: '/' })).status;
  expect([await begin(), await begin(), await begin()]).toEqual([303, 303, 429]);
  const kept = await narrow.server.state.database.all('SELECT plan FROM checkouts');
  expect(kept).toHaveLength(2);
});

describe('a plan that the publisher offers', () => {
  it('promises what holds where no mail is sent: no free days, no mailed link', async () => {
    const secretFile = join(temporaryFolder(), 'stripe.secret');
    writeFileSync(secretFile, 'whsec_x', { mode: 0o600 });
    const narrow = await rigForTest({ config: { stripe: { secretFile, plans: { price_daily: 'daily' } } } });
    await offerPlans(narrow, PLANS.slice(0, 1));
    const visitor = createVisitor(narrow.server.readingUrl);
    const { headers } = await visitor.get(`/-/sign-up?to=${ARTICLE}`);
    const { status, text } = await visitor.get(String(headers.location));
    expect(status).toBe(200);
    expect(text).toContain('Paid at buy.stripe.com. This browser opens your page when you come back.');
    expect(text).not.toMatch(/days free|We mail/);
  });

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
    const { bought } = await buy();
    await expectMail(browser(), bought.session);
    const { visitor: stranger } = await buy();
    await expectMail(stranger, bought.session);
  });

  it('the cookie of a checkout that a victim has paid signs nobody in without the id of the checkout', async () => {
    const { visitor: attacker, bought } = await buy();
    for (const session of ['', 'cs_test_0', `${bought.session}x`]) await expectMail(attacker, session);
    // The victim has the id, and no cookie.
    await expectMail(browser(), bought.session);
  });

  it('a purchase that was used already signs nobody in', async () => {
    const { visitor, bought } = await buy();
    const copy = new Map(visitor.cookies);
    expect(handedOver(await comeBack(visitor, bought.session)).code).toBeDefined();
    const again = browser();
    for (const [name, value] of copy) again.cookies.set(name, value);
    await expectMail(again, bought.session);
  });

  it('a stranger who types the address of a subscriber at the shop is not signed in as them', async () => {
    await rig.invite({ name: 'victim@example.org', sets: ['none'] });
    const { visitor: stranger, bought } = await buy(browser(), { ...names(), email: 'Victim@example.org' });
    await expectMail(stranger, bought.session);
    expect(await smtp.take('victim@example.org')).toContain('signs in as victim@example.org');
    const present = await rig.join('somebody@example.org', { sets: ['none'] });
    const { bought: gift } = await buy(present);
    expect((await comeBack(present, gift.session)).text).toContain('Check your mail');
    expect(await accountOf(present)).toContain('somebody@example.org');
  });

  it('nobody is signed in who was revoked, nor hours after the payment', async () => {
    const { visitor, bought } = await buy();
    await revokeSubscriber(rig.server.state, bought.email);
    await expectMail(visitor, bought.session);
    const { visitor: late, bought: other } = await buy();
    rig.passTime(3601);
    await expectMail(late, other.session);
  });

  it('a payment with somebody’s address signs in no longer once its owner has opened the mail, or signed in', async () => {
    for (const way of ['link', 'code'] as const) {
      const [{ visitor: stranger, bought }, owner] = [await buy(), browser()];
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
    const { visitor: late, bought } = await buy();
    await browser().join(/#([A-Z0-9-]+)/.exec(await smtp.take(bought.email))?.[1] ?? '');
    await expectMail(late, bought.session);
  });

  it('a purchase gives no session that could add a way to sign in', async () => {
    const { visitor, bought } = await buy();
    await comeBack(visitor, bought.session);
    expect((await visitor.post('/-/password', { password: 'correct horse battery staple' })).status).toBe(403);
    expect((await visitor.post('/-/my-data', {})).status).toBe(403);
  });
});
