/** The HTTPCrypt endpoint of the key server, with the Reader's side of the channel, through real name servers, nginx and Squid. Attacks by the numbers of docs/threat-model.md. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { x25519KeyPair } from '#channel';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { freePort } from '../../cache-config/child.ts';
import { parseAllowLocal } from '../../client-proxy/network/local-addresses.ts';
import { Upstream, type UpstreamOptions } from '../../client-proxy/network/upstream.ts';
import { channelTo } from '../../client-proxy/site/key-server.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import {
  beginExchange,
  cookieName,
  type Exchange,
  encodeCookie,
  sealRequest,
  type Ticket,
} from '../../core/httpcrypt/exchange.ts';
import {
  serverKey as makeServerKey,
  recordAnswer,
  recordFromAnswer,
  type ServerKey,
  signRecord,
  verifyRecord,
} from '../../core/httpcrypt/record.ts';
import { acceptBinding, BINDING_PATH, encodeRenewalRequest, RENEWAL_PATH } from '../../core/keys/binding.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH, openKeyAnswer } from '../../core/keys/key-request.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { ServerKeys } from '../../httpcrypt/server-keys.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { load } from '../../node-support/load.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { bind, bindingRequest, createDeviceKeys, post } from '../support/device.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import {
  type NameServer,
  sendRaw,
  startNameServer,
  startParentProxy,
  startReverseProxy,
} from '../support/httpcrypt-path.ts';
import { listen, type Rig, rigForTest, startRig, temporaryFolder } from '../support/keyserver-rig.ts';
import { openAnswer } from '../support/open-messages.ts';
import { setOf } from '../support/publisher-with-sets.ts';

const HOST = 'keys.news.example';
const HOUR = 3600;
const zone = join(temporaryFolder(), 'httpcrypt.zone');
const cleanUp: (() => Promise<unknown>)[] = [];
let rig: Rig;
let nginx: Awaited<ReturnType<typeof startReverseProxy>>;
let squid: Awaited<ReturnType<typeof startParentProxy>>;
let names: NameServer;
/** Says what a test makes it say. */
let silent: DnsServer;
/** Endpoint as the descriptor would name it, and `near` at the key server itself. */
let endpoint: HttpcryptEndpoint;
let near: string;

beforeAll(async () => {
  const config = { httpcrypt: { url: `http://${HOST}/a/`, listen, rotateMinutes: 60, zone } };
  rig = await startRig({ config });
  const { httpcrypt: port = 0 } = rig.server.ports;
  if (!rig.server.httpcrypt) throw new Error('the endpoint is not open');
  const { key, url } = rig.server.httpcrypt;
  endpoint = { key, url };
  near = `http://127.0.0.1:${port}/a/`;
  const nginxPort = await freePort();
  [nginx, squid, names] = await Promise.all([
    startReverseProxy(nginxPort, port),
    startParentProxy(HOST, nginxPort),
    startNameServer(HOST, zone),
  ]);
  silent = await startDnsServer();
  cleanUp.push(names.stop, silent.close, squid.stop, nginx.stop, () => rig.close());
});
afterAll(async () => {
  for (const close of cleanUp) await close();
});

/** A Reader that has chosen HTTPCrypt, as its messages go. */
function readerBy(options: UpstreamOptions, to = endpoint) {
  const upstream = new Upstream({ ...options, allowLocal: [parseAllowLocal('127.0.0.1')], httpcrypt: true });
  onTestFinished(() => upstream.close());
  const { post } = channelTo(upstream, { keyServer: rig.server.url, httpcrypt: to });
  return { post: (path: string, content: Uint8Array) => post(path, content, MESSAGE_LIMITS.keyAnswer) };
}

const channel = () => readerBy({ parentProxy: squid.url, dnsServers: [names.address] });
const day1 = () => setOf(rig.publisher, 'day-1').id;
const ask = (deviceKey: NamedKey) => encodeKeyRequest(deviceKey, rig.server.url, [day1()], nowInSeconds());
const connect = async (name: string) => bind(rig.provider, await rig.codeFor(name));

