/** Everything that is not a connected site passes through untouched: the forward proxy, its tunnels, and a parent proxy. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSquid } from '../../cache-config/servers.ts';
import { parseConnectTo, startProxy } from '../../client-proxy/index.ts';
import { redirect } from '../../client-proxy/network/connect-to.ts';
import type { CodedError } from '../../core/errors.ts';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';
import { refusalCode, send, sendRaw } from '../support/http-client.ts';
import { startRawHost } from '../support/raw-http.ts';
import { type ReaderRig, startReaderRig } from '../support/reader-rig.ts';

let rig: ReaderRig;
beforeAll(async () => {
  rig = await startReaderRig();
});
afterAll(() => rig.close());

const on = (path: string, handler: (request: IncomingMessage, response: ServerResponse) => void) =>
  rig.host.handlers.set(path, handler);
const ask = (path: string, sent: Parameters<typeof send>[2] = {}) =>
  send(rig.proxy.port, `http://elsewhere.example${path}`, sent);

describe('a site that is not connected', () => {
  it('gets the request as it was, without what concerns one connection', async () => {
    let seen: IncomingMessage | undefined;
    on('/echo', (request, response) => {
      seen = request;
      response.writeHead(
        207,
        'As It Was',
        [
          ['Set-Cookie', 'a=1'],
          ['set-cookie', 'b=2'],
          ['X-Odd', 'caf\xe9'],
          ['Connection', 'X-Hop'],
          ['X-Hop', '1'],
        ].flat(),
      );
      response.end(Buffer.from('answer')); // with a string, Node.js would write the head in UTF-8
    });
    const headers = {
      'X-Mixed-Case': 'kept',
      connection: 'close, X-Private',
      'x-private': '1',
      'proxy-authorization': 'Basic x',
      te: 'gzip',
      cookie: 'mine=1',
      via: '1.0 other',
    };
    const answer = await ask('/echo?q=%20a&b', { method: 'PROPFIND', headers });
    expect(seen?.url).toBe('/echo?q=%20a&b');
    expect(seen?.rawHeaders).toContain('X-Mixed-Case');
    expect(seen?.headers).toMatchObject({ host: 'elsewhere.example', cookie: 'mine=1', via: '1.0 other, 1.1 wispr' });
    for (const name of ['x-private', 'proxy-authorization', 'te']) expect(seen?.headers[name]).toBeUndefined();
    expect([answer.status, answer.text, answer.headers.via]).toEqual([207, 'answer', '1.1 wispr']);
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(answer.headers['x-odd']).toBe('caf\xe9');
    expect(answer.headers['x-hop']).toBeUndefined();
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('gets the body of a %s, with a length or in chunks', async (method) => {
    on('/body', async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      response.end(
        `${request.headers['content-length'] ?? request.headers['transfer-encoding']} ${Buffer.concat(parts).length}`,
      );
    });
    const body = Buffer.alloc(300_000, 'x');
    expect((await ask('/body', { method, body, headers: { 'content-length': '300000' } })).text).toBe('300000 300000');
    expect((await ask('/body', { method, body, headers: { 'transfer-encoding': 'chunked' } })).text).toBe(
      'chunked 300000',
    );
  });

  it('answers HEAD, 204 and 304 as such', async () => {
    on('/head', (_, response) => response.writeHead(200, { 'content-length': 12_345 }).end());
    const head = await ask('/head', { method: 'HEAD' });
    expect([head.headers['content-length'], head.body.length, head.complete]).toEqual(['12345', 0, true]);
    for (const status of [204, 304]) {
      on(`/${status}`, (_, response) => response.writeHead(status, { etag: '"x"' }).end());
      expect((await ask(`/${status}`)).status).toBe(status);
    }
  });

  it('is followed nowhere: redirects reach the client', async () => {
    on('/moved', (_, response) => response.writeHead(302, { location: 'http://news.example/a.html' }).end());
    expect((await ask('/moved')).headers.location).toBe('http://news.example/a.html');
  });

  it('may be carrying protected objects, which pass through as they are, and the first page offers to connect it', async () => {
    const object = await rig.publisher.object('/a.html', { content: 'x' });
    rig.host.files.set('/a.html.protected', object);
    const answer = await ask('/a.html.protected');
    expect([answer.body.equals(object), answer.headers['content-type']]).toEqual([true, 'application/cache-protected']);
    const home = await send(rig.proxy.port, '/', { headers: { host: `localhost:${rig.proxy.port}` } });
    expect(home.text).toContain('elsewhere.example');
  });

  it('streams: the first bytes come before the last are sent, and no faster than the client takes them', async () => {
    let finish: () => void = () => undefined;
    on('/stream', (_, response) => {
      response.write('first');
      finish = () => response.end('last');
    });
    const socket = connect(rig.proxy.port, '127.0.0.1');
    let received = '';
    socket.on('data', (part: Buffer) => {
      received += part.toString();
    });
    socket.write(
      'GET http://elsewhere.example/stream HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n',
    );
    await expect.poll(() => received).toContain('first');
    expect(received).not.toContain('last');
    finish();
    await expect.poll(() => received).toContain('last');
    let written = 0;
    on('/flood', (_, response) => {
      const more = () => {
        do written += 65_536;
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', more);
      more();
    });
    const slow = connect(rig.proxy.port, '127.0.0.1').pause();
    slow.write('GET http://elsewhere.example/flood HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n');
    await expect.poll(() => written).toBeGreaterThan(0);
    let before = -1;
    const stands = () => {
      const same = before === written;
      before = written;
      return same;
    };
    await expect.poll(stands, { interval: 300, timeout: 10_000 }).toBe(true);
    expect(written).toBeLessThan(30_000_000);
    slow.destroy();
  });

  it('that breaks off is visibly incomplete', async () => {
    on('/broken', (_, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half', () => response.destroy());
    });
    const answer = await ask('/broken');
    expect([answer.text, answer.complete]).toEqual(['half', false]);
  });
});

describe('requests that are refused', () => {
  it.each([
    ['https://elsewhere.example/', 400, 'bad-request'],
    ['ftp://elsewhere.example/', 400, 'bad-request'],
    ['http://user@elsewhere.example/', 400, 'bad-request'],
    ['http://elsewhere.example:99999/', 400, 'bad-request'],
    ['http:///path', 400, 'bad-request'],
    ['http://a..b/', 400, 'bad-request'],
    ['http://elsewhere.example:25/', 403, 'port-refused'],
    ['http://news.example:8080/', 403, 'port-refused'],
    ['http://NEWS.example.:81/', 403, 'port-refused'],
  ])('%s', async (target, status, code) => {
    const text = await sendRaw(rig.proxy.port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text).toContain(`wispr-refusal: ${code}`);
  });

  it('malformed ones get 400, and the connection closes', async () => {
    for (const bytes of [
      'nonsense\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      'GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ])
      expect(await sendRaw(rig.proxy.port, bytes)).toMatch(/^HTTP\/1.1 400 /);
  });

  it('one that comes back to the proxy under another name', async () => {
    const text = await send(rig.proxy.port, `http://localtest.example:${rig.proxy.port}/`).catch(() => undefined);
    expect(text?.status).toBe(502);
    const looping = await startProxy({ ...(await rig.anotherStorage()), port: 0, connectTo: [] });
    await looping.close();
    const proxy = await startProxy({
      ...(await rig.anotherStorage()),
      port: looping.port,
      connectTo: [parseConnectTo(`:80:127.0.0.1:${looping.port}`)],
    });
    try {
      expect(refusalCode(await send(proxy.port, 'http://elsewhere.example/'))).toBe('loop');
      expect(refusalCode(await send(proxy.port, rig.url('/a.html')))).toBe('loop');
      expect(await connectTo(proxy.port, 'elsewhere.example:80')).toMatch(/^HTTP\/1.1 508 /);
    } finally {
      await proxy.close();
    }
  });
});

/** The answer to a CONNECT request that is refused. */
function connectTo(port: number, authority: string): Promise<string> {
  return sendRaw(port, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
}

describe('tunnels', () => {
  it('carry bytes both ways, untouched, also those that came at once', async () => {
    const server = createTcpServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const socket = connect(rig.proxy.port, '127.0.0.1');
    let received = Buffer.alloc(0);
    socket.on('data', (part: Buffer) => {
      received = Buffer.concat([received, part]);
    });
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\nearly`);
    await expect.poll(() => received.toString('latin1')).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\n\r\nearly$/);
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 256));
    socket.end(bytes);
    await new Promise((resolve) => socket.once('close', resolve));
    expect(received.subarray(-bytes.length).equals(bytes)).toBe(true);
    server.close();
  });

  it.each([
    ['mail.example:25', 403, 'port-refused'],
    ['news.example:80', 403, 'port-refused'],
    ['NEWS.example.:80', 403, 'port-refused'],
    ['news.example', 400, 'bad-request'],
    ['127.0.0.1:9', 502, 'host-unreachable'],
  ])('to %s are refused', async (authority, status, code) => {
    const answer = await connectTo(rig.proxy.port, authority);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain(`wispr-refusal: ${code}`);
  });

  it('to the proxy itself are refused', async () => {
    for (const host of ['127.0.0.1', 'localhost'])
      expect(await connectTo(rig.proxy.port, `${host}:${rig.proxy.port}`)).toMatch(/^HTTP\/1.1 508 /);
  });

  it('end when the proxy stops', async () => {
    const held: Socket[] = [];
    const server = createTcpServer((socket) => held.push(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const proxy = await startProxy({ ...(await rig.anotherStorage()), port: 0 });
    const socket = connect(proxy.port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    await proxy.close();
    await closed;
    for (const one of held) one.destroy();
    server.close();
  });
});

describe('a parent proxy', () => {
  it('gets all plain HTTP in absolute form, documents and the rest, with ranges', async () => {
    const seen: string[] = [];
    const parent = createServer((request, response) => {
      seen.push(
        `${request.method} ${request.url} ${request.headers.host} ${request.headers['proxy-authorization'] ?? ''}`.trim(),
      );
      const path = new URL(request.url ?? '').pathname;
      const file = rig.host.files.get(path);
      const [, first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
      if (!file) response.writeHead(404).end('parent');
      else if (first) response.writeHead(206).end(file.subarray(Number(first), Number(last) + 1));
      else response.end(file);
    });
    const port = await listenOnLoopback(parent);
    const proxy = await startProxy({
      ...(await rig.anotherStorage()),
      port: 0,
      parentProxy: `http://me:secret@127.0.0.1:${port}`,
    });
    try {
      const content = Buffer.alloc(2_000_000, 'film');
      await rig.publisher.publish(rig.host.files, '/film', { content });
      expect((await send(proxy.port, rig.url('/film'))).body.equals(content)).toBe(true);
      const part = await send(proxy.port, rig.url('/film'), { headers: { range: 'bytes=1500000-1500003' } });
      expect([part.status, part.text]).toEqual([206, 'film']);
      expect((await send(proxy.port, 'http://elsewhere.example:8080/x?y')).text).toBe('parent');
      const file = rig.publisher.fileOf('/film');
      expect(seen).toContain(`GET http://news.example${file} news.example Basic bWU6c2VjcmV0`);
      expect(seen.at(-1)).toBe('GET http://elsewhere.example:8080/x?y elsewhere.example:8080 Basic bWU6c2VjcmV0');
      expect(await connectTo(proxy.port, '127.0.0.1:9')).toMatch(/^HTTP\/1.1 502 /); // tunnels go straight
      expect(seen.some((line) => line.startsWith('CONNECT'))).toBe(false);
    } finally {
      await proxy.close();
      await closeServer(parent);
    }
  });

  it('that is not there is named as such, for documents and for the rest: no host is blamed, nothing of it is told', async () => {
    const gone = await startRawHost((_head, socket) => socket.destroy());
    await gone.close();
    const told: CodedError[] = [];
    const parentProxy = `http://me:secret@127.0.0.1:${gone.port}`;
    const onRefusal = (error: CodedError) => told.push(error);
    const proxy = await startProxy({ ...(await rig.anotherStorage()), port: 0, parentProxy, onRefusal });
    try {
      await rig.publisher.publish(rig.host.files, '/far', { content: 'far' });
      for (const url of [rig.url('/far'), 'http://elsewhere.example/x']) {
        const answer = await send(proxy.port, url, { headers: { accept: 'text/html' } });
        expect([answer.status, refusalCode(answer)]).toEqual([502, 'parent-proxy-unreachable']);
        expect(answer.text).toContain('parent proxy');
        expect(answer.text).not.toMatch(new RegExp(`secret|ECONN|:${gone.port}\\b|content host`));
      }
      expect(proxy.health.reports()).toEqual([]);
      expect(told.map(({ cause }) => String(cause))).toEqual(Array(2).fill(expect.stringContaining(`:${gone.port}`)));
    } finally {
      await proxy.close();
    }
  });

  it('that is a real Squid carries documents, and keeps them: the content host is asked once', async () => {
    const squid = await startSquid({ connectLoopback: true });
    const carried = await startReaderRig({
      sites: ({ origin }) => [{ site: 'news.example', content: [origin], reading: 'https://read.news.example' }],
    });
    const content = Buffer.alloc(500_000, 'kept by a cache that cannot read it ');
    const object = await carried.publisher.publish(carried.host.files, '/a.bin', { content });
    const file = carried.publisher.fileOf('/a.bin');
    carried.host.handlers.set(file, (_, response) =>
      response
        .writeHead(200, { 'cache-control': 'public, max-age=600, no-transform', 'content-length': object.length })
        .end(object),
    );
    const proxy = await startProxy({ ...(await carried.anotherStorage()), port: 0, parentProxy: squid.url });
    try {
      for (let reading = 0; reading < 3; reading++)
        expect((await send(proxy.port, carried.url('/a.bin'))).body.equals(content)).toBe(true);
      const part = await send(proxy.port, carried.url('/a.bin'), { headers: { range: 'bytes=400000-400009' } });
      expect([part.status, part.body.equals(content.subarray(400_000, 400_010))]).toEqual([206, true]);
      expect(carried.host.requests.filter(({ url }) => url === file)).toHaveLength(1);
    } finally {
      await proxy.close();
      await carried.close();
      await squid.stop();
    }
  });

  it('that is this very proxy is not asked: nothing goes round in a circle', async () => {
    const looping = await startProxy({ ...(await rig.anotherStorage()), port: 0 });
    await looping.close();
    const parentProxy = `http://127.0.0.1:${looping.port}`;
    const refused: string[] = [];
    const onRefusal = ({ code }: { code: string }) => refused.push(code);
    const proxy = await startProxy({ ...(await rig.anotherStorage()), port: looping.port, parentProxy, onRefusal });
    try {
      const passing = await send(proxy.port, 'http://elsewhere.example/');
      expect([passing.status, refusalCode(passing)]).toEqual([508, 'loop']);
      expect(passing.headers.via ?? '').not.toContain(','); // it was refused here, not by a later passage
      expect(refusalCode(await send(proxy.port, rig.url('/a.html')))).toBe('loop');
      expect(new Set(refused)).toEqual(new Set(['loop']));
    } finally {
      await proxy.close();
    }
  });

  it('that is not an HTTP proxy is refused at the start', async () => {
    for (const parentProxy of ['nonsense', 'https://127.0.0.1:3128', 'http://127.0.0.1/path', 'socks5://127.0.0.1'])
      await expect(startProxy({ ...(await rig.anotherStorage()), port: 0, parentProxy })).rejects.toMatchObject({
        code: 'argument-invalid',
      });
  });

  it.each([
    'https://me:topsecret@h/',
    'http://me:topsecret@h/path',
    'http://me:top/topsecret@h/',
    'http://me:topsecret',
    'http://me%zz:topsecret@h',
  ])('nor is its password shown by the error: %s', async (parentProxy) => {
    const error: unknown = await startProxy({ ...(await rig.anotherStorage()), port: 0, parentProxy }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'argument-invalid' });
    expect(inspect(error, { depth: null, showHidden: true })).not.toContain('topsecret');
  });
});

describe('--connect-to', () => {
  it.each([
    ['a:80:b:81', 'a:80', 'b:81'],
    ['a:80:b:81', 'A:80', 'b:81'],
    ['a:80:b:81', 'c:80', 'c:80'],
    [':80:b:', 'x:80', 'b:80'],
    ['a::b:', 'a:443', 'b:443'],
    ['::b:81', 'x:1', 'b:81'],
    ['a:80::81', 'a:80', 'a:81'],
    ['[::1]:80:[::2]:81', '::1:80', '::2:81'],
  ])('%s sends %s to %s', async (rule, from, to) => {
    const cut = from.lastIndexOf(':');
    const target = redirect({ host: from.slice(0, cut), port: Number(from.slice(cut + 1)) }, [parseConnectTo(rule)]);
    expect(`${target.host}:${target.port}`).toBe(to);
  });

  it.each(['', 'a', 'a:80', 'a:80:b', 'a:80:b:81:c', 'a:x:b:81', 'a:0:b:1', 'a:80:b:99999', '::1:80:b:81'])(
    '%j is refused',
    (rule) => {
      expect(() => parseConnectTo(rule)).toThrow(expect.objectContaining({ code: 'argument-invalid' }));
    },
  );
});
