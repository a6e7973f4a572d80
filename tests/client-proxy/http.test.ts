/** The forward proxy by RFC 9110 and RFC 9112: what concerns one connection ends here, and all the rest passes as it was. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { refusalCode, send, sendRaw } from '../support/http-client.ts';
import { type RawClient, rawClient } from '../support/raw-client.ts';
import { startRawHost } from '../support/raw-host.ts';
import { type ReaderRig, startReaderRig } from '../support/reader-rig.ts';

const ELSEWHERE = 'http://elsewhere.example';

let rig: ReaderRig;
/** A host that answers in bytes; what it answers is up to each test. */
let raw: Awaited<ReturnType<typeof startRawHost>>;
let answer: (head: string, socket: Socket) => void;
const heads: string[] = [];
const clients: RawClient[] = [];
beforeAll(async () => {
  raw = await startRawHost((head, socket) => {
    heads.push(head);
    answer(head, socket);
  });
  rig = await startReaderRig({});
  await rig.restart({
    connectTo: [
      parseConnectTo(`raw.example:80:127.0.0.1:${raw.port}`),
      parseConnectTo(`:80:127.0.0.1:${rig.host.port}`),
    ],
  });
});
afterAll(async () => {
  await rig.close();
  await raw.close();
});
afterEach(() => {
  heads.length = 0;
  for (const client of clients.splice(0)) client.close();
});

const on = (path: string, handler: (request: IncomingMessage, response: ServerResponse) => void) =>
  rig.host.handlers.set(path, handler);
async function client(): Promise<RawClient> {
  const one = await rawClient(rig.proxy.port);
  clients.push(one);
  return one;
}
const lines = (...all: string[]) => `${all.join('\r\n')}\r\n\r\n`;
const toRaw = (method: string, ...fields: string[]) =>
  lines(`${method} http://raw.example/ HTTP/1.1`, 'Host: raw.example', ...fields);
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