/** The current server key, from the endpoint itself. */
async function serverKey(): Promise<ServerKey> {
  const { body } = await sendRaw(near, 'OPTIONS', undefined);
  const key = fromBase64url(endpoint.key) ?? new Uint8Array(0);
  return verifyRecord(recordFromAnswer(body.toString()), { url: endpoint.url, key }, nowInSeconds());
}

const headOf = (path: string) => ({
  ...{ method: 'POST', scheme: 'http', authority: HOST, path },
  fields: ['content-type', 'application/json'],
});

/** A message in its envelope, and what comes back for it. */
async function recorded(path: string, content: Uint8Array, ticket?: Ticket) {
  const server = await serverKey();
  const exchange: Exchange = ticket ? { ...ticket, publicKey: server.publicKey } : beginExchange(server.publicKey);
  const { body, salt } = sealRequest(exchange, headOf(path), content);
  const cookie = encodeCookie('session', server.id, exchange);
  const send = () => sendRaw(`${near}x9Kd-2_f`, 'POST', cookie, body);
  const opened = async () => openAnswer(exchange, salt, (await send()).body);
  return { send, opened, exchange, salt, body, cookie };
}

describe('HTTPCrypt through Squid and nginx', () => {
  it('binds a device and brings it keys; what passes there looks like any other request', async () => {
    const device = await createDeviceKeys(rig.provider);
    const code = await rig.codeFor('anna');
    const request = bindingRequest(device, rig.provider, code);
    const reader = channel();
    const bound = await reader.post(BINDING_PATH, request);
    expect(bound.status).toBe(200);
    const deviceKey = await acceptBinding(request, bound.body, device, rig.provider);
    const asked = await ask(deviceKey);
    const answered = await reader.post(KEY_REQUEST_PATH, asked);
    const { keys } = await openKeyAnswer(answered.body, asked, deviceKey.key);
    expect(keys.map(({ id }) => id)).toEqual([day1()]);
    const requests = await nginx.requests();
    const lines = requests.trim().split('\n');
    expect(lines).toHaveLength(3); // a binding takes one more, for the ticket
    const paths = lines.map((line) => line.split('|')[0]);
    const name = await cookieName(endpoint.url);
    for (const line of lines) {
      expect(line).toMatch(
        /^POST \/a\/[\w-]{8,24} HTTP\/1\.[01]\|[\w.]+=[\w-]{56,98}\|application\/octet-stream\|[1-4]\d\d\d\|200\|-\|\*\/\*$/,
      );
      expect(line).toContain(`|${name}=`);
    }
    expect(new Set(paths).size).toBe(3);
    expect(requests).not.toContain(code);
    await expect
      .poll(() => rig.log())
      .toMatch(/"listener":"httpcrypt","method":"POST","route":"\/v1\/keys","status":200/);
    expect(rig.log()).toMatch(/"route":"none","status":204/);
  });

  it('goes on with tickets, and with the next key when the time of one is over', async () => {
    const { deviceKey } = await connect('carla');
    const reader = channel();
    const get = async () => {
      const asked = await ask(deviceKey);
      return openKeyAnswer((await reader.post(KEY_REQUEST_PATH, asked)).body, asked, deviceKey.key);
    };
    for (let round = 0; round < 3; round++) expect((await get()).keys).toHaveLength(1);
    const announced = readFileSync(zone, 'utf8');
    rig.passTime(2 * HOUR + 1);
    // The endpoint's key is gone, and what the Reader shows is not known any more. DNS has the old record still: the Reader asks the endpoint.
    expect((await get()).refused).toEqual([{ id: day1(), reason: 'stale-request' }]);
    rig.passTime(-2 * HOUR - 1);
    expect(readFileSync(zone, 'utf8')).not.toBe(announced);
    await names.reload();
    expect((await get()).keys).toHaveLength(1);
  });
});

