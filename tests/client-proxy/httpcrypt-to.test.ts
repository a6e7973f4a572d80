/** Hosts that a Reader reaches over HTTPCrypt alone, through real name servers, Squid and nginx: sites that pass through, and a site that is connected. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startNginx } from '../../cache-config/servers.ts';
import { labelOf } from '../../client-proxy/gateway/label.ts';
import type { ProxyOptions, RunningProxy } from '../../client-proxy/index.ts';
import { formatEndpoint } from '../../core/httpcrypt/endpoint.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { forFile } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { startEndpoint, type TestEndpoint } from '../support/httpcrypt-endpoint.ts';
import { startNameServer, startParentProxy } from '../support/httpcrypt-path.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { runWispr } from '../support/wispr.ts';

const PLAIN = 'plain.example';
const ECHO = 'echo.example';
const LARGE = randomBytes(3_000_000);
const SECRET = 'for subscribers only';
const BROWSER = { 'user-agent': 'Mozilla/5.0 (a browser)', accept: 'text/html,*/*;q=0.8' };
const zone = join(temporaryFolder(), 'plain.zone');
const cleanUp: (() => Promise<unknown>)[] = [];
const rig = forFile(startHostileReaderRig);
let nginx: Awaited<ReturnType<typeof startNginx>>;
let plain: TestEndpoint;
let site: TestEndpoint;
let squid: Awaited<ReturnType<typeof startParentProxy>>;
let names: Awaited<ReturnType<typeof startNameServer>>;
let reader: RunningProxy;

beforeAll(async () => {
  await rig.publisher.publish(rig.host.files, '/a.html', { content: SECRET });
  const root = temporaryFolder();
  writeFileSync(join(root, 'large.bin'), LARGE);
  mkdirSync(join(root, 'sub'));
  writeFileSync(join(root, 'sub', 'index.html'), '<h1>Plain</h1>');
  nginx = await startNginx({ root, readingOrigin: 'https://read.news.example' });
  cleanUp.push(() => nginx.stop());
  plain = await startEndpoint(PLAIN, nginx.port, zone);
  site = await startEndpoint(rig.publisher.site, rig.host.port);
  const echo = await startEndpoint(ECHO, await startBehind());
  endpoints.push(plain, site, echo);
  cleanUp.push(...endpoints.map(({ close }) => close));
  const at = (host: string, { port }: TestEndpoint) => ({ site: host, port });
  squid = await startParentProxy(PLAIN, plain.port, at(rig.publisher.site, site), at(ECHO, echo));
  names = await startNameServer(PLAIN, zone);
  cleanUp.push(() => squid.stop(), names.stop);
  reader = await start();
});
afterAll(async () => {
  for (const close of cleanUp.reverse()) await close();
});

const endpoints: TestEndpoint[] = [];
function start(changes: Partial<ProxyOptions> = {}): Promise<RunningProxy> {
  const httpcryptTo = endpoints.map(({ endpoint }) => endpoint);
  return rig.another({ parentProxy: squid.url, cacheBytes: 0, httpcryptTo, dnsServers: [names.address], ...changes });
}

/** Does what nginx cannot do: says what came, takes a body and gives one, and breaks off. @returns its port */
function startBehind(): Promise<number> {
  const server = createServer(async (request, response) => {
    if (request.url === '/cut') {
      response.writeHead(200).write(LARGE.subarray(0, 200_000));
      setTimeout(() => response.destroy(), 300);
      return;
    }
    if (request.url === '/back') return void request.pipe(response);
    const hash = createHash('sha256');
    for await (const piece of request) hash.update(piece);
    const { method, url, headers } = request;
    response.writeHead(418, { 'X-A': ['1', '2'], 'Set-Cookie': 'a=b' });
    response.end(JSON.stringify({ method, url, headers, hash: hash.digest('hex') }));
  });
  cleanUp.push(() => closeServer(server));
  return listenOnLoopback(server);
}

