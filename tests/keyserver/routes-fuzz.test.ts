/**
 * Hostile requests to every route of the key server's apps, as its routers have them: none is a fault of the server, none is echoed as markup or
 * as a field, and no answer tells who exists. WISPR_FUZZ is how many are sent; WISPR_FUZZ_SEED sends those again that a failure names.
 */
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { KEY_REQUEST_PATH } from '../../core/keys/key-request.ts';
import { DEFAULT_LIMITS } from '../../keyserver/config/limits.ts';
import { createToken } from '../../keyserver/publication/tokens.ts';
import type { RunningKeyServer } from '../../keyserver/server.ts';
import { signatureOf } from '../../serve/stripe/objects.ts';
import { bind, post } from '../support/device.ts';
import { listen, type Rig, startRig, temporaryFolder } from '../support/keyserver-rig.ts';
import { offerPlans } from '../support/offers.ts';
import { publish } from '../support/publisher-with-sets.ts';
import { createVisitor } from '../support/reading-site-visitor.ts';
import { fieldNames, type Route, routesOf } from '../support/routes.ts';
import { runs } from '../support/tier.ts';

const REQUESTS = Number(process.env.WISPR_FUZZ ?? 600);
const AT_ONCE = 20;
/** Name known to the key server, and one of as many characters that is not. */
const [KNOWN, UNKNOWN] = ['ada@example.org', 'adx@example.org'];
/** Markup, and a field of a header: where they come back as such, something was not escaped. */
const MARKUP = '<i7k>';
const INJECTED = 'x-injected';
const STRIPE_SECRET = 'whsec_of_this_test';
/** Secret in queries and bodies; no log has it. */
const SECRET = 'SECRETCODE';

type AppName = keyof RunningKeyServer['apps'];
interface Target extends Route {
  readonly app: AppName;
}

let rig: Rig;
let targets: Target[];
let origins: Record<AppName, string>;
let cookies: string;
let token: string;
let known: { readonly code: string; readonly device: string };
beforeAll(async () => {
  const endless = Object.entries(DEFAULT_LIMITS).filter(([name]) => /Per|Refusals/.test(name));
  const limits = Object.fromEntries(endless.map(([name]) => [name, 1_000_000_000]));
  const secretFile = join(temporaryFolder(), 'stripe.secret');
  writeFileSync(secretFile, STRIPE_SECRET, { mode: 0o600 });
  const reading = { listen, documents: { listen, inBrowser: true } };
  rig = await startRig({ limits, config: { reading, stripe: { secretFile, plans: { price_1: 'daily' } } } });
  const { state, apps } = rig.server;
  await offerPlans(rig, [{ name: 'daily', title: 'Daily', trial: 7, buy: 'https://buy.stripe.com/test' }]);
  await publish(rig.publisher, rig.host, { path: '/index.html', content: '<h1>Front</h1>', mediaType: 'text/html' });
  token = (await createToken(state, 'shop', 30, 'subscriptions')).token;
  const { code } = await rig.invite({ name: KNOWN, plan: 'daily' });
  const device = await bind(rig.provider, code);
  known = { code, device: device.deviceKey.id };
  origins = { api: rig.server.url, reading: rig.server.readingUrl, documents: rig.server.documentsUrl };
  targets = (Object.keys(origins) as AppName[]).flatMap((app) => [
    ...routesOf(apps[app]).map((route) => ({ ...route, app })),
    ...['GET', 'POST'].map((method) => ({ app, method, path: '/no/such/:page' })),
  ]);
});
afterAll(() => rig?.close());

