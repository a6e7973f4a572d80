/** Outsiders lock no subscriber out: docs/keyserver.md, "Limits". */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BINDING_PATH, encodeBindingRequest } from '../../core/keys/binding.ts';
import { DEFAULT_LIMITS, type RequestLimits } from '../../keyserver/config/limits.ts';
import { FairQueue } from '../../keyserver/hashing/fair-queue.ts';
import { BOUNDS } from '../../keyserver/hashing/hashing.ts';
import { joinWithPassword } from '../../keyserver/sign-in/accounts.ts';
import { KNOWN_BROWSER_LIFETIME } from '../../keyserver/sign-in/known-browsers.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { bind, createDeviceKeys, post } from '../support/device.ts';
import { listen, type Rig, startRig } from '../support/keyserver-rig.ts';
import { createVisitor, type Visitor } from '../support/reading-site-visitor.ts';
import { routesOf } from '../support/routes.ts';
import { runs } from '../support/tier.ts';

const PASSWORD = 'correct horse battery';
const WRONG_CODE = '0000000000000000';
let rig: Rig;
afterEach(() => rig.close());

/** A key server behind a proxy, which says where requests come from. */
async function start(limits: Partial<RequestLimits> = {}): Promise<void> {
  rig = await startRig({ limits, config: { trustedProxies: ['127.0.0.1'] } });
}

const from = (address: string) => ({ origin: rig.server.readingUrl, 'x-forwarded-for': address });
const browser = () => createVisitor(rig.server.readingUrl);

/** An address of one of many networks, every second one IPv6; numbers that differ are limited apart. */
function addressOf(network: number): string {
  const part = network.toString(16);
  return network % 2 === 0 ? `203.0.${network >> 8}.${network & 0xff}` : `2001:db8:${part}:ff00::${part}`;
}

async function join(name: string, at = '192.0.2.1'): Promise<Visitor> {
  const reader = browser();
  const accountCode = await rig.codeFor(name);
  expect((await reader.post('/-/join', { code: accountCode, password: PASSWORD }, from(at))).status).toBe(303);
  return reader;
}

const signIn = async (name: string, password: string, address: string, reader = browser()) =>
  (await reader.post('/-/sign-in', { name, password, to: '/' }, from(address))).status;

const fail = (name: string, address: string, reader?: Visitor) => signIn(name, 'wrong password', address, reader);

async function inTurn<Result>(count: number, attempt: (index: number) => Promise<Result>): Promise<Result[]> {
  const statuses: Result[] = [];
  for (let index = 0; index < count; index++) statuses.push(await attempt(index));
  return statuses;
}

describe('failed sign-ins', () => {
  it('attack 102: wrong passwords from one address keep its own attempts out, and not the person', async () => {
    await start({ signInsPerNameAndAddress: 3, signInsPerAddress: 5, signInsPerName: 4 });
    await join('anna');
    expect(await inTurn(20, () => fail('Anna ', '203.0.113.1'))).toEqual([403, 403, 403, ...Array(17).fill(429)]);
    expect(await inTurn(4, (index) => fail(`name ${index}`, '203.0.113.1'))).toEqual([403, 403, 429, 429]);
    expect(await signIn('anna', PASSWORD, '203.0.113.2')).toBe(303);
  });

  it('attack 102: wrong passwords from many addresses keep new browsers out, and not a known one', async () => {
    await start({ signInsPerNameAndAddress: 1, signInsPerAddress: 1, signInsPerName: 4 });
    const [known, other] = [await join('anna'), await join('bert')];
    expect(await inTurn(6, (index) => fail('anna', addressOf(index)))).toEqual([403, 403, 403, 403, 429, 429]);
    expect(await signIn('anna', PASSWORD, '192.0.2.1')).toBe(429);
    expect(await signIn('anna', PASSWORD, '192.0.2.1', other)).toBe(429);
    await known.post('/-/sign-out', {}, from('192.0.2.1'));
    expect(await signIn('anna', PASSWORD, '192.0.2.1', known)).toBe(303);
    expect(await signIn('anna', PASSWORD, addressOf(0), known)).toBe(303);
  });

  it('attack 102: 2001:db8::/56 is one address', async () => {
    await start({ signInsPerNameAndAddress: 1 });
    const statuses = await inTurn(4, (index) => fail('anna', `2001:db8:0:${index.toString(16)}::${index}`));
    expect(statuses).toEqual([403, 429, 429, 429]);
    expect(await fail('anna', '2001:db8:0:100::1')).toBe(403);
  });

  it('attack 102: failures of the server count for nothing, nor do refusals by the limits', async () => {
    await start({ signInsPerNameAndAddress: 2, signInsPerAddress: 2, signInsPerName: 2, signInsPerKnownBrowser: 2 });
    const known = await join('anna');
    const { database } = rig.server.state;
    const { password } = (await database.first<{ password: string }>('SELECT password FROM accounts')) ?? {};
    await database.run('UPDATE accounts SET password = ?', 'not a hash');
    expect(await inTurn(4, () => signIn('anna', PASSWORD, '192.0.2.1'))).toEqual([500, 500, 500, 500]);
    await database.run('UPDATE accounts SET password = ?', password ?? '');
    expect(await inTurn(3, () => fail('anna', '203.0.113.1'))).toEqual([403, 403, 429]);
    expect(await inTurn(3, () => signIn('anna', PASSWORD, '192.0.2.1'))).toEqual([429, 429, 429]);
    expect(await fail('bert', '192.0.2.1')).toBe(403);
    expect(await signIn('anna', PASSWORD, '192.0.2.1', known)).toBe(303);
  });
});