/** Sends a stream in chunks, and reads what comes back. */
function stream(target: string, body: Iterable<Uint8Array>): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { host: new URL(target).host, 'transfer-encoding': 'chunked' };
    const outgoing = httpRequest({ port: reader.port, path: target, method: 'POST', headers, agent: false });
    outgoing.on('error', reject).on('response', async (answer) => {
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part);
      resolve(Buffer.concat(parts));
    });
    pipeline(Readable.from(body), outgoing).catch(reject);
  });
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('a site that passes through', () => {
  it('answers GET, HEAD, ranges and conditions as the server behind does', async () => {
    const whole = await send(reader.port, `http://${PLAIN}/large.bin`);
    expect([whole.status, whole.complete, sha256(whole.body)]).toEqual([200, true, sha256(LARGE)]);
    expect(whole.headers['content-length']).toBe(String(LARGE.length));
    const head = await send(reader.port, `http://${PLAIN}/large.bin`, { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, String(LARGE.length), 0]);
    const part = await send(reader.port, `http://${PLAIN}/large.bin`, { headers: { range: 'bytes=100-199' } });
    expect([part.status, Buffer.compare(part.body, LARGE.subarray(100, 200))]).toEqual([206, 0]);
    const { etag = '' } = whole.headers;
    const same = await send(reader.port, `http://${PLAIN}/large.bin`, { headers: { 'if-none-match': etag } });
    expect([same.status, same.body.length]).toEqual([304, 0]);
    expect((await send(reader.port, `http://${PLAIN}/none`)).status).toBe((await send(nginx.port, '/none')).status);
  });

  it('passes any method, with its fields and its body, and the answer with its own', async () => {
    const headers = { ...BROWSER, cookie: 'c=d', 'x-b': '3' };
    const sent = { method: 'PATCH', headers, body: LARGE.subarray(0, 50_000) };
    const answer = await send(reader.port, `http://${ECHO}/some/path?query`, sent);
    expect([answer.status, answer.headers['x-a'], answer.headers['set-cookie']]).toEqual([418, '1, 2', ['a=b']]);
    const came = JSON.parse(answer.text);
    expect(came).toMatchObject({ method: 'PATCH', url: '/some/path?query', hash: sha256(sent.body) });
    const own = { 'content-length': '50000', host: ECHO, cookie: 'c=d', 'x-b': '3', via: '1.1 wispr' };
    expect(came.headers).toMatchObject({ ...own, ...BROWSER });
    expect(came.headers['transfer-encoding']).toBeUndefined();
  });

  it('streams both ways', async () => {
    const pieces = Array.from({ length: 30 }, (_, index) => LARGE.subarray(index * 100_000, (index + 1) * 100_000));
    expect(sha256(await stream(`http://${ECHO}/back`, pieces))).toBe(sha256(LARGE));
  });

  it('shows nothing of it on the way but POST, with the User-Agent and Accept of the browser', async () => {
    const before = (await plain.requests()).length;
    await send(reader.port, `http://${PLAIN}/sub/index.html`, { headers: BROWSER });
    const [line = '', ...more] = (await plain.requests()).slice(before).trim().split('\n');
    expect(more).toEqual([]);
    expect(line).toMatch(
      /^POST \/a\/[\w-]{8,24} HTTP\/1\.[01]\|[\w.]+=[\w-]{56,98}\|application\/octet-stream\|\d+\|200\|/,
    );
    expect(line.split('|').slice(-2)).toEqual(Object.values(BROWSER));
    expect(await plain.requests()).not.toContain('sub');
  });

  it('cuts an answer that is cut behind', async () => {
    const answer = await send(reader.port, `http://${ECHO}/cut`);
    expect([answer.status, answer.complete]).toEqual([200, false]);
  });

  it('goes on after the endpoint has lost its keys', async () => {
    expect((await send(reader.port, `http://${PLAIN}/sub/index.html`)).status).toBe(200);
    await plain.restart();
    await names.reload();
    expect((await send(reader.port, `http://${PLAIN}/sub/index.html`)).status).toBe(200);
  });

  it('takes the one of several records in DNS that passes the checks', async () => {
    const all = join(temporaryFolder(), 'all.zone');
    const [good = ''] = readFileSync(zone, 'utf8').match(/.* TXT .*\n/) ?? [];
    const others = [...'ABCD'].map((letter) => good.replace(/"./, `"${letter}`)).filter((each) => each !== good);
    writeFileSync(all, [...others, good].join(''));
    const several = await startNameServer(PLAIN, all);
    onTestFinished(() => several.stop());
    const { port, close } = await start({ dnsServers: [several.address] });
    onTestFinished(close);
    const before = (await plain.requests()).length;
    expect((await send(port, `http://${PLAIN}/sub/index.html`)).text).toBe('<h1>Plain</h1>');
    expect((await plain.requests()).slice(before)).not.toContain('OPTIONS /a/ ');
  });

  it('has the proxy file send the host to the Reader, though it is no connected site', async () => {
    expect((await send(reader.port, '/proxy.pac')).text).toMatch(/^var sites = .*"plain\.example"/m);
  });

  it('opens no tunnel to the host, and switches no protocol there', async () => {
    const socket = connect(reader.port, '127.0.0.1');
    socket.write(`CONNECT ${PLAIN}:80 HTTP/1.1\r\nHost: ${PLAIN}:80\r\n\r\n`);
    const [head] = await new Promise<string[]>((resolve) => socket.once('data', (data) => resolve([data.toString()])));
    socket.destroy();
    expect(head).toMatch(/^HTTP\/1\.1 4\d\d [\s\S]*wispr-refusal: port-refused/i);
    const headers = { connection: 'upgrade', upgrade: 'websocket' };
    const answer = await send(reader.port, `http://${ECHO}/x`, { headers });
    expect(JSON.parse(answer.text).headers.upgrade).toBeUndefined();
  });

  it.each([
    ['TXT', / TXT /],
    ['TLSA', / TLSA /],
    ['AAAA', / AAAA /],
    ['A', / A /],
    ['OPTIONS', / nothing in DNS /],
  ])('finds the key by %s alone', async (by, keep) => {
    const some = await startNameServer(PLAIN, zone, keep);
    onTestFinished(() => some.stop());
    const { port, close } = await start({ dnsServers: [some.address] });
    onTestFinished(close);
    const before = (await plain.requests()).length;
    expect((await send(port, `http://${PLAIN}/sub/index.html`)).text).toBe('<h1>Plain</h1>');
    expect((await plain.requests()).slice(before).includes('OPTIONS /a/ ')).toBe(by === 'OPTIONS');
  });
});

describe('a connected site', () => {
  it('is read by the forward proxy and by the gateway', async () => {
    const before = (await site.requests()).length;
    expect((await send(reader.port, rig.url('/a.html'), { headers: BROWSER })).text).toBe(SECRET);
    const { gateway } = (await reader.sites())[0] ?? { gateway: '' };
    const { host } = new URL(gateway);
    expect(labelOf(new URL(gateway).hostname)).toBeDefined();
    expect((await send(reader.port, '/a.html', { headers: { host } })).text).toBe(SECRET);
    const lines = (await site.requests()).slice(before).trim().split('\n');
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines) {
      expect(line).toMatch(/^(?:POST \/a\/[\w-]{8,24}|OPTIONS \/a\/) /);
      expect(line.split('|').slice(-2)).toEqual(Object.values(BROWSER)); // the Reader says nothing of them inside
    }
    expect(rig.host.requests.every(({ headers }) => headers['user-agent'] === undefined)).toBe(true);
  });

  it('is fetched by wispr fetch', async () => {
    const storage = await rig.anotherStorage();
    const place = ['--data', storage.dataDirectory, '--key-file', storage.keyFile, '--allow-local', '127.0.0.1'];
    const way = ['--parent-proxy', squid.url, '--httpcrypt-to', formatEndpoint(site.endpoint)];
    const { code, stdout, stderr } = await runWispr(['fetch', rig.url('/a.html'), ...place, ...way]);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: SECRET, stderr: expect.anything() });
  });
});