/** A session of another subscriber than the known one. */
async function signIn(): Promise<void> {
  const browser = createVisitor(rig.server.readingUrl);
  const { code } = await rig.invite({ name: 'ben', plan: 'daily' });
  await browser.join(code);
  cookies = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

it('there are routes to send to, and fields to fill', () => {
  const all = targets.map(({ app, method, path }) => `${app} ${method} ${path}`);
  for (const one of ['api POST /v1/keys', 'api PUT /v1/bundle', 'reading POST /-/device', 'documents POST /-/leave'])
    expect(all).toContain(one);
  expect(fieldNames()).toEqual(expect.arrayContaining(['name', 'password', 'code', 'to', 'subscriber', 'plan']));
});

const hostile = fc.oneof(
  fc.constantFrom(
    ...["' OR '1'='1' --", '"; DROP TABLE subscribers; --', `\r\n${INJECTED}: 1\r\n\r\n`, `${MARKUP}<%= it %>{{7*7}}`],
    ...['__proto__', 'constructor', '\0', '../../../etc/passwd', '//evil.example/', 'javascript:alert(1)', '-1'],
    ...['', ' ', '9007199254740993', 'null', '[]', '{"$gt":""}', '\u202e\u{1f600}\u0000', 'İSTANBUL', 'ﬀ'.repeat(40)],
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(KNOWN, 'ben', 'daily', '2026-11-26', '1e999'),
  fc.nat(200_000).map((length) => 'a'.repeat(length % 7 === 0 ? length : length % 50)),
);
const fieldName = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...fieldNames()) }, hostile);
const fields = fc.array(fc.tuple(fieldName, hostile), { maxLength: 5 });

/** Encodes as URLs and forms do: whole, in bad escapes, or in bytes that are no UTF-8. */
const encoded = (text: string, way: number) =>
  way === 0
    ? encodeURIComponent(text.toWellFormed())
    : way === 1
      ? `${encodeURIComponent(text.toWellFormed()).slice(0, 30)}%zz%`
      : '%ff%c0%af%ed%a0%80';

const form = fc
  .tuple(fields, fc.nat(9))
  .map(([pairs, way]) =>
    pairs.map(([name, value]) => `${encoded(name, 0)}=${encoded(value, way < 8 ? 0 : way - 7)}`).join('&'),
  );
const json = fc.oneof(
  fields.map((pairs) => JSON.stringify(Object.fromEntries(pairs))),
  fc.json({ maxDepth: 3 }),
  fc.constant('['.repeat(5000)),
);
const numbers = fc.oneof(fc.constantFrom(1.5, -1, 1e300, 253_402_300_800, null), {
  weight: 12,
  arbitrary: fc.nat(2_000_000_000),
});
const sold = fc.record({
  price: fc.record({ id: fc.constantFrom('price_1', 'constructor', '__proto__', 'toString', 'x') }),
  ...{ current_period_start: numbers, current_period_end: numbers },
});
const subscription = fc.record({
  id: fc.oneof(fc.constant('sub_1'), hostile),
  status: fc.constantFrom('active', 'canceled', 'incomplete', 'unpaid', 'constructor'),
  ...{ start_date: numbers, ended_at: numbers },
  items: fc.record({ data: fc.array(sold, { maxLength: 3 }) }),
  metadata: fc.record({ subscriber: hostile }),
});
const checkout = fc.record({
  id: hostile,
  client_reference_id: fc.oneof(fc.constant(null), hostile),
  customer_details: fc.record({ email: fc.oneof(hostile, fc.constant(KNOWN), fc.emailAddress()) }),
  mode: fc.constant('subscription'),
  payment_status: fc.constantFrom('paid', 'unpaid'),
  subscription: fc.oneof(fc.constant('sub_1'), hostile),
});
const events = (object: fc.Arbitrary<unknown>, ...types: string[]) =>
  fc
    .record({ created: numbers, type: fc.constantFrom(...types), data: fc.record({ object }) })
    .map((event) => JSON.stringify(event));
const texts = fc.oneof(
  events(checkout, 'checkout.session.completed', 'checkout.session.async_payment_succeeded'),
  events(subscription, 'customer.subscription.updated', 'customer.subscription.deleted', 'invoice.paid'),
  ...[form, json],
);
const body = fc.oneof(
  { weight: 4, arbitrary: texts.map((text) => Buffer.from(text)) },
  fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes)),
);