describe('fields', () => {
  it('pass in their order, case and number, with every byte, and this hop is named both ways', async () => {
    answer = (_, socket) =>
      socket.end(
        'HTTP/1.1 299 Gr\xfc\xdfe, \xe4\r\nB: 2\r\na: 1\r\nb: \xff\xfe\r\nA: 1\r\nSet-Cookie: x\r\nVia: 1.0 other\r\nContent-Length: 2\r\n\r\nok',
        'latin1',
      );
    const one = await client();
    one.send(
      'GET http://raw.example/p?q=%7e|` HTTP/1.1\r\nzz: 1\r\nHost: wrong.example\r\nZZ: 2\r\nX: caf\xe9\r\nCookie: a\r\nCookie: b\r\nEmpty:\r\n\r\n',
    );
    await one.until(/\r\n\r\nok$/);
    expect(heads[0]?.split('\r\n')).toEqual([
      'GET /p?q=%7e|` HTTP/1.1',
      'host: raw.example',
      'connection: keep-alive',
      'zz: 1',
      'ZZ: 2',
      'X: caf\xe9',
      'Cookie: a',
      'Cookie: b',
      'Empty: ',
      'Via: 1.1 wispr',
    ]);
    expect(one.received().split('\r\n')).toEqual([
      'HTTP/1.1 299 Gr\xfc\xdfe, \xe4',
      'B: 2',
      'a: 1',
      'b: \xff\xfe',
      'A: 1',
      'Set-Cookie: x',
      'Via: 1.0 other',
      'Content-Length: 2',
      'Via: 1.1 wispr',
      'Connection: keep-alive',
      `Keep-Alive: timeout=${LIMITS.clientIdle / 1000}`,
      '',
      'ok',
    ]);
  });

  it('that concern one connection end here, and those that Connection names, both ways', async () => {
    answer = (_, socket) =>
      socket.end(
        lines(
          'HTTP/1.1 200 OK',
          'Connection: close, X-Hop',
          'connection: x-hop-2',
          'X-Hop: 1',
          'X-HOP-2: 1',
          'Keep-Alive: timeout=1',
          'Proxy-Authenticate: Basic',
          'Proxy-Connection: close',
          'Upgrade: h2c',
          'X-Kept: 1',
          'Content-Length: 0',
        ),
      );
    const one = await client();
    one.send(
      toRaw(
        'GET',
        'Connection: keep-alive, X-Mine, content-length, host',
        'Connection: X-Too',
        'X-Mine: 1',
        'x-too: 1',
        'Keep-Alive: 5',
        'Proxy-Connection: x',
        'Proxy-Authorization: Basic x',
        'TE: gzip',
        'Upgrade: h2c',
        'X-Kept: 1',
        'Content-Length: 0',
      ),
    );
    const got = await one.until(/Keep-Alive: timeout=\d+\r\n\r\n/);
    for (const head of [heads[0] ?? '', got]) {
      expect(head).not.toMatch(/x-hop|x-mine|x-too|proxy-|^te:|^upgrade|timeout=1\r/im);
      expect(head).toMatch(/^X-Kept: 1/m);
      expect(head).toMatch(/^Content-Length: 0/m);
    }
    expect(heads[0]).toMatch(/^Host: raw.example/m);
  });

  it.each([
    ['a length', 'Content-Length: \t2\r\n', 'ok'],
    ['chunks', 'Transfer-Encoding: \tchunked  \r\nTrailer: X-T \r\n', '2\r\nok\r\n0\r\nX-T: \tt \t\r\n\r\n'],
  ])(
    'of an answer pass without the white space around their values, and only that, with %s',
    async (_, fields, body) => {
      answer = (_head, socket) =>
        socket.write(
          `HTTP/1.1 103 Early Hints\r\nX-I: \ti \t\r\n\r\nHTTP/1.1 200 OK\r\nX-A: \t\xa0a \t b\xa0 \t\r\nX-B: \t \r\n${fields}\r\n${body}`,
          'latin1',
        );
      for (const te of [[], ['TE: trailers']]) {
        const one = await client();
        one.send(toRaw('GET', 'Connection: close', ...te));
        const got = await one.ended();
        expect(got).toMatch(/^X-I: i\r\n[\s\S]*^HTTP\/1.1 200 OK\r\n[\s\S]*^X-A: \xa0a \t b\xa0\r\nX-B: \r\n/m);
        expect(got).toMatch(
          body === 'ok'
            ? /^Content-Length: 2\r\n[\s\S]*\r\n\r\nok$/m
            : /^Trailer: X-T\r\n[\s\S]*\r\nok\r\n0\r\nX-T: t\r\n\r\n$/m,
        );
      }
    },
  );

  it('of an answer pass up to the bound, of whatever request', async () => {
    const fields = `X-Much: ${'x'.repeat(LIMITS.headerFields - 8_192)}\r\n`;
    answer = (_, socket) => socket.write(`HTTP/1.1 200 OK\r\n${fields}Content-Length: 2\r\n\r\nok`);
    const sent = {
      maxHeaderSize: 2 * LIMITS.headerFields,
      host: '127.0.0.1',
      port: rig.proxy.port,
      agent: false,
    } as const;
    for (const headers of [{}, { te: 'trailers' }]) {
      const outgoing = httpRequest({ ...sent, path: 'http://raw.example/', headers }).end();
      const [got] = (await once(outgoing, 'response')) as [IncomingMessage];
      expect([got.statusCode, (await bodyOf(got)).toString()]).toEqual([200, 'ok']);
    }
  });

  it('more than two thousand of them pass', async () => {
    answer = (_, socket) =>
      socket.end(
        `HTTP/1.1 200 OK\r\n${Array.from({ length: 2500 }, (_one, index) => `r${index}: 1\r\n`).join('')}Content-Length: 0\r\n\r\n`,
      );
    const fields = Array.from({ length: 2500 }, (_one, index) => `q${index}: 1`);
    const one = await client();
    one.send(toRaw('GET', ...fields));
    const got = await one.until('Keep-Alive');
    expect([heads[0]?.match(/^q\d+: 1/gm)?.length, got.match(/^r\d+: 1/gm)?.length]).toEqual([2500, 2500]);
  });

  it.each([
    ['chunked', '1.0', 'Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n'],
    ['that ends with its connection', '1.0', '\r\npart'],
    ['that ends with its connection', '1.1', '\r\npart'],
  ])('an answer %s that breaks off does not seem whole to HTTP/%s', async (_, version, rest) => {
    const host = Promise.withResolvers<Socket>();
    answer = (_head, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${rest}`);
      host.resolve(socket);
    };
    const client = await rawClient(rig.proxy.port);
    const failed = new Promise<NodeJS.ErrnoException>((resolve) => client.socket.once('error', resolve));
    client.send(`GET http://raw.example/ HTTP/${version}\r\nHost: raw.example\r\n\r\n`);
    await client.until('part');
    (await host.promise).resetAndDestroy();
    if (version === '1.0') expect((await failed).code).toBe('ECONNRESET');
    else expect(await client.ended()).toMatch(/part\r\n$/);
  });

  it('of HTTP/1.0 are named as such, and its answers end with the connection', async () => {
    answer = (_, socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nold');
    const one = await client();
    one.send('GET http://raw.example/ HTTP/1.0\r\n\r\n');
    const got = await one.ended();
    expect(heads[0]).toMatch(/^Via: 1.0 wispr/m);
    expect(got).toMatch(/^HTTP\/1.1 200 OK\r\nVia: 1.0 wispr\r\nConnection: close\r\n\r\nold$/);
  });
});

describe('the first line of an answer', () => {
  const VERSIONS = ['1.1', '1.0', '1.1', '1.0'];

  it('says by which version of HTTP it came, each on a connection that is kept, behind empty lines and in pieces', async () => {
    const sockets = new Set<Socket>();
    answer = (_, socket) => {
      sockets.add(socket);
      const line = `HTTP/${VERSIONS[heads.length - 1]} 200 Gr\xfc\xdfe\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok`;
      const pieces = heads.length > 2 ? ['\r\n', '\r\n\r\nHT', ...line.slice(2)] : [line];
      const next = () => socket.write(pieces.shift() ?? '', 'latin1', () => pieces.length > 0 && setImmediate(next));
      next();
    };
    const one = await client();
    for (const round of VERSIONS.keys()) {
      one.send(toRaw('GET'));
      await one.until(new RegExp(`^(?:HTTP[^]*?\r\n\r\nok){${round + 1}}$`));
    }
    expect(one.received().match(/HTTP.*$|^Via: .*$/gm)).toEqual(
      VERSIONS.flatMap((version) => ['HTTP/1.1 200 Gr\xfc\xdfe', `Via: ${version} wispr`]),
    );
    expect(sockets.size).toBe(1);
  });

  it('keeps its words behind an interim answer, too', async () => {
    const words = ['Fine', 'Gr\xfc\xdfe', 'Gr\xc3\xbc\xc3\x9fe'];
    answer = (_, socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\n\r\n');
      socket.write(`HTTP/1.1 200 ${words[heads.length - 1]}\r\nContent-Length: 2\r\n\r\nok`, 'latin1');
    };
    const got: (string | undefined)[] = [];
    for (const _ of words) {
      const one = await client();
      one.send(toRaw('GET'));
      got.push(/^HTTP\/1.1 200 (.*)\r$/m.exec(await one.until(/ok$/))?.[1]);
    }
    expect(got).toEqual(words);
  });

  it.each([
    ['empty lines without end', '\r\n'.repeat(200_000)],
    ['one that does not end', `HTTP/1.1 200 ${'x'.repeat(400_000)}`],
  ])('%s harm nobody', async (_, bytes) => {
    answer = (_head, socket) => socket.end(bytes);
    expect((await send(rig.proxy.port, 'http://raw.example/')).status).toBe(502);
    answer = (_head, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    expect((await send(rig.proxy.port, 'http://raw.example/')).text).toBe('ok');
  });
});

describe('trailers', () => {
  it('pass both ways, and what says how long a message is does not pass among them', async () => {
    let seen: unknown;
    on('/trailers', async (request, response) => {
      await bodyOf(request);
      seen = [request.rawTrailers, request.headers.trailer, request.headers.te];
      response.writeHead(200, { trailer: 'X-Sum' });
      response.write('body');
      response.addTrailers([
        ['X-Sum', 'caf\xe9'],
        ['X-Sum', 'again'],
        ['Host', 'evil.example'],
      ]);
      response.end();
    });
    const one = await client();
    one.send(
      `${lines(
        `POST ${ELSEWHERE}/trailers HTTP/1.1`,
        'Host: elsewhere.example',
        'Transfer-Encoding: chunked',
        'Trailer: X-Check',
        'TE: trailers;q=1, gzip',
        'Connection: TE',
      )}3\r\nabc\r\n0\r\nX-Check: 1\r\nX-Check: \xe9\r\nVia: 1.1 forged\r\n\r\n`,
    );
    const got = await one.until(/0\r\nX-Sum[\s\S]*\r\n\r\n$/);
    expect(seen).toEqual([['X-Check', '1', 'X-Check', '\xe9'], 'X-Check', undefined]);
    expect(got).toMatch(/^trailer: X-Sum\r$/m);
    expect(got.slice(got.indexOf('\r\n\r\n') + 4)).toBe('4\r\nbody\r\n0\r\nX-Sum: caf\xe9\r\nX-Sum: again\r\n\r\n');
  });

  it('come back for a GET that asked for none', async () => {
    answer = (_, socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n2\r\nok\r\n0\r\nSum: 1\r\n\r\n',
      );
    const one = await client();
    one.send(toRaw('GET'));
    expect(await one.until(/\r\n0\r\n[\s\S]*\r\n\r\n$/)).toMatch(/\r\n0\r\nSum: 1\r\n\r\n$/);
  });

  it('are welcome at the host where they are at the client', async () => {
    answer = (_, socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const one = await client();
    one.send(toRaw('GET', 'TE: trailers', 'Connection: TE'));
    await one.until('Keep-Alive');
    expect(heads[0]).toMatch(/^TE: trailers\r\nConnection: TE/m);
  });
});

describe('interim answers', () => {
  it('pass as they come, with their fields, and the answer after them', async () => {
    answer = (_, socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nLink: </b.css>\r\nConnection: x-own\r\nX-Own: 1\r\n\r\nHTTP/1.1 199 Odd\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody',
      );
    const one = await client();
    one.send(toRaw('GET'));
    const got = await one.until(/\r\n\r\nbody$/);
    expect(got).toMatch(
      /^HTTP\/1.1 103 Early Hints\r\nLink: <\/a.css>\r\nLink: <\/b.css>\r\nVia: 1.1 wispr\r\n\r\nHTTP\/1.1 199 Odd\r\nVia: 1.1 wispr\r\n\r\nHTTP\/1.1 200 OK\r\n/,
    );
  });

  it('do not go to HTTP/1.0, which has none', async () => {
    answer = (_, socket) =>
      socket.end('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody');
    expect(await sendRaw(rig.proxy.port, 'GET http://raw.example/ HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 OK/);
  });
});

describe('Expect: 100-continue', () => {
  it('is the host’s to grant: then the body goes', async () => {
    on('/wanted', async (request, response) => response.end(`${request.headers.expect} ${await bodyOf(request)}`));
    const one = await client();
    const head = lines(`PUT ${ELSEWHERE}/wanted HTTP/1.1`, 'Host: x', 'Content-Length: 4', 'Expect: 100-continue');
    one.send(head);
    await one.until('HTTP/1.1 100 Continue\r\n\r\n');
    one.send('body');
    expect(await one.until('100-continue body')).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n/);
    one.send(head); // and the connection serves on
    await one.until(/200 OK[\s\S]*HTTP\/1.1 100 Continue\r\n\r\n$/);
    one.send('more');
    await one.until('100-continue more');
  });

  it.each([413, 417])('is the host’s to refuse, with %i: nothing of the body goes', async (status) => {
    answer = (_, socket) => socket.write(`HTTP/1.1 ${status} No\r\nContent-Length: 4\r\n\r\ngone`);
    const one = await client();
    one.send(toRaw('POST', 'Content-Length: 1000000', 'Expect: 100-continue'));
    expect(await one.ended()).toMatch(new RegExp(`^HTTP/1.1 ${status} No\r\n[\\s\\S]*gone$`));
    expect(heads).toHaveLength(1);
    expect(heads[0]).toMatch(/^Expect: 100-continue/m);
  });

  it('is granted here where the head could not be passed on as it is, and passes in any other form', async () => {
    on('/bytes', async (request, response) =>
      response.end(`${request.headers.expect} ${request.headers.x} ${await bodyOf(request)}`),
    );
    const one = await client();
    one.send(
      lines(`PUT ${ELSEWHERE}/bytes HTTP/1.1`, 'Host: x', 'Content-Length: 4', 'X: \xe9', 'Expect: 100-continue'),
    );
    await one.until('100 Continue');
    one.send('body');
    await one.until('undefined \xc3\xa9 body'); // as UTF-8, by the host
    answer = (_, socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const odd = await client();
    odd.send(toRaw('GET', 'Expect: something-else'));
    await odd.until('HTTP/1.1 200 OK');
    expect(heads[0]).toMatch(/^Expect: something-else/m);
  });

  it('in HTTP/1.0 is nothing', async () => {
    answer = (_, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    expect(
      await sendRaw(
        rig.proxy.port,
        'POST http://raw.example/ HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx',
      ),
    ).toMatch(/^HTTP\/1.1 200 OK/);
    expect(heads[0]).not.toMatch(/expect/i);
  });
});

describe('methods', () => {
  it.each([
    'GET',
    'HEAD',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'PROPFIND',
    'QUERY',
    'PURGE',
    'M-SEARCH',
  ])('%s passes', async (method) => {
    on('/method', (request, response) =>
      response.writeHead(200, { 'x-method': request.method, 'content-length': 3 }).end('yes'),
    );
    const got = await send(rig.proxy.port, `${ELSEWHERE}/method`, { method });
    expect([got.headers['x-method'], got.text]).toEqual([method, method === 'HEAD' ? '' : 'yes']);
  });

  it('without a body say so only where one would be usual', async () => {
    answer = (_, socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    for (const method of ['GET', 'POST', 'DELETE']) {
      const one = await client();
      one.send(toRaw(method));
      await one.until('Keep-Alive');
    }
    expect(heads.map((head) => /^content-length: \d+|^transfer-encoding: .*/im.exec(head)?.[0])).toEqual([
      undefined,
      'Content-Length: 0',
      undefined,
    ]);
  });

  it('GET and DELETE may have a body, too', async () => {
    on('/body', async (request, response) => response.end(`${request.method} ${await bodyOf(request)}`));
    for (const method of ['GET', 'DELETE']) {
      expect(
        (await send(rig.proxy.port, `${ELSEWHERE}/body`, { method, body: 'b', headers: { 'content-length': '1' } }))
          .text,
      ).toBe(`${method} b`);
      expect(
        (
          await send(rig.proxy.port, `${ELSEWHERE}/body`, {
            method,
            body: 'b',
            headers: { 'transfer-encoding': 'chunked' },
          })
        ).text,
      ).toBe(`${method} b`);
    }
  });

  it('OPTIONS * is for this program; without a path, for the host', async () => {
    const own = await sendRaw(rig.proxy.port, 'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect(own).toMatch(/^HTTP\/1.1 200 OK\r\nallow: GET, /);
    answer = (_, socket) => socket.end('HTTP/1.1 200 OK\r\nAllow: GET\r\nContent-Length: 0\r\n\r\n');
    await sendRaw(rig.proxy.port, 'OPTIONS http://raw.example HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await sendRaw(rig.proxy.port, 'OPTIONS http://raw.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(heads.map((head) => head.split('\r\n')[0])).toEqual(['OPTIONS * HTTP/1.1', 'OPTIONS / HTTP/1.1']);
  });

  it('Max-Forwards counts down for TRACE and OPTIONS, and ends them here at 0', async () => {
    answer = (_, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    for (const method of ['TRACE', 'OPTIONS', 'GET']) {
      const one = await client();
      one.send(toRaw(method, 'Max-Forwards: 3'));
      await one.until('HTTP/1.1 200');
    }
    expect(heads.map((head) => /^max-forwards: (\d+)/im.exec(head)?.[1])).toEqual(['2', '2', '3']);
    heads.length = 0;
    const trace = await client();
    trace.send(toRaw('TRACE', 'Max-Forwards: 0', 'Cookie: secret', 'Authorization: secret', 'X-Kept: 1'));
    const got = await trace.until(/X-Kept: 1\r\n\r\n$/);
    expect(got).toMatch(/content-type: message\/http\r\n/);
    expect(got).toContain('TRACE http://raw.example/ HTTP/1.1\r\n');
    expect(got).not.toContain('secret');
    const options = await client();
    options.send(toRaw('OPTIONS', 'Max-Forwards: 0'));
    expect(await options.until('Keep-Alive')).toMatch(/^HTTP\/1.1 200 OK\r\nallow:/);
    expect(heads).toEqual([]);
    const filled = await sendRaw(rig.proxy.port, `${toRaw('TRACE', 'Content-Length: 1')}x`);
    expect(filled).toMatch(/^HTTP\/1.1 400 /);
  });

  it('that went round in a circle end', async () => {
    const via = Array.from({ length: LIMITS.passages }, () => '1.1 wispr').join(', ');
    expect(refusalCode(await send(rig.proxy.port, `${ELSEWHERE}/`, { headers: { via } }))).toBe('loop');
  });
});

describe('answers', () => {
  it.each([
    [
      '204 with a length',
      'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n',
      /^HTTP\/1.1 204 No Content\r\n(?!.*content-length)/i,
    ],
    [
      '304 with a length',
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: "x"\r\n\r\n',
      /^HTTP\/1.1 304[\s\S]*Content-Length: 5/,
    ],
    ['no reason', 'HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n', /^HTTP\/1.1 200 \r\n/],
    ['a status of its own', 'HTTP/1.1 799 Mine\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1.1 799 Mine\r\n/],
    [
      'a type said twice',
      'HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Type: c/d\r\nContent-Length: 0\r\n\r\n',
      /^Content-Type: a\/b\r\nContent-Type: c\/d\r$/m,
    ],
    [
      '426',
      'HTTP/1.1 426 Upgrade Required\r\nUpgrade: x/2\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n',
      /^Upgrade: x\/2\r\nConnection: Upgrade/m,
    ],
  ])('%s', async (_, bytes, expected) => {
    answer = (_head, socket) => socket.write(bytes, 'latin1');
    const one = await client();
    one.send(toRaw('GET'));
    expect(await one.until(/\r\n\r\n/)).toMatch(expected);
    one.send(toRaw('GET')); // what follows is the next answer
    await one.until(/\r\n\r\n[\s\S]*\r\n\r\n/);
  });

  it('to HEAD have the fields and no body, with a length or in chunks', async () => {
    for (const field of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
      answer = (_head, socket) => socket.write(`HTTP/1.1 200 OK\r\n${field}\r\nETag: "x"\r\n\r\n`);
      const one = await client();
      one.send(toRaw('HEAD'));
      const got = await one.until(/\r\n\r\n$/);
      expect(got).toMatch(/ETag: "x"/);
      if (field.startsWith('C')) expect(got).toMatch(/Content-Length: 5/);
    }
  });

  it('in any content coding pass byte for byte', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256));
    on('/coded', (_, response) =>
      response.writeHead(200, { 'content-encoding': 'x-odd, gzip', 'content-length': bytes.length }).end(bytes),
    );
    const got = await send(rig.proxy.port, `${ELSEWHERE}/coded`);
    expect([got.headers['content-encoding'], got.body.equals(bytes)]).toEqual(['x-odd, gzip', true]);
  });

  it('that come before the request is all there reach the client, and nothing more of it goes to the host', async () => {
    let taken = 0;
    on('/early', (request, response) => {
      request.once('data', (part: Buffer) => {
        taken += part.length;
        response.writeHead(413, { 'content-length': 3 }).end('no!');
      });
    });
    const one = await client();
    one.send(`${lines(`POST ${ELSEWHERE}/early HTTP/1.1`, 'Host: x', 'Content-Length: 200000')}${'x'.repeat(1000)}`);
    await one.until('no!');
    one.send('x'.repeat(199_000));
    one.send(lines(`GET ${ELSEWHERE}/none HTTP/1.1`, 'Host: x')); // the rest was dropped, and the connection serves on
    await one.until(/no![\s\S]*HTTP\/1.1 404/);
    expect(taken).toBeLessThan(200_000);
  });

  it('end the connection of a client that goes on sending all the same', async () => {
    answer = (_, socket) => socket.end('HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    const one = await client();
    one.send(toRaw('POST', `Content-Length: ${10 * LIMITS.droppedOfRequest}`));
    await one.until('413 No');
    const piece = Buffer.alloc(65_536);
    const more = () => {
      while (!one.socket.destroyed && one.socket.write(piece));
    };
    one.socket.on('drain', more);
    more();
    await one.ended();
  });
});

describe('back-pressure', () => {
  it('an upload goes no faster than the host takes it, and arrives whole', async () => {
    let host: IncomingMessage | undefined;
    const begun = Promise.withResolvers<void>();
    on('/slow', async (request, response) => {
      host = request.pause();
      begun.resolve();
      response.on('close', () => undefined);
    });
    const length = 64 * 1024 * 1024;
    const piece = Buffer.alloc(65_536, 'u');
    let written = 0;
    const outgoing = httpRequest({
      host: '127.0.0.1',
      port: rig.proxy.port,
      path: `${ELSEWHERE}/slow`,
      method: 'PUT',
      headers: { host: 'elsewhere.example', 'content-length': length },
    });
    const more = () => {
      while (written < length) {
        written += piece.length;
        if (!outgoing.write(piece)) return;
      }
      outgoing.end();
    };
    outgoing.on('drain', more);
    more();
    await begun.promise;
    let before = -1;
    await expect
      .poll(
        () => {
          const same = written === before;
          before = written;
          return same;
        },
        { interval: 300, timeout: 30_000 },
      )
      .toBe(true);
    expect(written).toBeLessThan(length / 2);
    let arrived = 0;
    const all = Promise.withResolvers<void>();
    host?.on('data', (part: Buffer) => {
      arrived += part.length;
    });
    host?.on('end', () => all.resolve());
    host?.resume();
    await all.promise;
    expect(arrived).toBe(length);
    outgoing.on('error', () => undefined).destroy();
  });
});

describe('connections', () => {
  it('are kept on both sides, and each request finds its answer', async () => {
    let sockets = 0;
    const host = createTcpServer((socket) => {
      sockets++;
      socket.on('error', () => undefined);
      socket.on('data', (part) => {
        for (const [, path] of part.toString().matchAll(/^GET (\S+)/gm))
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${path?.length}\r\n\r\n${path}`);
      });
    });
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    const { port } = host.address() as { port: number };
    const one = await client();
    for (const path of ['/1', '/2', '/3']) {
      one.send(lines(`GET http://127.0.0.1:${port}${path} HTTP/1.1`, 'Host: x'));
      await one.until(new RegExp(`\r\n\r\n${path}$`));
    }
    expect(sockets).toBe(1);
    host.close();
  });

  it('carry requests that came at once one after another, in order; too many end them', async () => {
    const order: string[] = [];
    let release: () => void = () => undefined;
    on('/first', (_, response) => {
      order.push('first');
      release = () => response.end('one');
    });
    on('/second', (_, response) => {
      order.push('second');
      response.end('two');
    });
    const one = await client();
    one.send(
      ['/first', '/second', '/second'].map((path) => lines(`GET ${ELSEWHERE}${path} HTTP/1.1`, 'Host: x')).join(''),
    );
    await expect.poll(() => order).toEqual(['first']);
    release();
    await one.until(/one[\s\S]*two[\s\S]*two/);
    expect(order).toEqual(['first', 'second', 'second']);
    const greedy = await client();
    greedy.send(lines(`GET ${ELSEWHERE}/first HTTP/1.1`, 'Host: x').repeat(LIMITS.pipelined + 2));
    expect(await greedy.ended()).toBe('');
    expect(order.filter((name) => name === 'first').length).toBeLessThanOrEqual(2);
  });

  it.each([
    ['closed', (socket: Socket) => socket.destroy()],
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
  ])('that the host has %s while they were kept are no loss', async (_, end) => {
    let count = 0;
    answer = (_, socket) => {
      // The second request on a connection is not answered: it was closing just then.
      const served = (socket as Socket & { served?: number }).served ?? 0;
      (socket as Socket & { served?: number }).served = served + 1;
      count++;
      if (served > 0) end(socket);
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    };
    const one = await client();
    for (const round of [1, 2]) {
      one.send(toRaw('GET'));
      await one.until(new RegExp(`^(?:HTTP[\\s\\S]*?\r\n\r\nok){${round}}$`));
    }
    expect(count).toBe(3);
    one.send(`${toRaw('POST', 'Content-Length: 1')}x`); // not to be sent twice
    await one.until('HTTP/1.1 502');
    expect(count).toBe(4);
  });

  it('that the host closes instead of an answer are not tried again where they were new', async () => {
    answer = (_, socket) => socket.end();
    expect(refusalCode(await send(rig.proxy.port, 'http://raw.example/'))).toBe('host-unreachable');
    expect(heads).toHaveLength(1);
  });

  it('end at the host when the client leaves in the midst of an answer, and of one that has not begun', async () => {
    for (const begun of ['HTTP/1.1 200 OK\r\n\r\npart', '']) {
      const host = Promise.withResolvers<Socket>();
      answer = (_, socket) => {
        socket.write(begun);
        host.resolve(socket);
      };
      const one = await client();
      one.send(toRaw('GET'));
      const socket = await host.promise;
      const closed = new Promise((resolve) => socket.once('close', resolve));
      if (begun) await one.until('part');
      one.close();
      await closed;
    }
  });

  it('end at the host when the client leaves in the midst of an upload', async () => {
    const aborted = Promise.withResolvers<boolean>();
    on('/left', (request) => {
      request.on('error', () => undefined).on('close', () => aborted.resolve(!request.complete));
      request.resume();
    });
    const one = await client();
    one.send(`${lines(`POST ${ELSEWHERE}/left HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked')}3\r\nabc\r\n`);
    await expect.poll(() => rig.host.requests.some(({ url }) => url === '/left')).toBe(true);
    one.close();
    expect(await aborted.promise).toBe(true);
  });

  it('of a client that ends its direction are over, as for Squid and nginx', async () => {
    let open = 0;
    answer = (_, socket) => {
      open++;
      socket.on('close', () => open--);
    };
    const one = await client();
    one.send(toRaw('GET'));
    await expect.poll(() => open).toBe(1);
    one.socket.end();
    expect(await one.ended()).toBe('');
    await expect.poll(() => open).toBe(0);
  });
});
