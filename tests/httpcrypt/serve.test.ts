/** `wispr httpcrypt serve` before nginx and an application. */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { freePort, until } from '../../cache-config/child.ts';
import { forEachInFlight } from '../../node-support/in-flight.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { HttpcryptClient } from '../support/httpcrypt-client.ts';
import { sendRaw, startReverseProxy } from '../support/httpcrypt-path.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { type RunningWispr, startWispr } from '../support/wispr.ts';

const HOST = 'news.example';
const URL_OF = `http://${HOST}/a/`;
const STREAMING =
  'proxy_http_version 1.1; proxy_set_header Host $host; proxy_request_buffering off; proxy_buffering off;';
const folder = temporaryFolder();
const app = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
let nginx: Awaited<ReturnType<typeof startReverseProxy>>;
let serving: RunningWispr<{ endpoint: string; port: number }>;
let client: HttpcryptClient;
/** Requests that came to the application behind nginx. */
const seen: IncomingMessage[] = [];
/** Bytes of the upload under way that have come there. */
let uploaded = 0;
let aborted = 0;

/** The application behind nginx. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  seen.push(request);
  request.on('error', () => undefined);
  if (request.url === '/app/upload') {
    const hash = createHash('sha256');
    uploaded = 0;
    request.once('close', () => request.complete || aborted++);
    for await (const piece of request) {
      uploaded += piece.length;
      hash.update(piece);
    }
    response.end(hash.digest('hex'));
  } else if (request.url === '/app/refuse') {
    response.writeHead(413, { 'content-length': 8 }).write('too much');
    request.once('close', () => response.end()).resume(); // nginx might lose the answer after a reset
  } else if (request.url === '/app/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    response.write('data: 0\n\n');
    response.once('close', () => aborted++);
  } else if (request.url === '/app/cut') {
    response.writeHead(200, { 'content-length': 100_000 }).write(Buffer.alloc(50_000, 65));
    setTimeout(() => response.destroy(), 200);
  } else response.writeHead(200, { 'x-named': 'one' }).end(request.method);
}

beforeAll(async () => {
  const nginxPort = await freePort();
  nginx = await startReverseProxy(nginxPort, await listenOnLoopback(app), STREAMING);
  const to = `http://127.0.0.1:${nginxPort}`;
  serving = await startWispr(`httpcrypt serve --to ${to} --url ${URL_OF} --listen 127.0.0.1:0 --zone zone`.split(' '), {
    cwd: folder,
  });
  client = new HttpcryptClient(serving.ready.endpoint, serving.ready.port);
});
afterAll(async () => {
  await serving.stop();
  await nginx.stop();
  await closeServer(app);
});

const field = (fields: readonly string[], name: string) => fields[fields.indexOf(name) + 1];
const fresh = () => client.send({ method: 'OPTIONS', path: '*' });

async function* zeros(pieces: number, length = 65_536): AsyncGenerator<Uint8Array> {
  for (let number = 0; number < pieces; number++) yield new Uint8Array(length);
}

describe('wispr httpcrypt serve before nginx', () => {
  it('makes the channel key once, for its owner only, and says the endpoint and the DNS records', () => {
    expect(serving.ready.endpoint).toMatch(/^http:\/\/news\.example\/a\/#[\w-]{43}$/);
    expect(statSync(join(folder, 'httpcrypt.key')).mode & 0o777).toBe(0o600);
    const zone = readFileSync(join(folder, 'zone'), 'utf8');
    const count = (type: string) => zone.split('\n').filter((line) => line.includes(` 3600 IN ${type} `)).length;
    expect(['TXT', 'TLSA', 'AAAA', 'A'].map(count)).toEqual([1, 1, 8, 35]);
    expect(zone).toMatch(/^_80\._tcp\.httpcrypt\.news\.example\. 3600 IN TLSA 3 1 0 [0-9a-f]{208}$/m);
  });

  it('streams an upload of any length, and holds it back where it is not taken', async () => {
    await fresh();
    const pieces = 320; // 20 MiB
    const up = await client.send({ method: 'POST', path: '/app/upload', body: zeros(pieces) });
    const hash = createHash('sha256');
    for await (const piece of zeros(pieces)) hash.update(piece);
    expect([up.status, up.content.toString()]).toEqual([200, hash.digest('hex')]);
    const document = randomBytes(200_000);
    const small = await client.send({ method: 'PUT', path: '/app/upload', body: document });
    expect(small.content.toString()).toBe(createHash('sha256').update(document).digest('hex'));
    const refused = await client.send({ method: 'POST', path: '/app/refuse', body: zeros(3) });
    expect([refused.status, refused.content.toString()]).toEqual([413, 'too much']);
  });

  it('says who asks and for which host, and passes on what belongs to no connection', async () => {
    const spoofed =
      'x-forwarded-for 192.0.2.1 forwarded for=192.0.2.1 x-real-ip 192.0.2.1 x-forwarded-host evil.example';
    const fields = `${spoofed} connection x-secret x-secret 1`.split(' ');
    const came = await client.send({
      path: '/app/fields?a=b',
      fields: [...fields, 'x-kept', 'é', 'expect', '100-continue'],
      body: Buffer.from('GET /app/other HTTP/1.1\r\n\r\n'),
    });
    expect([came.status, field(came.fields, 'x-named')]).toEqual([200, 'one']);
    expect(came.fields.filter((name) => name === 'connection' || name === 'transfer-encoding')).toEqual([]);
    const { url, headers } = seen.at(-1) ?? {};
    expect(url).toBe('/app/fields?a=b');
    expect(headers).toMatchObject({ host: HOST, 'x-forwarded-for': '127.0.0.1', 'x-kept': 'é' });
    for (const name of [
      'x-secret',
      'forwarded',
      'x-real-ip',
      'x-forwarded-host',
      'content-length',
      'transfer-encoding',
    ])
      expect(Object.keys(headers ?? {})).not.toContain(name);
  });

  it('passes on events at once, and ends what is behind when the client leaves', async () => {
    const begin = performance.now();
    const before = aborted;
    let outside: { destroy(): void } | undefined;
    const came = await client.send({
      path: '/app/events',
      begun: (outgoing) => {
        outside = outgoing;
      },
      heard: (piece) => {
        expect(piece.toString()).toBe('data: 0\n\n');
        expect(performance.now() - begin).toBeLessThan(5000);
        outside?.destroy();
      },
    });
    expect(came.error).toBe('channel-unreadable');
    expect(await until(async () => aborted === before + 1, 10_000)).toBe(true);
  });

  it('attack 112: an answer that breaks off behind is seen to be cut, after what has come of it', async () => {
    const came = await client.send({ path: '/app/cut' });
    expect([came.outside, came.status, came.error]).toEqual([200, 200, 'channel-unreadable']);
    expect(came.content.length).toBeGreaterThan(10_000);
    expect(came.content.length).toBeLessThan(50_001);
  });

  it('attack 112: an upload that is cut or altered ends what is behind, and is refused', async () => {
    await fresh();
    const before = aborted;
    async function* broken() {
      yield* zeros(4);
      await until(async () => uploaded > 0, 10_000);
      throw new Error('the client leaves');
    }
    await expect(client.send({ method: 'POST', path: '/app/upload', body: broken() })).rejects.toThrow();
    expect(await until(async () => aborted === before + 1, 10_000)).toBe(true);
    await fresh();
    let outgoing: { write(bytes: Uint8Array): boolean; end(): void } | undefined;
    async function* altered() {
      yield* zeros(4);
      await until(async () => uploaded > 0, 10_000);
      outgoing?.write(new Uint8Array(16_384));
      outgoing?.write(new Uint8Array(16_384));
      yield* zeros(1);
    }
    const begun = (request: NonNullable<typeof outgoing>) => {
      outgoing = request;
    };
    const came = await client.send({ method: 'POST', path: '/app/upload', body: altered(), begun });
    expect([came.outside, came.status]).toEqual([500, 0]);
    expect(await until(async () => aborted === before + 2, 10_000)).toBe(true);
    for (const wrong of [4 * 65_536 - 1, 4 * 65_536 + 1]) {
      await fresh();
      const fields = ['content-length', String(wrong)];
      const { outside } = await client.send({ method: 'POST', path: '/app/upload', fields, body: zeros(4) });
      expect(outside).toBe(500);
    }
    expect(await until(async () => aborted === before + 4, 10_000)).toBe(true);
  });

  it('attack 109: takes what may not be repeated by a ticket only, once', async () => {
    client.ticket = undefined;
    const before = seen.length;
    const early = await client.send({ method: 'DELETE', path: '/app/one' });
    expect([early.outside, early.status, seen.length]).toEqual([200, 425, before]);
    const { ticket } = early;
    const done = await client.send({ method: 'DELETE', path: '/app/one', ticket });
    expect([done.status, done.content.toString()]).toEqual([200, 'DELETE']);
    expect((await client.send({ method: 'DELETE', path: '/app/one', ticket })).outside).toBe(500);
    expect(seen.length).toBe(before + 1);
  });

  it('looks like any other server from outside', async () => {
    const at = `http://127.0.0.1:${serving.ready.port}`;
    const all = [
      await sendRaw(`${at}/`, 'GET', undefined),
      await sendRaw(`${at}/a/x`, 'GET', undefined),
      await sendRaw(`${at}/a/x`, 'POST', 'sid=1', new Uint8Array(2000)),
      await sendRaw(`${at}/a/`, 'OPTIONS', undefined),
    ];
    expect(all.map(({ status }) => status)).toEqual([404, 404, 500, 200]);
    expect(all[3]?.body.toString()).toMatch(/^[\w-]{139}\n[\w-]{0,255}$/);
    for (const { body, headers } of all) expect(`${body} ${headers.join(' ')}`).not.toMatch(/wispr|httpcrypt|channel/i);
  });

  it('attack 46: refuses the requests of an address that asks too often, and no other', async () => {
    const at = `http://127.0.0.1:${serving.ready.port}/a/`;
    const ask = (address: string) =>
      fetch(at, { method: 'OPTIONS', headers: { 'x-forwarded-for': `203.0.113.9, ${address}` } }).then(
        ({ status }) => status,
      );
    await forEachInFlight(Array(1200).keys(), 8, async () => void (await ask('2001:db8:0:1::1')));
    expect(await Promise.all([ask('2001:db8:0:1::2'), ask('2001:db8:0:100::1'), ask('192.0.2.7')])).toEqual([
      429, 200, 200,
    ]);
  });

  it('ends cleanly, has the same endpoint again, and answers 502 inside where there is no server', async () => {
    const { endpoint } = serving.ready;
    const slow = client.send({ path: '/app/events' });
    await wait(200);
    const { code, stderr } = await serving.stop();
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^wispr: ready on port \d+, before http:\/\/127\.0\.0\.1:\d+\n$/),
    ]);
    expect((await slow).error).toBe('channel-unreadable');
    const to = `http://127.0.0.1:${await freePort()}`;
    serving = await startWispr(['httpcrypt', 'serve', '--to', to, '--url', URL_OF, '--listen', '127.0.0.1:0'], {
      cwd: folder,
    });
    expect(serving.ready.endpoint).toBe(endpoint);
    const again = new HttpcryptClient(endpoint, serving.ready.port);
    expect(await again.send({})).toMatchObject({ outside: 200, status: 502 });
    const said = (await serving.stop()).stderr.split('\n').filter((line) => line.includes(`${to} gave no answer`));
    expect(said).toEqual([expect.stringContaining('ECONNREFUSED')]);
  });
});