describe('attacks on HTTPCrypt', () => {
  /** A Reader whose parent proxy is a hop that a test plays. */
  async function readerThrough(hop: Server, to = endpoint) {
    const parentProxy = `http://127.0.0.1:${await listenOnLoopback(hop)}`;
    const reader = readerBy({ parentProxy, dnsServers: [silent.address] }, to);
    return { reader, end: () => closeServer(hop) };
  }

  it('attack 109: a binding request is taken once, and with a ticket only; a replayed key request is answered anew for its device', async () => {
    const device = await createDeviceKeys(rig.provider);
    const code = await rig.codeFor('dora');
    const request = bindingRequest(device, rig.provider, code);
    const first = await recorded(BINDING_PATH, request);
    const early = await first.opened();
    expect(early.status).toBe(425);
    const { ticket } = early;
    const second = await recorded(BINDING_PATH, request, ticket);
    const bound = await second.opened();
    expect(bound.status).toBe(200);
    const deviceKey = await acceptBinding(request, bound.content, device, rig.provider);
    for (let round = 0; round < 2; round++) {
      await expect(second.opened()).rejects.toMatchObject({ code: 'channel-unreadable' });
      expect((await first.opened()).status).toBe(425);
    }
    const asked = await ask(deviceKey); // the device key is still the one that was agreed on
    const keys = await recorded(KEY_REQUEST_PATH, asked, bound.ticket);
    expect((await openKeyAnswer((await keys.opened()).content, asked, deviceKey.key)).keys).toHaveLength(1);
    const again = await ask(deviceKey);
    const replayed = await recorded(KEY_REQUEST_PATH, again);
    const answers = [await replayed.opened(), await replayed.opened()];
    const opened = await Promise.all(answers.map(({ content }) => openKeyAnswer(content, again, deviceKey.key)));
    expect(opened.map(({ keys }) => keys.length)).toEqual([1, 1]);
    expect(answers[0]?.content).not.toEqual(answers[1]?.content);
  });

  it('attack 109: so is the renewal of a device key', async () => {
    const device = await createDeviceKeys(rig.provider);
    await bind(rig.provider, await rig.codeFor('hans'), device);
    const request = encodeRenewalRequest(device, rig.provider.publisher, nowInSeconds());
    const early = await (await recorded(RENEWAL_PATH, request)).opened();
    expect(early.status).toBe(425);
    const renewal = await recorded(RENEWAL_PATH, request, early.ticket);
    const { status, content } = await renewal.opened();
    expect(status).toBe(200);
    expect(await acceptBinding(request, content, device, rig.provider)).toMatchObject({ id: expect.any(String) });
    await expect(renewal.opened()).rejects.toMatchObject({ code: 'channel-unreadable' });
  });

  it('attack 112: a request that hops cut into chunks is the same request', async () => {
    const { deviceKey } = await connect('karl');
    const asked = await ask(deviceKey);
    const { body, cookie, exchange, salt } = await recorded(KEY_REQUEST_PATH, asked);
    const came = await sendRaw(`${near}abcdefgh`, 'POST', cookie, [body.subarray(0, 30), body.subarray(30)]);
    const { content } = openAnswer(exchange, salt, came.body);
    expect((await openKeyAnswer(content, asked, deviceKey.key)).keys).toHaveLength(1);
  });

  it('attack 110, attack 111, attack 112, attack 113, attack 114: what cannot be opened is refused alike, whatever it is, and runs nothing', async () => {
    const { deviceKey } = await connect('emil');
    const good = await recorded(KEY_REQUEST_PATH, await ask(deviceKey));
    const answer = await good.send();
    const server = await serverKey();
    const { exchange, body, cookie } = good;
    const content = await ask(deviceKey);
    const sealed = (by: Exchange) => sealRequest(by, headOf(KEY_REQUEST_PATH), content).body;
    const shown = (ticket: Ticket) => encodeCookie('session', server.id, ticket);
    const flipped = Uint8Array.from(body, (byte, index) => (index === 99 ? byte ^ 1 : byte));
    const ticket = { ...(await good.opened()).ticket, publicKey: server.publicKey };
    const long = sealRequest(exchange, headOf(KEY_REQUEST_PATH), new Uint8Array(30_000)).body;
    const bad: Record<string, [string | undefined, Uint8Array]> = {
      'attack 110: an answer sent as a request': [cookie, answer.body],
      'attack 111: another secret': [cookie, sealed({ ...exchange, secret: new Uint8Array(32) })],
      'attack 111: another reader shown': [shown(beginExchange(server.publicKey)), body],
      'attack 111: a point of small order': [shown({ ...ticket, shown: new Uint8Array(32) }), body],
      'attack 112: cut': [cookie, body.subarray(0, -1)],
      'attack 112: in half': [cookie, body.subarray(0, 500)],
      'attack 112: nothing': [cookie, new Uint8Array(0)],
      'attack 112: continued': [cookie, Buffer.concat([body, body])],
      'attack 112: without its last chunk': [cookie, long.subarray(0, 16 + 16_384)],
      'a bit flipped': [cookie, flipped],
      'attack 113: a server key that is gone': [encodeCookie('session', new Uint8Array(10), exchange), body],
      'attack 114: a ticket that was never given': [shown({ ...ticket, shown: new Uint8Array(32).fill(9) }), body],
      'attack 114: a ticket under another secret': [shown(ticket), sealed({ ...ticket, secret: exchange.secret })],
      'attack 114: the ticket, used up by that': [shown(ticket), sealed(ticket)],
      'no cookie': [undefined, body],
      'another cookie': ['session=abc', body],
    };
    const before = rig.log().length;
    for (const [name, [given, sent]] of Object.entries(bad)) {
      const { status, body: said } = await sendRaw(`${near}abcdefgh`, 'POST', given, sent);
      expect([status, said.toString()], name).toEqual([500, 'Internal Server Error\n']);
    }
    expect(rig.log().slice(before)).not.toContain(KEY_REQUEST_PATH);
  });

  it('attack 114: a hop that uses up the tickets of a Reader costs it an exchange of keys, and nothing else', async () => {
    const { deviceKey } = await connect('ida');
    const cookies: string[] = [];
    const hop = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const { cookie } = request.headers;
      if (cookie) cookies.push(cookie);
      if (cookies.length > 1) await sendRaw(`${near}abcdefgh`, 'POST', cookies.at(-1), new Uint8Array(5000));
      const body = request.method === 'POST' ? Buffer.concat(parts) : undefined;
      const came = await sendRaw(near, request.method ?? '', cookie, body);
      response.writeHead(came.status).end(came.body);
    });
    const { reader, end } = await readerThrough(hop);
    for (const messages of [1, 3]) {
      const asked = await ask(deviceKey);
      const { body } = await reader.post(KEY_REQUEST_PATH, asked);
      expect((await openKeyAnswer(body, asked, deviceKey.key)).keys).toHaveLength(1);
      expect(cookies).toHaveLength(messages); // the first, the ticket that failed, and a fresh key
    }
    await end();
  });

  it('attack 113: a key is announced for an hour, taken for two, and gone with its tickets after that', async () => {
    const { deviceKey } = await connect('frieda');
    const first = await serverKey();
    const old = await recorded(KEY_REQUEST_PATH, await ask(deviceKey));
    const { ticket } = await old.opened();
    const later = await recorded(KEY_REQUEST_PATH, await ask(deviceKey), ticket);
    const toRenewal = first.notAfter - HOUR - nowInSeconds() + 60;
    rig.passTime(toRenewal);
    const second = await serverKey();
    expect(Buffer.compare(second.publicKey, first.publicKey)).not.toBe(0);
    expect((await old.opened()).status).toBe(200);
    rig.passTime(HOUR);
    await expect(old.opened()).rejects.toMatchObject({ code: 'channel-unreadable' });
    await expect(later.opened()).rejects.toMatchObject({ code: 'channel-unreadable' });
    rig.passTime(-toRenewal - HOUR);
    await expect(old.opened()).rejects.toMatchObject({ code: 'channel-unreadable' }); // the key was destroyed, not set aside
  });

  /** A hop that says OPTIONS and POST what it likes. */
  async function throughHop(
    hop: { record: string; status?: number; text?: string },
    to: HttpcryptEndpoint,
    body: Uint8Array,
  ) {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(request.method ?? '');
      const [status, text] = request.method === 'OPTIONS' ? [200, hop.record] : [hop.status ?? 200, hop.text];
      response.writeHead(status, { location: rig.server.url }).end(text);
    });
    const { reader, end } = await readerThrough(server, to);
    const outcome = await reader.post(KEY_REQUEST_PATH, body).then(
      ({ status }) => String(status),
      ({ code }: { code: string }) => code,
    );
    await end();
    return { outcome, seen };
  }

  it('attack 111, attack 113: a Reader sends nothing to a key that is over, of another key server, or of another endpoint', async () => {
    const [mine, other] = [ed25519KeyPair(randomBytes(32)), ed25519KeyPair(randomBytes(32))];
    const to = { url: endpoint.url, key: toBase64url(mine.publicKey) };
    const signed = async (notAfter: number, url = endpoint.url, signer = mine) => {
      const key = await makeServerKey(x25519KeyPair(randomBytes(32)).publicKey, notAfter);
      return recordAnswer(signRecord(key, url, signer.secretKey));
    };
    const now = nowInSeconds();
    const records = {
      'attack 113: over': await signed(now - 1),
      'attack 111: of another key server': await signed(now + HOUR, endpoint.url, other),
      'attack 111: of another endpoint': await signed(now + HOUR, `${endpoint.url}b/`),
      'not a record': 'AAAA\n',
      'attack 115: none': '',
    };
    for (const [name, record] of Object.entries(records)) {
      silent.records.set(`httpcrypt.${HOST}`, [record.split('\n')[0] ?? '']); // DNS says the same
      const { outcome, seen } = await throughHop({ record }, to, new Uint8Array(9));
      expect({ name, outcome, seen }).toEqual({ name, outcome: 'channel-key-refused', seen: ['OPTIONS'] });
    }
    silent.records.clear();
  });

  it('attack 115: a hop that answers in clear, or refuses, brings no downgrade: nothing is sent another way', async () => {
    const { deviceKey } = await connect('gustav');
    const asked = await ask(deviceKey);
    const record = (await sendRaw(near, 'OPTIONS', undefined)).body.toString();
    const before = rig.log().length;
    const clear = { record, text: '{"keys":[],"refused":[],"time":1}' };
    const refusals = [403, 302, 404, 502].map((status) => ({ record, status }));
    for (const hop of [clear, { record, status: 500 }])
      expect(await throughHop(hop, endpoint, asked)).toEqual({
        outcome: 'channel-key-refused', // the hop announces no other key than the one that failed
        seen: ['OPTIONS', 'POST', 'OPTIONS'],
      });
    for (const hop of refusals)
      expect(await throughHop(hop, endpoint, asked)).toEqual({
        outcome: 'channel-unreadable',
        seen: ['OPTIONS', 'POST'],
      });
    expect(rig.log().slice(before)).not.toContain(KEY_REQUEST_PATH);
  });
});

