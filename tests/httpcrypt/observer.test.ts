/** Captures of HTTPCrypt: docs/spec/httpcrypt.md, section 8, beside an ordinary exchange through the same nginx. `-u` rewrites docs/generated/httpcrypt-capture.txt. */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { freePort } from '../../cache-config/child.ts';
import { type ProxyOptions, parseConnectTo } from '../../client-proxy/index.ts';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { toHex } from '../../core/encoding/hex.ts';
import type { HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { HttpcryptChannel } from '../../httpcrypt/client/channel.ts';
import { listenOnLoopback } from '../support/content-host.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { send } from '../support/http-client.ts';
import { startEndpoint } from '../support/httpcrypt-endpoint.ts';
import { startReverseProxy } from '../support/httpcrypt-path.ts';
import { CleanUp, startReaderOf, storageIn, temporaryFolder } from '../support/reader-rig.ts';
import {
  type CapturedExchange,
  type CapturedMessage,
  fieldOf,
  type RecordingRelay,
  startRecordingRelay,
} from '../support/recording-relay.ts';

const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0)', accept: 'text/html,*/*;q=0.8' };
/** Names of a request outside, in this order and case. */
const FIELDS = ['host', 'connection', 'user-agent', 'accept', 'content-type', 'cookie', 'content-length'];
/** docs/spec/httpcrypt.md, section 4. */
const NAMES = 'session sessionid sid SID connect.sid PHPSESSID JSESSIONID laravel_session'.split(' ');
const GET = { method: 'GET', fields: [] };
const agent = new Agent();
const cleanUp = new CleanUp();
let sealed: RecordingRelay;
let ordinary: RecordingRelay;
let endpoint: HttpcryptEndpoint;
let startAnother: (options?: Partial<ProxyOptions>) => Promise<number>;
let ask: (path: string, options?: Parameters<typeof send>[2]) => ReturnType<typeof send>;

beforeAll(async () => {
  const folder = await temporaryFolder(cleanUp);
  const app = createServer(async (request, response) => {
    for await (const _ of request);
    const { url = '' } = request;
    const hasFailed = url === '/b/fail';
    const body = hasFailed ? Buffer.from('failed') : Buffer.alloc(Number(/\d+$/.exec(url)?.[0] ?? 1), 65);
    response.writeHead(hasFailed ? 500 : 200, {
      'Content-Type': hasFailed ? 'text/plain' : 'application/octet-stream',
      'Content-Length': body.length,
      'Cache-Control': 'no-store',
    });
    response.end(body);
  });
  const appPort = await listenOnLoopback(app);
  cleanUp.add(async () => app.close().closeAllConnections());
  [sealed, ordinary] = [cleanUp.use(await startRecordingRelay()), cleanUp.use(await startRecordingRelay())];
  const front = cleanUp.use(await startEndpoint(`127.0.0.1:${sealed.port}`, appPort));
  ({ endpoint } = front);
  sealed.to(front.port);
  const nginxPort = await freePort();
  cleanUp.add((await startReverseProxy(nginxPort, appPort)).stop);
  ordinary.to(nginxPort);
  let readers = 0;
  startAnother = async (options) => {
    const storage = storageIn(join(folder, `reader-${++readers}`));
    return (await startReaderOf(cleanUp, { ...storage, httpcryptTo: [endpoint], ...options })).proxy.port;
  };
  const port = await startAnother();
  ask = (path, options) =>
    send(port, `http://127.0.0.1:${sealed.port}${path}`, { ...options, headers: { ...BROWSER, ...options?.headers } });
});
afterAll(async () => {
  await agent.destroy();
  await cleanUp.run();
});

/** A request of the same HTTP library that says the same of the client, and a body of as many bytes, to a server behind the same nginx. */
async function askOrdinarily({ body }: CapturedMessage, answer = 1000): Promise<void> {
  const headers = { ...BROWSER, 'content-type': 'application/octet-stream', cookie: `sid=${randomName(64)}` };
  const { body: came } = await request(`http://127.0.0.1:${ordinary.port}/b/${randomName(12)}?${answer}`, {
    dispatcher: agent,
    method: 'POST',
    headers,
    body: randomBytes(body.length),
  });
  await came.dump();
}

const randomName = (length: number) => toBase64url(randomBytes(length)).slice(0, length);
const namesOf = ({ fields }: CapturedMessage) => fields.map(([name]) => name);
const cookieOf = (message: CapturedMessage) => {
  const [, name = '', value] = /^([\w.]+)=([\w-]+)$/.exec(fieldOf(message, 'cookie') ?? '') ?? [];
  const bytes = fromBase64url(value) ?? new Uint8Array(0);
  return { name, length: bytes.length, keyId: toHex(bytes.subarray(0, 10)), shown: bytes.subarray(10, 42) };
};
const posts = () => sealed.exchanges().filter(({ request }) => request.start.startsWith('POST '));