describe('a known browser', () => {
  const mark = (reader: Visitor) => reader.cookies.get(`wispr-known-${rig.server.ports.reading}`) ?? '';
  const withMark = (text: string) => {
    const reader = browser();
    reader.cookies.set(`wispr-known-${rig.server.ports.reading}`, text);
    return reader;
  };

  // Known browsers alone may try again after one failure of anybody.
  beforeEach(() => start({ signInsPerNameAndAddress: 1, signInsPerName: 1, signInsPerKnownBrowser: 2 }));

  it('attack 102: has attempts of its own, and not without end', async () => {
    const known = await join('anna');
    await fail('anna', '203.0.113.1');
    const copy = withMark(mark(known));
    expect(await inTurn(3, (index) => fail('anna', addressOf(index), copy))).toEqual([403, 403, 429]);
    expect(await signIn('anna', PASSWORD, '192.0.2.1', copy)).toBe(429);
  });

  it('attack 102: each browser is counted by itself', async () => {
    const first = await join('anna');
    const second = browser();
    expect(await signIn('anna', PASSWORD, '192.0.2.1', second)).toBe(303);
    expect(await inTurn(3, () => fail('anna', '192.0.2.1', withMark(mark(first))))).toEqual([403, 403, 429]);
    expect(await signIn('anna', PASSWORD, '192.0.2.1', second)).toBe(303);
  });

  it('gives nothing but the right to try', async () => {
    const thief = withMark(mark(await join('anna')));
    expect((await thief.get('/-/account')).status).toBe(401);
    expect(await fail('anna', '192.0.2.1', thief)).toBe(403);
  });

  it('is not one with a mark that is altered, cut, made up, too old, or of the password before', async () => {
    const good = mark(await join('anna'));
    await fail('anna', '203.0.113.1');
    const tried = (text: string) => signIn('anna', PASSWORD, '192.0.2.1', withMark(text));
    const altered = Array.from({ length: 52 }, (_, offset) => {
      const bytes = Buffer.from(good, 'base64url');
      bytes[offset] = (bytes[offset] ?? 0) ^ 1;
      return bytes.toString('base64url');
    });
    for (const bad of [...altered, good.slice(1), `${good}A`, 'A'.repeat(good.length), '', '__proto__'])
      expect([bad, await tried(bad)]).toEqual([bad, 429]);
    rig.passTime(KNOWN_BROWSER_LIFETIME + 1);
    await fail('anna', '203.0.113.1'); // the failures before have been forgotten
    expect(await tried(good)).toBe(429);
    rig.passTime(-KNOWN_BROWSER_LIFETIME - 1);
    const code = (await rig.codeFor('anna')).replaceAll('-', '');
    const again = await joinWithPassword(rig.server.state, code, { password: PASSWORD, address: 'test' });
    expect(again.subscriber.name).toBe('anna');
    expect(await tried(good)).toBe(429);
  });
});

