/** The API with which other systems begin and end subscriptions, over HTTP. */
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../keyserver/api/subscriptions.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import { definePlan } from '../../keyserver/subscriptions/plans.ts';
import { openApiText } from '../../scripts/openapi.ts';
import { rigForFile, temporaryFolder } from '../support/keyserver-rig.ts';

const SECRET = 'whsec_of_this_test';

const rig = rigForFile(() => {
  const secretFile = join(temporaryFolder(), 'stripe.secret');
  writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
  return { config: { stripe: { secretFile, plans: { price_daily: 'daily' } } } };
});
let token: string;
beforeAll(async () => {
  token = (await createToken(rig.server.state, 'shop', 30, 'subscriptions')).token;
  await definePlan(rig.server.state, { name: 'daily', title: 'Weekday paper', sets: ['day-*'], zone: 'Europe/Berlin' });
});

async function post(
  path: string,
  body: unknown,
  headers: Record<string, string> = { authorization: `Bearer ${token}` },
) {
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
    expect(await ask('show', { subscriber: 'ADA@example.org' })).toEqual({
      status: 200,
      subscriber: 'Ada@example.org',
      revoked: false,
      // Midnight in Berlin.
      subscriptions: [
        { plan: 'daily', title: 'Weekday paper', from: Date.parse('2026-10-31T23:00:00Z') / 1000, until: null },
      ],
    });
    expect(await ask('plans', {})).toEqual({
      status: 200,
      plans: [{ name: 'daily', title: 'Weekday paper', subscriptions: 1 }],
    });
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
    expect(await ask('revoke', { subscriber: 'bert' })).toEqual({
      status: 200,
      members: 0,
      devices: 0,
      sessions: 0,
      invitations: 1,
    });
    // An invitation does not readmit a revoked person.
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
    const bundle = await request(`${rig.server.url}/v1/bundle`, {
      method: 'PUT',
      body: 'x',
      headers: { authorization: `Bearer ${token}` },
    });
    await bundle.body.dump();
    expect([401, 404]).toContain(bundle.statusCode);
    expect(rig.log()).not.toMatch(/ada|bert|carl/i);
    expect(rig.log()).not.toContain(token);
  });
});

it('docs/openapi.json is made from the operations (npm run openapi)', () => {
  const file = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
  expect(file).toBe(openApiText());
  expect(Object.keys(JSON.parse(file).paths)).toEqual(OPERATIONS.map(({ path }) => path));
});

describe('Stripe', () => {
  const EMIL = 'emil@example.org';
  const now = () => rig.server.state.now();
  /** As Stripe sends it, of API version 2025-03-31 and later. */
  const eventOf = (object: Record<string, unknown>, created = now(), type = 'customer.subscription.updated') => {
    const items = { data: [{ price: { id: 'price_daily' }, current_period_end: now() + 1_000_000 }] };
    const plain = { id: 'sub_1', status: 'active', start_date: now() - 60, metadata: { subscriber: EMIL }, items };
    return JSON.stringify({ id: 'evt_1', created, type, data: { object: { ...plain, ...object } } });
  };
  const sign = (body: string, time = now(), secret = SECRET) => {
    const v1 = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
    return `t=${time},v1=${v1},v0=${'0'.repeat(64)}`;
  };
  const sendText = (body: string, signature: string | undefined = sign(body)) =>
    post('/v1/stripe', body, { 'stripe-signature': signature });
  const send = (...event: Parameters<typeof eventOf>) => sendText(eventOf(...event));
  const held = async (subscriber = EMIL) => (await ask('show', { subscriber })).subscriptions;

  it('begins and ends a subscription by its signed events, in whichever order they come', async () => {
    expect(await send({})).toEqual({ status: 204 });
    expect(await held()).toMatchObject([{ plan: 'daily', from: now() - 60, until: now() + 1_086_400 }]);
    expect(await send({ status: 'canceled', ended_at: now() })).toEqual({ status: 204 });
    expect(await send({}, now() - 100)).toEqual({ status: 204 });
    expect(await held()).toMatchObject([{ plan: 'daily', until: now() }]);
    expect(rig.log()).not.toContain('emil');
  });

  it('does not readmit a revoked person, and adds no subscriber for an unknown plan', async () => {
    await ask('revoke', { subscriber: 'emil@example.org' });
    expect(await send({})).toEqual({ status: 204 });
    expect(await ask('show', { subscriber: 'emil@example.org' })).toMatchObject({ revoked: true });
    const items = { data: [{ price: { id: 'price_other' }, current_period_end: 1 }] };
    expect(await send({ metadata: { subscriber: 'zoe@example.org' }, items })).toEqual({ status: 204 });
    expect(await ask('show', { subscriber: 'zoe@example.org' })).toMatchObject({ status: 404 });
  });

  /** Times are seconds from now. */
  it.each([
    ['that has ended', { status: 'canceled' }, { ended_at: -10 }, -10],
    ['that is not paid', { status: 'unpaid' }, {}, -5],
    ['whose payment is late', { status: 'past_due' }, {}, 1_086_400],
    [
      'of an older version of the API',
      { items: { data: [{ price: { id: 'price_daily' } }] } },
      { current_period_end: 100 },
      86_500,
    ],
  ])('gives a subscription %s its end', async (what, object, times, until) => {
    const subscriber = `${what.replaceAll(' ', '-')}@example.org`;
    const moved = Object.fromEntries(Object.entries(times).map(([name, time]) => [name, now() + time]));
    expect(await send({ ...object, ...moved, id: what, metadata: { subscriber } }, now() - 5)).toEqual({ status: 204 });
    expect(await held(subscriber)).toMatchObject([{ plan: 'daily', until: now() + until }]);
  });

  it('is believed only with a signature by its secret, over these bytes, a short while ago', async () => {
    const body = eventOf({});
    for (const signature of [
      '',
      't=1',
      sign(body, now(), 'whsec_other'),
      sign(eventOf({ status: 'canceled' })),
      sign(body, now() - 301),
      sign(body, now() + 301),
      sign(body).replace('v1=', 'v0='),
      sign(body).replace(`t=${now()}`, `t=${now() + 1}`),
      sign(body).replace(/v1=../, 'v1='),
    ])
      expect([signature, await sendText(body, signature)]).toEqual([
        signature,
        { status: 401, error: 'token-refused' },
      ]);
    expect(await post('/v1/stripe', body, {})).toEqual({ status: 401, error: 'token-refused' });
    const twoSecrets = `${sign(body, now(), 'whsec_old')},${sign(body).split(',')[1]}`;
    expect(await sendText(body, twoSecrets)).toEqual({ status: 204 });
  });

  it('passes over what is not ours, and refuses what is no event', async () => {
    const items = { data: [{ price: { id: 'price_other' }, current_period_end: 1 }] };
    const others = [
      eventOf({ items }),
      eventOf({ metadata: {} }),
      eventOf({ id: 'in_1' }, now(), 'invoice.paid'),
      'null',
    ];
    for (const text of others) expect(await sendText(text)).toEqual({ status: 204 });
    for (const text of ['{', '{"type":"customer.subscription.created","created":1}'])
      expect(await sendText(text)).toEqual({ status: 400, error: 'argument-invalid' });
  });
});