/** Reads the length of a body: the number of whole chunks before the last one, the KiB of the last, and what was added at random. */
function sizeOf({ body }: CapturedMessage): { whole: number; kib: number; added: number } {
  const whole = Math.ceil((body.length - 16) / 16_384) - 1;
  const plain = body.length - 16 - whole * 16_384 - 16;
  return plain === 16_368
    ? { whole, kib: 16, added: 0 }
    : { whole, kib: Math.floor(plain / 1024), added: plain % 1024 };
}

/** Tells whether 32 bytes are a point of Curve25519: v² = u³ + 486662 u² + u has a root modulo 2²⁵⁵ − 19 (Euler). */
function isOnCurve(shown: Uint8Array): boolean {
  const p = 2n ** 255n - 19n;
  const u = BigInt(`0x${toHex(shown.toReversed())}`) % 2n ** 255n;
  let [power, base] = [1n, (u ** 3n + 486_662n * u ** 2n + u) % p];
  for (let exponent = (p - 1n) / 2n; exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) power = (power * base) % p;
    base = (base * base) % p;
  }
  return power !== p - 1n;
}

describe('an HTTPCrypt exchange in a capture', () => {
  it('attack 150: is a POST like one of the same client and length, field by field, and so is its answer', async () => {
    expect((await ask('/1000')).text).toBe('A'.repeat(1000));
    const [options, ...rest] = sealed.exchanges();
    expect([options?.request.start, rest.length]).toEqual(['OPTIONS /a/ HTTP/1.1', 1]);
    const [exchange] = rest;
    if (!options || !exchange) throw new Error('unreachable');
    await askOrdinarily(exchange.request, exchange.answer.body.length);
    const [beside] = ordinary.exchanges();
    if (!beside) throw new Error('unreachable');
    for (const side of ['request', 'answer'] as const) expect(namesOf(exchange[side])).toEqual(namesOf(beside[side]));
    expect(namesOf(exchange.request)).toEqual(FIELDS);
    expect(exchange.request.start).toMatch(/^POST \/a\/[\w-]{8,24} HTTP\/1\.1$/);
    expect(exchange.answer.start).toBe(beside.answer.start);
    for (const name of ['connection', 'user-agent', 'accept', 'content-type', 'content-length'])
      expect([name, fieldOf(exchange.request, name)]).toEqual([name, fieldOf(beside.request, name)]);
    for (const name of ['server', 'connection', 'content-type', 'content-length'])
      expect([name, fieldOf(exchange.answer, name)]).toEqual([name, fieldOf(beside.answer, name)]);
    expect(fieldOf(exchange.answer, 'cache-control')).toBe('no-store, no-transform');
    await expect(besideEachOther(exchange, beside)).toMatchFileSnapshot('../../docs/generated/httpcrypt-capture.txt');
    expect(namesOf(options.request)).toEqual(['host', 'connection', 'user-agent', 'accept']);
    expect([options.answer.start, fieldOf(options.answer, 'content-type')]).toEqual(['HTTP/1.1 200 OK', 'text/plain']);
    expect(options.answer.body.toString()).toMatch(/^[\w-]{139}\n[\w-]{0,255}$/);
  });

  it('attack 150: shows random bytes: lengths in steps of a KiB and up to 63 bytes, one key id, names and cookies that differ', async () => {
    sealed.forget();
    const asked = [...Array<string>(16).fill('/10'), '/3000', '/40000', '/300000'];
    for (const path of asked) await ask(path);
    const captured = posts();
    expect(captured).toHaveLength(asked.length);
    const sizes = captured.flatMap(({ request, answer }) => [sizeOf(request), sizeOf(answer)]);
    expect(sizes.filter(({ kib, added }) => kib < 1 || added > 63)).toEqual([]);
    expect(
      captured
        .slice(-3)
        .map(({ answer }) => sizeOf(answer))
        .map(({ whole, kib }) => whole * 16 + kib),
    ).toEqual([...[4, 40, 294]]);
    for (const side of ['request', 'answer'] as const) {
      const equal = captured.slice(0, 16).map((exchange) => exchange[side]);
      expect(new Set(equal.map((message) => sizeOf(message).added)).size).toBeGreaterThan(4);
      for (const at of [0, 500, 1000]) expect(new Set(equal.map(({ body }) => body[at])).size).toBeGreaterThan(4);
    }
    const cookies = captured.map(({ request }) => cookieOf(request));
    expect(new Set(cookies.map(({ keyId }) => keyId)).size).toBe(1);
    expect(new Set(cookies.map(({ name }) => name)).size).toBe(1);
    expect(NAMES).toContain(cookies[0]?.name);
    expect(new Set(cookies.map(({ shown }) => toHex(shown))).size).toBe(asked.length);
    expect(new Set(cookies.map(({ length }) => length)).size).toBeGreaterThan(4);
    expect(cookies.filter(({ length }) => length < 42 || length > 73)).toEqual([]);
    expect(new Set(captured.map(({ request }) => request.start)).size).toBe(asked.length);
  });

  it('attack 150: shows a point of the curve where there is no ticket, and with one what may be none', async () => {
    sealed.forget();
    for (let round = 0; round < 24; round++) {
      const { body } = await new HttpcryptChannel({ dispatcher: agent, endpoint }).send({ ...GET, path: '/1' });
      for await (const _ of body);
    }
    const fresh = posts().map(({ request }) => cookieOf(request).shown);
    expect(fresh.map(isOnCurve)).toEqual(Array(24).fill(true));
    expect(new Set(fresh.map((shown) => (shown[31] ?? 0) >> 7)).size).toBe(2);
    sealed.forget();
    for (let round = 0; round < 30; round++) await ask('/1');
    const shown = posts().map(({ request }) => cookieOf(request).shown);
    expect(shown.filter(isOnCurve).length).toBeLessThan(30);
    expect(shown.filter(isOnCurve).length).toBeGreaterThan(0);
  });

  it('attack 150: has no name of ours in any byte, nor of what is asked for, and answers what it cannot open as a server that failed', async () => {
    await ask('/1');
    const { request: sent } = posts().at(-1) ?? {};
    const [, path = ''] = sent?.start.split(' ') ?? [];
    const again = await send(sealed.port, path, {
      method: 'POST',
      headers: { cookie: fieldOf(sent as CapturedMessage, 'cookie') ?? '' },
      body: sent?.body ?? '',
    });
    await send(ordinary.port, '/b/fail', { method: 'POST', headers: { cookie: 'sid=1' }, body: sent?.body ?? '' });
    const [ours, theirs] = [sealed, ordinary].map((relay) => relay.exchanges().at(-1)?.answer);
    expect([again.status, again.text]).toEqual([500, 'Internal Server Error\n']);
    expect([ours?.start, ours && namesOf(ours)]).toEqual([theirs?.start, theirs && namesOf(theirs)]);
    await ask('/1?secret-document', { headers: { 'x-secret': 'secret-value' } });
    await ask('/1', { method: 'POST', body: 'secret-content' });
    expect(sealed.bytes()).not.toMatch(/wispr|httpcrypt|secret|x25519|chacha/i);
  });

  it('attack 150: comes in chunks of HTTP where its content does, and after a short one where it may not be repeated', async () => {
    const other = await startAnother();
    sealed.forget();
    const came = await send(other, `http://127.0.0.1:${sealed.port}/1`, {
      method: 'POST',
      headers: { ...BROWSER, 'transfer-encoding': 'chunked' },
      body: 'content',
    });
    expect(came.status).toBe(200);
    const [options, ...rest] = sealed.exchanges();
    expect([options?.request.start, ...rest.map(({ request }) => request.start.split(' ')[0])]).toEqual([
      ...['OPTIONS /a/ HTTP/1.1', 'POST', 'POST'],
    ]);
    expect(rest.map(({ request }) => namesOf(request))).toEqual([
      FIELDS,
      [...FIELDS.slice(0, -1), 'transfer-encoding'],
    ]);
    expect(rest.map(({ request }) => sizeOf(request)).map(({ whole, kib }) => [whole, kib])).toEqual([
      [0, 1],
      [0, 1],
    ]);
  });

  it('attack 150: asks DNS for names that begin with httpcrypt, and for nothing else', async () => {
    const names = await startDnsServer();
    const key = toBase64url(ed25519KeyPair(randomBytes(32)).publicKey);
    const other = await startAnother({
      httpcryptTo: [{ url: 'http://news.example/a/', key }],
      dnsServers: [names.address],
      connectTo: [parseConnectTo(`news.example:80:127.0.0.1:${sealed.port}`)],
    });
    expect((await send(other, 'http://news.example/')).status).toBe(502);
    await names.close();
    expect([...new Set(names.questions)].sort()).toEqual([
      ...['_80._tcp.httpcrypt.news.example', 'httpcrypt.news.example'],
    ]);
  });
});

/** The heads of both exchanges in two columns; what is random in them is left out. */
function besideEachOther(ours: CapturedExchange, theirs: CapturedExchange): string {
  const varies = /^(?:date|content-length)$/i;
  const lines = ({ start, fields, body }: CapturedMessage) => [
    start.replace(/[\w-]{8,24}(?= HTTP)|[\w-]+\?\d+(?= HTTP)/, '…'),
    ...fields.map(([name, value]) => {
      const shown = varies.test(name) ? '…' : value.replace(/(?<=:)\d+$|(?<==)[\w-]{20,}$|(?<=nginx\/).*/, '…');
      return `${name}: ${shown.replace(/^[\w.]+(?==…)/, '…')}`;
    }),
    '',
    `(${body.length > 0 ? 'random bytes' : 'nothing'})`,
  ];
  const [left, right] = [ours, theirs].map(({ request, answer }) => [...lines(request), '', ...lines(answer)]);
  const rows = ['HTTPCrypt', ...(left ?? [])].map((line, index) => {
    const beside = ['an ordinary POST', ...(right ?? [])][index] ?? '';
    return `${line.padEnd(72)}${beside}`.trimEnd();
  });
  return `${rows.join('\n')}\n`;
}