describe('attack 46, attack 103: a flood of wrong codes from many addresses', () => {
  const NETWORKS = runs(12, 70);
  const OF_EACH = 16;
  beforeEach(() => start(DEFAULT_LIMITS));

  it('does not keep a good code out of the API; the address that guesses is kept out', async () => {
    const device = await createDeviceKeys(rig.provider);
    const wrong = encodeBindingRequest(device, rig.provider.publisher, WRONG_CODE, nowInSeconds());
    const guess = (network: number) =>
      post(rig.server.url, BINDING_PATH, wrong, { 'x-forwarded-for': addressOf(network) });
    const statuses = await inTurn(NETWORKS * OF_EACH, async (index) => (await guess(index % NETWORKS)).status);
    expect(new Set(statuses)).toEqual(new Set([403]));
    await bind(rig.provider, await rig.codeFor('anna'));
    for (const network of [0, 1]) {
      const more = await inTurn(6, async () => (await guess(network)).status);
      expect(more).toEqual([403, 403, 403, 403, 429, 429]);
    }
  });

  it.each(['cross-site', 'same-site'])('is not sent by a %s page in the name of its visitor', async (site) => {
    const headers = { 'x-forwarded-for': '203.0.113.1', 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' };
    const send = () => post(rig.server.url, BINDING_PATH, new Uint8Array(1), headers);
    expect(new Set(await inTurn(30, async () => (await send()).status))).toEqual(new Set([403]));
    const own = await post(rig.server.url, BINDING_PATH, new Uint8Array(1), { 'x-forwarded-for': '203.0.113.1' });
    expect(own.status).toBe(400);
  });

  it('does not keep a good code out of the reading site; the address that guesses is kept out', async () => {
    const guesser = browser();
    const guess = async (network: number) =>
      (await guesser.post('/-/join', { code: WRONG_CODE, password: PASSWORD }, from(addressOf(network)))).status;
    const statuses = await inTurn(NETWORKS * OF_EACH, (index) => guess(index % NETWORKS));
    expect(new Set(statuses)).toEqual(new Set([403]));
    await join('anna');
    for (const network of [0, 1]) expect(await inTurn(6, () => guess(network))).toEqual([403, 403, 403, 403, 429, 429]);
  });
});

it('limits every route, and lower where something changes, also for what succeeds (attack 135)', async () => {
  const config = { trustedProxies: ['127.0.0.1'], reading: { listen, documents: { listen, inBrowser: true } } };
  rig = await startRig({ limits: { requestsPerAddress: 4, changesPerAddress: 2 }, config });
  const { apps, url, readingUrl, documentsUrl } = rig.server;
  const origins = { api: url, reading: readingUrl, documents: documentsUrl };
  const routes = Object.entries(origins).flatMap(([app, origin]) =>
    routesOf(apps[app as keyof typeof apps]).map((route) => ({ ...route, app, origin })),
  );
  const changing = ({ app, method, path }: (typeof routes)[number]) =>
    method === 'POST' && (app === 'reading' ? path !== '/-/key-requests' : /^.v1.(bindings|renewals)$/.test(path));
  expect(routes.filter(changing).length).toBeGreaterThan(15);
  const unlimited = await Promise.all(
    routes.map(async (route, index) => {
      const headers = { 'x-forwarded-for': addressOf(index), origin: route.origin, 'sec-fetch-site': 'same-origin' };
      const send = async () => {
        const answer = await fetch(route.origin + route.path, { method: route.method, headers, redirect: 'manual' });
        await answer.arrayBuffer();
        return answer.status;
      };
      const statuses = await inTurn(5, send);
      const first = statuses.indexOf(429);
      return first === (changing(route) ? 2 : 4) ? [] : [`${route.app} ${route.method} ${route.path}: ${statuses}`];
    }),
  );
  expect(unlimited.flat()).toEqual([]);
});

it('has 50 times the limit in a network that many people share, also behind a proxy', async () => {
  const limits = { sharedNetworks: ['203.0.113.0/24', '2001:db8::/32'], joinsPerAddress: 1, requestsPerAddress: 2 };
  rig = await startRig({ limits, config: { trustedProxies: ['127.0.0.1'] } });
  const reader = browser();
  const guess = async (address: string) => (await reader.post('/-/join', { code: WRONG_CODE }, from(address))).status;
  for (const shared of ['203.0.113.7', '2001:db8::7'])
    expect(await inTurn(52, () => guess(shared))).toEqual([...Array(50).fill(403), 429, 429]);
  expect(await inTurn(3, () => guess('198.51.100.7'))).toEqual([403, 429, 429]);
  const ask = async (address: string) => (await reader.get('/-/join', { 'x-forwarded-for': address })).status;
  expect(await inTurn(49, () => ask('203.0.113.7'))).toEqual([...Array(48).fill(200), 429]);
});

it('leads a frame back that asks the vault in silence, above a limit or where the server fails', async () => {
  const config = { reading: { listen, documents: { listen, inBrowser: true } } };
  rig = await startRig({ limits: { requestsPerAddress: 3, keyRequestsPerAddress: 2 }, config });
  const ask = async (query: string, destination: string) => {
    const headers = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': destination };
    const { status, headers: sent } = await browser().get(`/-/keys${query}`, headers);
    return [status, sent.location];
  };
  const both = async () => [...(await ask('', 'document')), ...(await ask('?silent=yes', 'iframe'))];
  const back = `${rig.server.documentsUrl}/-/keys`;
  expect(await ask('?silent=yes', 'iframe')).toEqual([200, undefined]);
  const broken = vi.spyOn(rig.server.state.database, 'first').mockRejectedValue(new Error('broken'));
  expect(await both()).toEqual([500, undefined, 303, back]);
  broken.mockRestore();
  const windows = await inTurn(3, () => ask('', 'document'));
  expect(windows.map(([status]) => status)).toEqual([200, 200, 429]);
  expect(await ask('?silent=yes', 'iframe')).toEqual([303, back]);
});

it('counts by Forwarded where the proxies write that, and by no X-Forwarded-For of a client (attack 135)', async () => {
  const config = { trustedProxies: ['127.0.0.1'], proxyHeader: 'forwarded' as const };
  rig = await startRig({ limits: { requestsPerAddress: 2 }, config });
  const ask = async (address: string, index: number) =>
    (await browser().get('/-/join', { forwarded: `for=${address}`, 'x-forwarded-for': addressOf(index) })).status;
  expect(await inTurn(3, (index) => ask('203.0.113.7', index))).toEqual([200, 200, 429]);
  expect(await ask('203.0.113.8', 0)).toBe(200);
});

it('attack 104: in a flood of sign-ins from few addresses, others sign in and join before it is done, and 503 is the answer to the flood alone', async () => {
  await start();
  await join('anna');
  // Hashing waits in the queue of the key server until it is let go on: how fast this machine hashes is of no account then.
  const gate = Promise.withResolvers<void>();
  const { hashing } = rig.server.state;
  const { hash } = hashing;
  const queue = new FairQueue(BOUNDS, [1, 2]);
  const begun: string[] = [];
  const asked = vi.spyOn(hashing, 'hash').mockImplementation((address, work) =>
    queue.run(address, async () => {
      begun.push(address);
      await gate.promise;
      return hash(address, work);
    }),
  );
  let unanswered = 0;
  const flood = Array.from({ length: 120 }, async (_, index) => {
    unanswered++;
    const status = await fail(`no such name ${index}`, addressOf(index % 3));
    unanswered--;
    return status;
  });
  // Two attempts run, and 16 of each of the three addresses wait.
  await expect.poll(() => unanswered).toBe(50);
  const reader = browser();
  const accountCode = await rig.codeFor('bert');
  const others = [
    signIn('anna', PASSWORD, '192.0.2.1'),
    reader.post('/-/join', { code: accountCode, password: PASSWORD }, from('192.0.2.2')).then(({ status }) => status),
  ];
  await expect.poll(() => asked.mock.calls.length).toBe(122);
  gate.resolve();
  expect(await Promise.all(others)).toEqual([303, 303]);
  // An attempt of another address lets those pass that run, and one of each address.
  expect(begun.slice(0, 7)).toEqual(expect.arrayContaining(['192.0.2.1', '192.0.2.2']));
  const statuses = await Promise.all(flood);
  expect(statuses.filter((status) => status === 503)).toHaveLength(70);
  expect(statuses.filter((status) => status === 403)).toHaveLength(50);
});