const TYPES = ['application/x-www-form-urlencoded', 'application/json', 'multipart/form-data; boundary=x', 'a', ''];
const CHARSETS = ['', '; charset=utf-7', '; charset=iso-8859-1', '; charset="', '; charset=UTF-8'];
const MODES = ['navigate', 'cors', 'no-cors', 'x'];
/** Fields as of the app that is asked, of another one, or of none. */
const headers = fc.record(
  {
    origin: fc.constantFrom('own', 'own', 'own', 'null', 'https://evil.example', 'http://[::1'),
    cookie: fc.oneof(fc.constantFrom('own', 'own'), hostile),
    authorization: fc.oneof(fc.constantFrom('own', 'own', 'Bearer', 'Basic YTpi'), hostile),
    'content-type': fc.tuple(fc.constantFrom(...TYPES), fc.constantFrom(...CHARSETS)).map((parts) => parts.join('')),
    'content-encoding': fc.constantFrom('gzip', 'br', 'identity', 'x'),
    'sec-fetch-site': fc.constantFrom('same-origin', 'same-site', 'cross-site', 'none', 'x'),
    'sec-fetch-mode': fc.constantFrom(...MODES),
    'sec-fetch-dest': fc.constantFrom('document', 'iframe', 'image', 'serviceworker', 'x'),
    'service-worker': fc.constant('script'),
    accept: fc.constantFrom('text/html', '*/*', 'application/json;q=x'),
    range: fc.constantFrom('bytes=0-', 'bytes=9-1', 'bytes=-0', 'x', 'bytes=0-1,3-4'),
    'if-none-match': fc.constantFrom('*', '"x"', 'W/"', 'x'.repeat(3000)),
    forwarded: hostile,
    'x-forwarded-for': hostile,
    'stripe-signature': fc.oneof(fc.constantFrom('own', 'own'), hostile),
    'accept-language': hostile,
  },
  { requiredKeys: [] },
);

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND'];
/** Texts before a path: nothing, its own origin, or one that cannot be. */
const FORMS = ['', '', '', 'own', 'http://[zz]', 'http://a b', 'http://x:99999999', 'https://', '//[', 'x:'];
const wish = fc.record({
  target: fc.nat(10_000),
  form: fc.constantFrom(...FORMS),
  method: fc.option(fc.constantFrom(...METHODS), { freq: 4 }),
  part: fc.tuple(hostile, fc.nat(2)).map(([text, way]) => encoded(text, way).slice(0, 3000)),
  query: fc.option(form),
  headers,
  body,
});
type Wish = typeof wish extends fc.Arbitrary<infer Value> ? Value : never;

/** The bytes of a request, as a hostile program writes them. */
function written(request: Wish): { readonly app: AppName; readonly route: string; readonly bytes: Buffer } {
  const target = targets[request.target % targets.length] as Target;
  const method = request.method ?? target.method;
  const path = target.path.replace(/[:*{]\w+\}?/g, () => request.part);
  const origin = origins[target.app];
  const time = rig.server.state.now();
  const own: Record<string, string> = {
    origin,
    cookie: cookies,
    authorization: `Bearer ${token}`,
    'stripe-signature': signatureOf(request.body, STRIPE_SECRET, time),
  };
  const lines = Object.entries(request.headers).flatMap(([name, value]) => {
    const text = value === 'own' ? own[name] : value;
    return text === undefined ? [] : [`${name}: ${text.replace(/[\r\n\0]/g, ' ').slice(0, 4000)}`];
  });
  const query = request.query === null ? '' : `?code=${SECRET}&${request.query.slice(0, 6000)}`;
  const url = (request.form === 'own' ? origin : request.form) + path + query;
  const head = [`${method} ${url} HTTP/1.1`, `Host: ${new URL(origin).host}`, 'Connection: close', ...lines];
  const length = `Content-Length: ${request.body.length}`;
  const bytes = Buffer.concat([Buffer.from(`${[...head, length].join('\r\n')}\r\n\r\n`), request.body]);
  return { app: target.app, route: `${method} ${target.path}`, bytes };
}

/** Returns all that comes back before the connection ends. */
function exchange(app: AppName, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(origins[app]);
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    socket.on('error', () => undefined); // a body that is not read is reset
    socket.on('close', () => resolve(Buffer.concat(pieces).toString('latin1')));
  });
}

async function expectHarmless(request: Wish): Promise<void> {
  const { app, route, bytes } = written(request);
  const answer = await exchange(app, bytes);
  const [head = ''] = answer.split('\r\n\r\n', 1);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
  const at = `${app} ${route}: ${head.slice(0, 200)}`;
  expect(answer === '' || (status >= 200 && status < 500), at).toBe(true);
  expect(head.toLowerCase(), at).not.toContain(`\n${INJECTED}`);
  if (/^content-type: text\/html/im.test(head)) expect(answer, at).not.toContain(MARKUP);
}

