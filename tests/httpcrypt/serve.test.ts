/** `wispr httpcrypt serve` before a plain nginx, and before the reading site of a key server. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { accepts, freePort, startChild, until } from '../../cache-config/child.ts';
import { HttpcryptClient } from '../support/httpcrypt-client.ts';
import { sendRaw } from '../support/httpcrypt-path.ts';
import { startRig, temporaryFolder } from '../support/keyserver-rig.ts';
import { type RunningWispr, startWispr } from '../support/wispr.ts';

const HOST = 'news.example';
const URL_OF = `http://${HOST}/a/`;
const folder = temporaryFolder();
const document = randomBytes(200_000);
const cleanUp: (() => Promise<unknown>)[] = [];
let serving: RunningWispr<{ endpoint: string; port: number }>;
let client: HttpcryptClient;
/** Requests that came to the application behind nginx. */
const seen: IncomingMessage[] = [];
/** Bytes of the upload under way that have come there. */
let uploaded = 0;
let aborted = 0;

/** Answers behind nginx as static files cannot. */
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
  const app = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await once(app.listen(0, '127.0.0.1'), 'listening');
  const [nginxPort, port] = [await freePort(), await freePort()];
  mkdirSync(join(folder, 'files'));
  writeFileSync(join(folder, 'files/document'), document);
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    join(folder, 'nginx.conf'),
    `${user} daemon off; pid nginx.pid; error_log stderr; events {}
    http {
      access_log off; client_max_body_size 1g; proxy_read_timeout 600;
      client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
      server {
        listen 127.0.0.1:${nginxPort};
        location /files/ { root ${folder}; }
        location /app/ {
          proxy_pass http://127.0.0.1:${(app.address() as AddressInfo).port};
          proxy_http_version 1.1; proxy_set_header Host $host; proxy_request_buffering off; proxy_buffering off;
        }
      }
    }`,
  );
  const nginx = startChild(['nginx', '-p', `${folder}/`, '-c', 'nginx.conf'], folder, { stopSignal: 'SIGTERM' });
  expect(await until(() => accepts(nginxPort), 20_000)).toBe(true);
  serving = await startWispr(
    `httpcrypt serve --to http://127.0.0.1:${nginxPort} --url ${URL_OF} --listen 127.0.0.1:${port} --zone zone`.split(
      ' ',
    ),
    { cwd: folder },
  );
  client = new HttpcryptClient(serving.ready.endpoint, serving.ready.port);
  cleanUp.push(
    () => serving.stop(),
    nginx.stop,
    async () => {
      app.closeAllConnections();
      app.close();
    },
  );
});
afterAll(async () => {
  for (const each of cleanUp) await each();
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

  it('passes on a document, its head alone, a range of it, and that it has not changed', async () => {
    const whole = await client.send({ path: '/files/document' });
    expect([whole.outside, whole.status, whole.error]).toEqual([200, 200, undefined]);
    expect(whole.content.equals(document)).toBe(true);
    expect(whole.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'cache-control': 'no-store, no-transform',
    });
    expect(field(whole.fields, 'server')).toMatch(/^nginx/);
    const head = await client.send({ method: 'HEAD', path: '/files/document' });
    expect([head.status, head.content.length, field(head.fields, 'content-length')]).toEqual([200, 0, '200000']);
    const range = await client.send({ path: '/files/document', fields: ['range', 'bytes=1000-1999'] });
    expect([range.status, field(range.fields, 'content-range')]).toEqual([206, 'bytes 1000-1999/200000']);
    expect(range.content.equals(document.subarray(1000, 2000))).toBe(true);
    const etag = field(whole.fields, 'etag') ?? '';
    const same = await client.send({ path: '/files/document', fields: ['if-none-match', etag] });
    expect([same.status, same.content.length, same.error]).toEqual([304, 0, undefined]);
    expect(same.headers['content-length']).toBe(String(same.length));
    const missing = await client.send({ path: '/files/nothing' });
    expect([missing.outside, missing.status]).toEqual([200, 404]);
  });

  it('streams an upload of any length, and holds it back where it is not taken', async () => {
    await fresh();
    const pieces = 1600; // 100 MiB
    const up = await client.send({ method: 'POST', path: '/app/upload', body: zeros(pieces) });
    const hash = createHash('sha256');
    for await (const piece of zeros(pieces)) hash.update(piece);
    expect([up.status, up.content.toString()]).toEqual([200, hash.digest('hex')]);
    const small = await client.send({ method: 'PUT', path: '/app/upload', body: document });
    expect(small.content.toString()).toBe(createHash('sha256').update(document).digest('hex'));
    const refused = await client.send({ method: 'POST', path: '/app/refuse', body: zeros(3) });
    expect([refused.status, refused.content.toString()]).toEqual([413, 'too much']);
  });

  it('says who asks and for which host, and passes on what belongs to no connection', async () => {
    const spoofed = 'x-forwarded-for 192.0.2.1 forwarded for=192.0.2.1 x-real-ip 192.0.2.1';
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
    for (const name of ['x-secret', 'forwarded', 'x-real-ip', 'content-length', 'transfer-encoding'])
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
    for (let number = 0; number < 1200; number++) await ask('2001:db8:0:1::1');
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
  });
});

it('takes HTTPCrypt for the reading site of a key server', async () => {
  const rig = await startRig({});
  const to = `http://127.0.0.1:${rig.server.ports.reading}`;
  const reading = new URL(rig.server.origins.reading);
  const url = `http://${reading.host}/a/`;
  const args = ['httpcrypt', 'serve', '--to', to, '--url', url, '--listen', '127.0.0.1:0', '--key', 'other.key'];
  const running = await startWispr<{ endpoint: string; port: number }>(args, { cwd: folder });
  const there = new HttpcryptClient(running.ready.endpoint, running.ready.port);
  await rig.join('ada', {}, 'the password of ada');
  const refused = await there.send({ path: '/-/account' });
  expect([refused.status, String(refused.content)]).toEqual([401, await (await fetch(`${to}/-/account`)).text()]);
  const form = ['content-type', 'application/x-www-form-urlencoded', 'origin', reading.origin];
  const body = Buffer.from(new URLSearchParams({ name: 'ada', password: 'the password of ada' }).toString());
  const entered = await there.send({ method: 'POST', path: '/-/sign-in', fields: form, body });
  expect(entered.status).toBe(303);
  const cookies = entered.fields.filter((_, index) => entered.fields[index - 1] === 'set-cookie');
  const cookie = cookies.map((each) => each.split(';')[0]).join('; ');
  const account = await there.send({ path: '/-/account', fields: ['cookie', cookie] });
  expect([account.status, String(account.content)]).toEqual([200, expect.stringContaining('ada')]);
  await running.stop();
  await rig.close();
});
