/** Events of Stripe: whose subscription they are about, and what rights follow. */
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { deleteSubscriber } from '../../keyserver/sign-in/own-account.ts';
import { workEachMinute } from '../../keyserver/storage/each-minute.ts';
import { revokeSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { checkoutEvent, refundEvent, subscriptionEvent } from '../support/stripe-events.ts';
import { DAY, PORTAL, tillForFile } from '../support/till.ts';

const { accountOf, browser, buy, choose, comeBack, idOf, names, now, rig, send, smtp } = tillForFile();

describe('an event of Stripe', () => {
  const sql = `SELECT plan, begins, ends FROM subscriptions JOIN subscribers ON subscribers.id = subscriber
    WHERE name = ? ORDER BY begins, ends`;
  const rightsOf = (name: string) => rig.server.state.database.all(sql, name);

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
    const { visitor, bought } = await buy();
    await comeBack(visitor, bought.session);
    await smtp.take(bought.email);
    const about = { id: bought.subscription, start: now() - 60 };
    const failed = subscriptionEvent('updated', now() + 1, { ...about, status: 'past_due' });
    for (const event of [failed, failed, subscriptionEvent('updated', now() + 2, { ...about, status: 'past_due' })])
      expect(await send(event)).toBe('204');
    expect(await smtp.take(bought.email)).toContain('update your card');
    const account = await accountOf(visitor);
    expect(account).toMatch(/class="badge ended">payment failed<.*€6 a month, payment due</);
    const line = `The last payment failed. <a href="${PORTAL}" rel="noreferrer">Update your card</a> to keep`;
    expect(account).toContain(line);
    expect(account).not.toMatch(/renews on|>active</);
    expect(await rig.readableBy(bought.email)).toContain('day-1');
    await send(subscriptionEvent('updated', now() + 3, about));
    expect(await accountOf(visitor)).toMatch(/>active<.*renews on/);
    expect(await accountOf(visitor)).not.toContain('payment failed');
    expect(smtp.mails.filter(({ to }) => to === bought.email)).toEqual([]);
  });

  it('ends a cancelled subscription with what was paid, or at once; a refund ends nothing', async () => {
    const { visitor, bought } = await buy();
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
    const { visitor, bought } = await buy();
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
    const sql = 'SELECT source FROM unclaimed_tellings UNION ALL SELECT plan FROM checkouts WHERE buyer IS NULL';
    const kept = () => state.database.all(sql);
    expect((await kept()).length).toBeGreaterThan(1);
    rig.passTime(30 * DAY + 1);
    await stop();
    expect(lines.map((line) => JSON.parse(line).source)).toContain(`stripe ${id}`);
    expect(state.counts.totals().get('stripe-unused')).toBeGreaterThan(0);
    expect(await kept()).toEqual([]);
  });
});