describe('attack 49: every route (attack 141)', () => {
  it(`takes ${REQUESTS} hostile requests without a fault, and says nothing back that it should not`, async () => {
    const batches = fc.array(wish, { minLength: AT_ONCE, maxLength: AT_ONCE });
    const batch = fc.asyncProperty(batches, async (requests) => {
      await signIn(); // the one before may have been signed out
      await Promise.all(requests.map(expectHarmless));
      expect(rig.log().match(/\{[^\n]*unforeseen[^\n]*/)?.[0]).toBeUndefined();
      expect(rig.log()).not.toContain(SECRET);
    });
    const seed = process.env.WISPR_FUZZ_SEED;
    await fc.assert(batch, {
      numRuns: Math.ceil(REQUESTS / AT_ONCE),
      endOnFailure: true,
      ...(seed !== undefined && { seed: Number(seed) }),
    });
    expect((await post(rig.server.url, KEY_REQUEST_PATH, 'x')).status).toBe(400);
    expect((await createVisitor(rig.server.readingUrl).get('/-/sign-in')).status).toBe(200);
  });
});

describe('attack 45: no answer tells who exists', () => {
  // Thousands at once would not all find a place, and the server ends connections that are idle.
  const dispatcher = new Agent({ connections: AT_ONCE, pipelining: 0 });
  afterAll(() => dispatcher.close());

  /** Removes what was sent, however often it was encoded, and what is random. */
  function without(text: string, value: string): string {
    const once = encodeURIComponent(value);
    // A number stands in many places.
    const forms = value.length < 8 ? [] : [value, once, encodeURIComponent(once), value.replaceAll('-', '')];
    return forms
      .reduce((all, one) => all.replaceAll(one, 'X'), text)
      .replace(/[\w-]{40,}|\b\w{4}(?:-\w{4}){3}\b/g, 'R');
  }

  async function seen({ app, method, path }: Target, name: string, value: string, headers: Record<string, string>) {
    const query = new URLSearchParams({ [name]: value });
    const url = origins[app] + path.replace(/[:*{]\w+\}?/g, 'x') + (method === 'GET' ? `?${query}` : '');
    const sent = app === 'api' ? JSON.stringify({ [name]: value }) : query;
    const init = { method, redirect: 'manual', headers, body: method === 'GET' ? null : sent, dispatcher } as const;
    const answer = await fetch(url, init);
    const text = [answer.status, answer.headers.get('location'), await answer.text()].join('\n');
    return without(text, value);
  }

  const ASKING = ['a stranger', 'another subscriber'].slice(0, runs(1, 2));
  it.each(ASKING)('to %s, by a name, a code that was used, or a device', async (who) => {
    await signIn();
    const cookie = who === 'a stranger' ? '' : cookies;
    const sql = 'SELECT id FROM devices WHERE key_id = ?';
    const row = await rig.server.state.database.first<{ id: number }>(sql, known.device);
    const pairs = [
      [/name|subscriber|mail|address|^to$/, KNOWN, UNKNOWN],
      [/code/, known.code, '0000-0000-0000-0000'],
      [/device/, known.device, toBase64url(randomBytes(32))],
      [/device/, String(row?.id), '99'],
    ] as const;
    const compare = async (target: Target, name: string) => {
      for (const [fits, one, other] of pairs) {
        if (target.method === 'GET' && one.length < 8) continue; // a redirect would carry the value on
        if (!fits.test(name) || (target.path === '/-/sign-in' && name !== 'name')) continue; // attempts cost a password
        const headers = { origin: origins[target.app], cookie };
        const answers = [await seen(target, name, one, headers), await seen(target, name, other, headers)];
        expect(answers[0], `${target.app} ${target.method} ${target.path} ${name}`).toBe(answers[1]);
      }
    };
    // The bundle grows while this runs, by lists that the server fetches.
    const changing = /sign-out|forget|leave|connect|delete|password|publication\/current/;
    const stays = targets.filter(({ path }) => !changing.test(path));
    await Promise.all(stays.flatMap((target) => fieldNames().map((name) => compare(target, name))));
  });
});
