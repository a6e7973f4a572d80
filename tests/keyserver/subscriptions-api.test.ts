/** The API with which other systems begin and end subscriptions, over HTTP. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../keyserver/api/subscriptions.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { openApiText } from '../../scripts/openapi.ts';
import { signatureOf } from '../../serve/stripe/objects.ts';
import { rigForFile, temporaryFolder } from '../support/keyserver-rig.ts';

const SECRET = 'whsec_of_this_test';

const rig = rigForFile(() => {
  const secretFile = join(temporaryFolder(), 'stripe.secret');
  writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
  return {
    limits: { publishingRefusals: 20 },
    config: { stripe: { secretFile, plans: { price_daily: 'daily', price_all: 'all' } } },
  };
});
let token: string;
beforeAll(async () => {
  token = (await createToken(rig.server.state, 'shop', 30, 'subscriptions')).token;
  await definePlan(rig.server.state, { name: 'daily', title: 'Weekday paper', sets: ['day-*'], zone: 'Europe/Berlin' });
});

async function post(path: string, body: unknown, as?: Record<string, string>) {
  const headers = as ?? { authorization: `Bearer ${token}` };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await request(rig.server.url + path, { method: 'POST', body: text, headers });
  const received = await answer.body.text();
  return { status: answer.statusCode, ...(received && JSON.parse(received)) };
}

const ask = (operation: string, body: unknown) => post(`/v1/subscriptions/${operation}`, body);

describe('another system', () => {
  it('attack 49: is refused a name with a NUL', async () => {
    const refused = { status: 400, error: 'argument-invalid' };
    expect(await ask('show', { subscriber: 'ada\0' })).toEqual(refused);
    expect(await ask('begin', { subscriber: 'ada', plan: 'daily\0' })).toEqual(refused);
  });

  it('begins a subscription, moves its end, shows it, and ends it', async () => {
    const wish = { subscriber: 'Ada@example.org', plan: 'daily', from: '2026-11-01', until: '2099-01-31' };
    expect(await ask('begin', wish)).toEqual({ status: 200, outcome: 'begun', created: true });
    expect(await ask('begin', wish)).toEqual({ status: 200, outcome: 'unchanged', created: false });
    expect(await ask('begin', { ...wish, until: null })).toMatchObject({ outcome: 'moved' });
    const [title, midnight] = ['Weekday paper', Date.parse('2026-10-31T23:00:00Z') / 1000]; // in Berlin
    const subscriptions = [{ plan: 'daily', title, from: midnight, until: null }];
    const shown = { subscriber: 'Ada@example.org', revoked: false, subscriptions };
    expect(await ask('show', { subscriber: 'ADA@example.org' })).toEqual({ status: 200, ...shown });
    const plans = [{ name: 'daily', title, subscriptions: 1 }];
    expect(await ask('plans', {})).toEqual({ status: 200, plans });
    expect(await ask('end', { subscriber: 'ada@example.org', plan: 'daily' })).toEqual({ status: 200, ended: 1 });
    expect(await ask('end', { subscriber: 'ada@example.org' })).toEqual({ status: 200, ended: 0 });
  });

  it('gives a group its seats', async () => {
    const group = { subscriber: 'Rope Walk', plan: 'daily', seats: 12 };
    expect(await ask('begin', group)).toMatchObject({ outcome: 'begun' });
    expect(await ask('begin', { ...group, seats: 14 })).toMatchObject({ outcome: 'unchanged' });
    expect(await ask('show', { subscriber: 'rope walk' })).toMatchObject({ seats: 14, taken: 0 });
    expect(await ask('begin', { ...group, seats: 0 })).toEqual({ status: 400, error: 'argument-invalid' });
    await ask('revoke', { subscriber: 'rope walk' });
  });

  it('makes invitations, and withdraws access', async () => {
    await ask('begin', { subscriber: 'bert', plan: 'daily' });
    const { link, expires } = await ask('invite', { subscriber: 'bert', days: 3 });
    expect(link).toMatch(/#[0-9A-Z-]{19}\.[\w-]{43}$/);
    expect(expires).toBe(rig.server.state.now() + 3 * 86_400);
    expect((await ask('show', { subscriber: 'bert' })).subscriptions).toHaveLength(1);
    const gone = { members: 0, devices: 0, sessions: 0, invitations: 1, elsewhere: [] };
    expect(await ask('revoke', { subscriber: 'bert' })).toEqual({ status: 200, ...gone });
    expect(await ask('invite', { subscriber: 'bert' })).toEqual({ status: 409, error: 'revoked' });
    expect(await ask('begin', { subscriber: 'bert', plan: 'daily' })).toMatchObject({ created: true });
  });

  it('does not readmit by an invitation that comes beside the revocation', async () => {
    await ask('begin', { subscriber: 'dora', plan: 'daily' });
    const asked = Array.from({ length: 10 }, () => ask('invite', { subscriber: 'dora' }));
    await Promise.all([ask('revoke', { subscriber: 'dora' }), ...asked]);
    expect(await ask('show', { subscriber: 'dora' })).toMatchObject({ revoked: true });
    expect(await rig.server.state.database.all(`SELECT pattern FROM grants WHERE pattern = '*'`)).toEqual([]);
  });

  it.each([
    ['begin', '{', 400, 'argument-invalid'],
    ['begin', { subscriber: 'carl' }, 400, 'argument-invalid'],
    ['begin', { subscriber: 'carl', plan: 'weekly' }, 404, 'no-such-plan'],
    ['begin', { subscriber: 'carl', plan: 'daily', from: '2026-02-30' }, 400, 'argument-invalid'],
    ['begin', { subscriber: 'carl', plan: 'daily', from: '1969-12-31' }, 400, 'argument-invalid'],
    ['begin', { subscriber: 'carl', plan: 'daily', until: '1969-12-31' }, 400, 'argument-invalid'],
    ['begin', { subscriber: 'a\u0007', plan: 'daily' }, 400, 'name-refused'],
    ['invite', { subscriber: 'ada@example.org', mail: true }, 409, 'mail-off'],
    ['begin', { subscriber: 'carl', plan: 'daily', admin: true }, 400, 'argument-invalid'],
    ['end', { subscriber: 'carl' }, 404, 'no-such-subscriber'],
    ['invite', { subscriber: 'carl' }, 404, 'no-such-subscriber'],
    ['show', { subscriber: `${'x'.repeat(9000)}` }, 413, 'too-large'],
    ['nothing', {}, 404, 'not-found'],
  ])('%s with %j: %i', async (operation, body, status, error) => {
    expect(await ask(operation, body)).toEqual({ status, error });
  });

  it('needs a token for this and for nothing else, and leaves no name in the log', async () => {
    const publishing = (await createToken(rig.server.state, 'ci', 30)).token;
    const refused = { status: 401, error: 'token-refused' };
    for (const { path } of OPERATIONS) {
      expect(await post(path, {}, {})).toEqual(refused);
      expect(await post(path, {}, { authorization: `Bearer ${publishing}` })).toEqual(refused);
    }
    const headers = { authorization: `Bearer ${token}` };
    const bundle = await fetch(`${rig.server.url}/v1/bundle`, { method: 'PUT', body: 'x', headers });
    expect([401, 404]).toContain(bundle.status);
    expect(rig.log()).not.toMatch(/ada|bert|carl/i);
    expect(rig.log()).not.toContain(token);
  });

  it('is told at a payment as docs/shops.md has it', async () => {
    const [, example = ''] = /```js\n(.*?)```/s.exec(readFileSync('docs/shops.md', 'utf8')) ?? [];
    const text = example.replace('https://keys.news.example', rig.server.url).replaceAll('ada@', 'shopper@');
    const env = { ...process.env, WISPR_TOKEN: token };
    const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', text], { env });
    expect((await run()).stdout).toContain(`${rig.server.readingUrl}/-/join#`);
    expect((await run()).stdout).toBe('');
    const { subscriptions } = await ask('show', { subscriber: 'shopper@example.org' });
    expect(subscriptions).toMatchObject([{ plan: 'daily', until: Date.parse('2099-10-31T23:00:00Z') / 1000 - 1 }]);
  });
});

it('logs an error by its kind and place, without its message (attack 141)', async () => {
  const { database } = rig.server.state;
  await database.run('ALTER TABLE tokens RENAME TO moved');
  expect(await ask('plans', {})).toEqual({ status: 500, error: 'internal' });
  await database.run('ALTER TABLE moved RENAME TO tokens');
  expect(rig.log()).toMatch(/"stack":" +at .*"unforeseen error"/);
  expect(rig.log()).not.toMatch(/no such table|does not exist|"message"/);
});

it('docs/openapi.json is made from the operations (npm run openapi)', () => {
  const file = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
  expect(file).toBe(openApiText());
  expect(Object.keys(JSON.parse(file).paths)).toEqual(OPERATIONS.map(({ path }) => path));
});

describe('Stripe', () => {
  const EMIL = 'emil@example.org';
  const now = () => rig.server.state.now();
  /** Makes an event as Stripe sends it, of API version 2025-03-31 and later. */
  const eventOf = (object: Record<string, unknown>, created = now(), type = 'customer.subscription.updated') => {
    const items = { data: [{ price: { id: 'price_daily' }, current_period_end: now() + 1_000_000 }] };
    const plain = { id: 'sub_1', status: 'active', start_date: now() - 60, metadata: { subscriber: EMIL }, items };
    return JSON.stringify({ id: 'evt_1', created, type, data: { object: { ...plain, ...object } } });
  };
  const sign = (body: string, time = now(), secret = SECRET) =>
    `${signatureOf(body, secret, time)},v0=${'0'.repeat(64)}`;
  const sendText = (body: string, signature: string | undefined = sign(body)) =>
    post('/v1/stripe', body, { 'stripe-signature': signature });
  const send = (...event: Parameters<typeof eventOf>) => sendText(eventOf(...event));
  const unused = (code: string) => ({ status: 202, unused: code });
  const held = async (subscriber: string) => (await ask('show', { subscriber })).subscriptions;

  it('does not readmit a revoked person, and adds no subscriber for an unknown plan', async () => {
    expect(await send({})).toEqual({ status: 204 });
    await ask('revoke', { subscriber: EMIL });
    expect(await send({})).toEqual(unused('revoked'));
    expect(await ask('show', { subscriber: EMIL })).toMatchObject({ revoked: true });
    expect(rig.log()).not.toContain('emil');
    const items = { data: [{ price: { id: 'price_other' }, current_period_end: 1 }] };
    const zoe = { id: 'sub_zoe', metadata: { subscriber: 'zoe@example.org' }, items };
    expect(await send(zoe)).toEqual(unused('no-such-plan'));
    expect(await ask('show', { subscriber: 'zoe@example.org' })).toMatchObject({ status: 404 });
  });

  const OLD = { items: { data: [{ price: { id: 'price_daily' } }] } };
  /** Times are seconds from now. */
  it.each([
    ['that has ended', { status: 'canceled' }, { ended_at: -10 }, -10],
    ['that is not paid', { status: 'unpaid' }, {}, -5],
    ['whose payment is late', { status: 'past_due' }, {}, 1_086_400],
    ['of an older version of the API', OLD, { current_period_end: 100 }, 86_500],
  ])('gives a subscription %s its end', async (what, object, times, until) => {
    const subscriber = `${what.replaceAll(' ', '-')}@example.org`;
    const moved = Object.fromEntries(Object.entries(times).map(([name, time]) => [name, now() + time]));
    await send({ id: what, metadata: { subscriber } }, now() - 6);
    expect(await send({ ...object, ...moved, id: what, metadata: { subscriber } }, now() - 5)).toEqual({ status: 204 });
    expect(await held(subscriber)).toMatchObject([{ plan: 'daily', until: now() + until }]);
  });

  it('is believed only with a signature by its secret, over these bytes, a short while ago', async () => {
    const [body, refused] = [eventOf({}), { status: 401, error: 'token-refused' }];
    for (const signature of [
      ...['', 't=1', sign(body, now(), 'whsec_other'), sign(eventOf({ status: 'canceled' }))],
      ...[sign(body, now() - 301), sign(body, now() + 301), sign(body).replace('v1=', 'v0=')],
      ...[sign(body).replace(`t=${now()}`, `t=${now() + 1}`), sign(body).replace(/v1=../, 'v1=')],
    ])
      expect([signature, await sendText(body, signature)]).toEqual([signature, refused]);
    expect(await post('/v1/stripe', body, {})).toEqual(refused);
    const twoSecrets = `${sign(body, now(), 'whsec_old')},${sign(body).split(',')[1]}`;
    expect(await sendText(body, twoSecrets)).toEqual(unused('revoked'));
    expect(rig.log()).toContain('an event is not signed with the secret in');
  });

  it('passes over what is not ours, and answers what cannot be used so that Stripe goes on (attack 130)', async () => {
    const others = [eventOf({ id: 'sub_of_nobody', metadata: {} }), eventOf({ id: 'in_1' }, now(), 'invoice.paid')];
    for (const text of [...others, 'null']) expect(await sendText(text)).toEqual({ status: 204 });
    const pricedAs = (id: string) => ({ id: `sub ${id}`, items: { data: [{ price: { id } }] } });
    const metadata = { subscriber: 'p@example.org' };
    for (const name of ['price_other', 'constructor', '__proto__', 'toString'])
      expect(await send({ ...pricedAs(name), metadata })).toEqual(unused('no-such-plan'));
    expect(await send({ metadata: { subscriber: 'x'.repeat(255) } })).toEqual(unused('name-refused'));
    const bodies = [
      '{',
      '{"type":"customer.subscription.created","created":1}',
      eventOf({}).replace('{', '{"account":"acct_1",'),
      ...[-1, 1.5, 1e300].map((start_date) => eventOf({ start_date })),
      eventOf({}, now() + 0.5),
      eventOf({ id: 'sub\0' }),
    ];
    for (const text of bodies) expect([text, await sendText(text)]).toEqual([text, unused('argument-invalid')]);
    expect(rig.log()).toContain('"event":"evt_1"');
  });

  it('takes the events of one second as the seller means them, in any order and twice (attack 130)', async () => {
    const created = ['customer.subscription.created', { status: 'incomplete' }] as const;
    const updated = ['customer.subscription.updated', { status: 'active' }] as const;
    const deleted = ['customer.subscription.deleted', { status: 'canceled', ended_at: now() }] as const;
    const stands = [{ plan: 'daily', from: now() - 60, until: now() + 1_086_400 }];
    const ended = [{ plan: 'daily', from: now() - 60, until: now() }];
    const cases = [
      [[created, updated], stands],
      [[updated, created], stands],
      [[updated, deleted], ended],
      [[deleted, created, updated], ended],
      [[deleted, updated, created, updated], ended],
    ] as const;
    for (const [index, [events, expected]] of cases.entries()) {
      const subscriber = `second-${index}@example.org`;
      for (const [type, object] of events)
        await send({ id: subscriber, metadata: { subscriber }, ...object }, now(), type);
      expect(await held(subscriber)).toMatchObject(expected);
    }
    const late = { id: 'late', metadata: { subscriber: 'late@example.org' } };
    await send({ ...late, status: 'canceled', ended_at: now() });
    await send(late, now() + 9);
    expect(await held('late@example.org')).toMatchObject(ended);
  });

  it('gives nothing for a subscription that was never paid, and takes nothing (attack 130)', async () => {
    const never = { id: 'never', metadata: { subscriber: 'never@example.org' } };
    for (const status of ['incomplete', 'incomplete_expired']) await send({ ...never, status, ended_at: now() });
    expect(await ask('show', { subscriber: 'never@example.org' })).toMatchObject({ status: 404 });
    await send({ ...never, status: 'unpaid' });
    expect(await held('never@example.org')).toEqual([]);
    await send({ ...never, start_date: now() }, now(), 'customer.subscription.created');
    await send({ ...never, start_date: now(), status: 'canceled', ended_at: now() });
    expect(await held('never@example.org')).toEqual([]);
  });

  it('logs what an event lacks, with its id', async () => {
    const items = { data: [{ price: { id: 'price_of_test_mode' }, current_period_end: now() + 9 }] };
    await send({ id: 'sub_lacking', metadata: { subscriber: 'lacking@example.org' }, items });
    await send({ metadata: { subscriber: 'a`b@example.org' } });
    await send({ items: { data: [{ price: {} }] } });
    const last = rig.log().trim().split('\n').slice(-9);
    const lines = last.map((line) => JSON.parse(line));
    expect(lines.filter(({ level }) => level === 40)).toMatchObject([
      { event: 'evt_1', code: 'no-such-plan', missing: 'stripe.plans.price_of_test_mode' },
      { event: 'evt_1', code: 'name-refused', problem: 'it has the character `' },
      { event: 'evt_1', code: 'argument-invalid', problem: 'data.object.items.data.0.price.id' },
    ]);
  });

  const DAY = 86_400;
  const start = () => now() - 200 * DAY;
  /** Tells of a subscription that began 200 days ago. Times are days since then. */
  const tell = (id: string, day: number, [from, until]: [number, number], price = 'price_daily', status = 'active') => {
    const period = { current_period_start: start() + from * DAY, current_period_end: start() + until * DAY };
    const items = { data: [{ price: { id: price }, ...period }] };
    const object = { id, metadata: { subscriber: `${id}@example.org` }, status, start_date: start(), items };
    return send(object, start() + day * DAY);
  };
  const spansOf = async (id: string) => {
    const spans = (await held(`${id}@example.org`)) as { plan: string; from: number; until: number }[];
    const days = (time: number) => (time - start()) / DAY;
    return spans.map(({ plan, from, until }) => `${plan} ${days(from)} ${days(until)}`).sort();
  };

  it('leaves months that were not paid unreadable after a later payment (attack 131)', async () => {
    await tell('gap', 0, [0, 30]);
    await tell('gap', 33, [30, 60], 'price_daily', 'unpaid');
    await tell('gap', 60, [60, 90], 'price_daily', 'unpaid');
    await tell('gap', 190, [180, 210]);
    await tell('gap', 200, [200, 230]);
    expect(await spansOf('gap')).toEqual(['daily 0 31', 'daily 180 231']);
  });

  it('gives another plan from the change on, and not for what was paid before (attack 131)', async () => {
    await definePlan(rig.server.state, { name: 'all', title: 'All', sets: ['*'], zone: 'UTC' });
    for (const [at, day] of [0, 190, 191, 195].entries())
      await tell('up', day, [0, 365], at % 2 ? 'price_all' : 'price_daily');
    expect(await spansOf('up')).toEqual(['all 190 191', 'all 195 366', 'daily 0 190', 'daily 191 195']);
  });

  it('takes what is signed or has a token however much is refused from the same address (attack 128)', async () => {
    const foreign = () => sendText(eventOf({}), sign(eventOf({}), now(), 'whsec_other'));
    const wrong = { authorization: 'Bearer x' };
    for (const attempt of [foreign, () => post('/v1/subscriptions/plans', {}, wrong)]) {
      for (let count = 0; count < 21; count++) await attempt();
      expect(await attempt()).toEqual({ status: 429, error: 'too-many-requests' });
    }
    expect(await send({ id: 'after' })).toEqual(unused('revoked'));
    for (let count = 0; count < 21; count++) await ask('show', { subscriber: 'nobody' });
    expect(await ask('plans', {})).toMatchObject({ status: 200 });
    const { headers } = await fetch(`${rig.server.url}/v1/subscriptions/plans`, { method: 'POST', headers: wrong });
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(800);
  });
});