describe('an endpoint that is blocked', () => {
  /** A hop that sees all, and gives one answer. */
  async function blocking(status: number) {
    const seen: string[] = [];
    const hop = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.writeHead(status, { location: 'http://elsewhere.example/', 'retry-after': '7' }).end('no');
    });
    onTestFinished(() => void hop.close());
    return { seen, parentProxy: `http://127.0.0.1:${await listenOnLoopback(hop)}` };
  }

  it.each([200, 302, 403])('attack 115: with %s for everything, nothing goes another way', async (status) => {
    const { seen, parentProxy } = await blocking(status);
    const { port, close } = await start({ parentProxy });
    onTestFinished(close);
    const requests: [string, Parameters<typeof send>[2]][] = [
      [`http://${ECHO}/page`, { headers: BROWSER }],
      [`http://${ECHO}/form`, { method: 'POST', body: SECRET }],
      [rig.url('/a.html'), { headers: BROWSER }],
    ];
    for (const [target, sent] of requests) {
      const answer = await send(port, target, sent);
      expect([target, answer.status, refusalCode(answer)]).toEqual([target, 502, 'channel-key-refused']);
    }
    for (const line of seen) expect(line).toMatch(/^OPTIONS http:\/\/[^/]+\/a\/$/);
  });

  it.each([429, 503])('is passed on as the busy one that it is: %s, and when to ask again', async (status) => {
    const { parentProxy } = await blocking(status);
    const { port, close } = await start({ parentProxy });
    onTestFinished(close);
    const { headers, text, ...answer } = await send(port, `http://${PLAIN}/sub/index.html`);
    expect([answer.status, headers['retry-after'], headers['wispr-refusal'], text]).toEqual([
      status,
      '7',
      undefined,
      '',
    ]);
  });

  it('is said to be no endpoint where it answers so, to programs in plain text', async () => {
    const { parentProxy } = await blocking(404);
    const { port, close } = await start({ parentProxy });
    onTestFinished(close);
    const { headers, text } = await send(port, `http://${ECHO}/page`, { headers: { accept: '*/*' } });
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(text).toMatch(/\(channel-key-refused\): .*it answered 404 to OPTIONS/);
  });

  it('is refused on this machine as any other address there, unless it is allowed', async () => {
    const { ownPort, endpoint } = site;
    const httpcryptTo = [{ ...endpoint, url: `http://127.0.0.1:${ownPort}/a/` }];
    const { port } = await rig.another({ cacheBytes: 0, httpcryptTo, allowLocal: [] });
    const answer = await send(port, `http://127.0.0.1:${ownPort}/page`);
    expect([answer.status, refusalCode(answer)]).toEqual([403, 'local-refused']);
  });

  it('attack 115: keys by DNS and a hop that answers in clear bring no downgrade', async () => {
    const { seen, parentProxy } = await blocking(200);
    const { port, close } = await start({ parentProxy });
    onTestFinished(close);
    const answer = await send(port, `http://${PLAIN}/sub/index.html`, { method: 'PUT', body: SECRET });
    expect(refusalCode(answer)).toBe('channel-key-refused'); // the key by DNS has failed, and there is no other
    for (const line of seen) expect(line).toMatch(/^(?:POST http:\/\/[^/]+\/a\/[\w-]+|OPTIONS http:\/\/[^/]+\/a\/)$/);
  });
});