describe('the HTTPCrypt endpoint', () => {
  it('keeps a bounded number of tickets: the oldest goes first', async () => {
    const options = { url: near, signer: ed25519KeyPair(randomBytes(32)), timeToLive: HOUR, now: nowInSeconds };
    const keys = await ServerKeys.start({ ...options, announce: () => undefined, maximumTickets: 2 });
    const key = { url: near, key: options.signer.publicKey };
    const { id, publicKey } = await verifyRecord(await keys.record(), key, nowInSeconds());
    const opening = keys.open(id, beginExchange(publicKey).shown);
    const tickets = Array.from({ length: 3 }, () => opening?.issue(randomBytes(64)));
    const fresh = tickets.map((ticket) => keys.open(id, ticket?.shown ?? new Uint8Array(0))?.fresh === true);
    expect(fresh).toEqual([false, true, true]);
    keys.stop();
    expect(keys.open(id, beginExchange(publicKey).shown)).toBeUndefined();
  });

  it('is nothing else: other methods and addresses are refused in clear, other messages and hosts inside', async () => {
    const outside = near.replace('/a/', '/b/');
    expect((await sendRaw(outside, 'POST', undefined, new Uint8Array(9))).status).toBe(404);
    expect((await sendRaw(outside, 'OPTIONS', undefined)).status).toBe(404);
    expect((await sendRaw(near, 'GET', undefined)).status).toBe(404);
    const first = await (await recorded(KEY_REQUEST_PATH, new Uint8Array(32_769))).opened();
    expect([first.status, Buffer.from(first.content).toString()]).toEqual([413, '{"error":"too-large"}']);
    const { status, content } = await (await recorded('/v1/bundle', new Uint8Array(9), first.ticket)).opened();
    expect([status, Buffer.from(content).toString()]).toEqual([404, '{"error":"not-found"}']);
    const whole = { ...headOf('/'), method: 'OPTIONS', path: '*' };
    const server = await serverKey();
    const inner = async (head: typeof whole) => {
      const exchange = beginExchange(server.publicKey);
      const { body, salt } = sealRequest(exchange, head, new Uint8Array(0));
      const came = await sendRaw(`${near}x`, 'POST', encodeCookie('session', server.id, exchange), body);
      return openAnswer(exchange, salt, came.body).status;
    };
    expect([await inner(whole), await inner({ ...whole, authority: 'other.example' })]).toEqual([204, 421]);
    expect(await inner({ ...whole, scheme: 'https' })).toBe(421);
  });

  it('refuses messages with 503 where there are too many at a time, and takes them again', async () => {
    const { deviceKey } = await connect('lena');
    const message = await recorded(KEY_REQUEST_PATH, await ask(deviceKey));
    const taken = Array.from({ length: 1000 }, () => load.begin());
    const { status, headers } = await message.send();
    expect([status, headers.join()]).toEqual([503, expect.stringMatching(/retry-after: \d+/)]);
    for (const place of taken) place?.end();
    const opened = await message.opened();
    expect([opened.status, opened.fields.slice(0, 2)]).toEqual([200, ['content-type', 'application/octet-stream']]);
  });

  it('attack 46: limits requests and failed bindings of an address', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/a/`;
    const httpcrypt = { url, listen: { host: '127.0.0.1', port }, rotateMinutes: 60 };
    const own = await rigForTest({
      limits: { keyRequestsPerAddress: 10, bindingsPerAddress: 2, changesPerAddress: 4 },
      config: { httpcrypt },
    });
    if (!own.server.httpcrypt) throw new Error('the endpoint is not open');
    const reader = readerBy({}, own.server.httpcrypt);
    const device = await createDeviceKeys(own.provider);
    const tryCode = async (code: string) =>
      (await reader.post(BINDING_PATH, bindingRequest(device, own.provider, code))).status;
    const guess = () => tryCode('0'.repeat(16));
    // OPTIONS, then two requests for the first binding: a ticket is at hand from then on.
    const request = bindingRequest(device, own.provider, await own.codeFor('ada'));
    const repeat = async () => (await reader.post(BINDING_PATH, request)).status;
    // An honest request that is repeated is limited too: attack 135.
    expect([await repeat(), await repeat()]).toEqual([200, 200]);
    expect([await guess(), await guess(), await repeat()]).toEqual([403, 403, 429]);
    expect(Number((await reader.post(BINDING_PATH, request)).retryAfter)).toBeGreaterThan(0);
    const outside = await post(own.server.url, BINDING_PATH, request);
    expect([outside.status, await outside.text()]).toEqual([429, '{"error":"too-many-requests"}']); // counted together
    for (let round = 0; round < 2; round++) expect((await reader.post('/v1/none', new Uint8Array(0))).status).toBe(404);
    expect((await reader.post('/v1/none', new Uint8Array(0))).status).toBe(429);
    expect(own.log()).toMatch(/"listener":"httpcrypt","method":"POST","route":"none","status":429/);
  });
});
