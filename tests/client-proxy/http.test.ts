/** The forward proxy by RFC 9110 and RFC 9112: the heads of messages. What concerns one connection ends here, and all the rest passes as it was. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, LIMITS } from '../../client-proxy/limits.ts';
import { ELSEWHERE, lines, passingRig, toRaw } from '../support/passing-rig.ts';
import { rawClient } from '../support/raw-http.ts';

const passing = passingRig();

describe('fields', () => {
  it('pass in their order, case and number, with every byte, and this hop is named both ways', async () => {
    passing.ends(
      'HTTP/1.1 299 Gr\xfc\xdfe, \xe4\r\nB: 2\r\na: 1\r\nb: \xff\xfe\r\nA: 1\r\nSet-Cookie: x\r\nVia: 1.0 other\r\nContent-Length: 2\r\n\r\nok',
    );
    const one = await passing.begin(
      'GET http://raw.example/p?q=%7e|` HTTP/1.1\r\nzz: 1\r\nHost: wrong.example\r\nZZ: 2\r\nX: caf\xe9\r\nCookie: a\r\nCookie: b\r\nVia: 1.0 other\r\nEmpty:\r\n\r\n',
    );
    await one.until(/\r\n\r\nok$/);
    expect(passing.heads[0]?.split('\r\n')).toEqual([
      ...['GET /p?q=%7e|` HTTP/1.1', 'Host: raw.example', 'zz: 1', 'ZZ: 2', 'X: caf\xe9', 'Cookie: a', 'Cookie: b'],
      ...['Via: 1.0 other', 'Empty: ', 'Via: 1.1 wispr', 'Connection: keep-alive'],
    ]);
    expect(one.received().split('\r\n')).toEqual([
      ...['HTTP/1.1 299 Gr\xfc\xdfe, \xe4', 'B: 2', 'a: 1', 'b: \xff\xfe', 'A: 1', 'Set-Cookie: x', 'Via: 1.0 other'],
      ...['Content-Length: 2', 'Via: 1.1 wispr', 'Connection: keep-alive'],
      ...[`Keep-Alive: timeout=${DEFAULT_LIMITS.clientIdle / 1000}`, '', 'ok'],
    ]);
  });

  it('that concern one connection end here, and those that Connection names, both ways', async () => {
    passing.ends(
      lines(
        ...['HTTP/1.1 200 OK', 'Connection: close, X-Hop', 'connection: x-hop-2', 'X-Hop: 1', 'X-HOP-2: 1'],
        ...['Keep-Alive: timeout=1', 'Proxy-Authenticate: Basic', 'Proxy-Connection: close', 'Upgrade: h2c'],
        ...['X-Kept: 1', 'Content-Length: 0'],
      ),
    );
    const one = await passing.begin(
      toRaw(
        'GET',
        ...['Connection: keep-alive, X-Mine, content-length, host', 'Connection: X-Too', 'X-Mine: 1'],
        ...['x-too: 1', 'Keep-Alive: 5', 'Proxy-Connection: x', 'Proxy-Authorization: Basic x', 'TE: gzip'],
        ...['Upgrade: h2c', 'X-Kept: 1', 'Content-Length: 0'],
      ),
    );
    const got = await one.until(/Keep-Alive: timeout=\d+\r\n\r\n/);
    for (const head of [passing.heads[0] ?? '', got]) {
      expect(head).not.toMatch(/x-hop|x-mine|x-too|proxy-|^te:|^upgrade|timeout=1\r/im);
      expect(head).toMatch(/^X-Kept: 1/m);
      expect(head).toMatch(/^Content-Length: 0/m);
    }
    expect(passing.heads[0]).toMatch(/^Host: raw.example/m);
  });

  it.each([
    ['a length', 'Content-Length: \t2\r\n', 'ok'],
    ['chunks', 'Transfer-Encoding: \tchunked  \r\nTrailer: X-T \r\n', '2\r\nok\r\n0\r\nX-T: \tt \t\r\n\r\n'],
  ])(
    'of an answer pass without the white space around their values, and only that, with %s',
    async (_, fields, body) => {
      passing.says(
        `HTTP/1.1 103 Early Hints\r\nX-I: \ti \t\r\n\r\nHTTP/1.1 200 OK\r\nX-A: \t\xa0a \t b\xa0 \t\r\nX-B: \t \r\n${fields}\r\n${body}`,
      );
      for (const te of [[], ['TE: trailers']]) {
        const one = await passing.begin(toRaw('GET', 'Connection: close', ...te));
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

  it.each(['GET', 'POST'])(
    'of an answer to %s that say a length with spaces behind it count without them, and the connection serves again',
    async (method) => {
      passing.rig.refusals.length = 0;
      const one = await passing.begin();
      for (const [length, body] of [
        ['2 ', 'ok'],
        ['\t0  ', ''],
        ['300000   ', 'x'.repeat(300_000)],
      ] as const) {
        passing.says(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\nX-L: ${body.length}\r\n\r\n${body}`);
        one.send(toRaw(method));
        await one.until(`X-L: ${body.length}\r\n`);
        await expect.poll(() => one.received().endsWith(`\r\n\r\n${body}`)).toBe(true);
        expect(one.received()).toMatch(new RegExp(`^Content-Length: ${body.length}\r$`, 'm'));
      }
      expect(passing.rig.refusals).toEqual([]);
    },
  );

  it('of an answer that say a length with spaces behind it make nothing whole that breaks off, and nothing longer', async () => {
    passing.ends('HTTP/1.1 200 OK\r\nContent-Length: 3 \r\n\r\nok');
    passing.rig.refusals.length = 0;
    const short = await passing.ask();
    expect([short.status, short.text, short.complete]).toEqual([200, 'ok', false]);
    expect(passing.rig.refusals).toHaveLength(1);
    passing.ends('HTTP/1.1 200 OK\r\nContent-Length: 2 \r\n\r\nokno');
    const long = await passing.ask();
    expect([long.status, long.text, long.complete]).toEqual([200, 'ok', true]);
  });

  it('of an answer pass up to the bound, of whatever request', async () => {
    const fields = `X-Much: ${'x'.repeat(LIMITS.headerFields - 8_192)}\r\n`;
    passing.says(`HTTP/1.1 200 OK\r\n${fields}Content-Length: 2\r\n\r\nok`);
    const { port } = passing.rig.proxy;
    const sent = { maxHeaderSize: 2 * LIMITS.headerFields, host: '127.0.0.1', port, agent: false } as const;
    for (const headers of [{}, { te: 'trailers' }]) {
      const outgoing = httpRequest({ ...sent, path: 'http://raw.example/', headers }).end();
      const [got] = (await once(outgoing, 'response')) as [IncomingMessage];
      expect([got.statusCode, (await buffer(got)).toString()]).toEqual([200, 'ok']);
    }
  });

  it('more than two thousand of them pass', async () => {
    passing.ends(
      `HTTP/1.1 200 OK\r\n${Array.from({ length: 2500 }, (_one, index) => `r${index}: 1\r\n`).join('')}Content-Length: 0\r\n\r\n`,
    );
    const fields = Array.from({ length: 2500 }, (_one, index) => `q${index}: 1`);
    const one = await passing.begin(toRaw('GET', ...fields));
    const got = await one.until('Keep-Alive');
    expect([passing.heads[0]?.match(/^q\d+: 1/gm)?.length, got.match(/^r\d+: 1/gm)?.length]).toEqual([2500, 2500]);
  });

  it.each([
    ['chunked', '1.0', 'Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n'],
    ['that ends with its connection', '1.0', '\r\npart'],
    ['that ends with its connection', '1.1', '\r\npart'],
  ])('an answer %s that breaks off does not seem whole to HTTP/%s', async (_, version, rest) => {
    const host = Promise.withResolvers<Socket>();
    passing.answer = (_head, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${rest}`);
      host.resolve(socket);
    };
    const client = await rawClient(passing.rig.proxy.port);
    const failed = new Promise<NodeJS.ErrnoException>((resolve) => client.socket.once('error', resolve));
    client.send(`GET http://raw.example/ HTTP/${version}\r\nHost: raw.example\r\n\r\n`);
    await client.until('part');
    (await host.promise).resetAndDestroy();
    if (version === '1.0') expect((await failed).code).toBe('ECONNRESET');
    else expect(await client.ended()).toMatch(/part\r\n$/);
  });

  it('of HTTP/1.0 are named as such, and its answers end with the connection', async () => {
    passing.ends('HTTP/1.0 200 OK\r\n\r\nold');
    const one = await passing.begin('GET http://raw.example/ HTTP/1.0\r\n\r\n');
    const got = await one.ended();
    expect(passing.heads[0]).toMatch(/^Via: 1.0 wispr/m);
    expect(got).toMatch(/^HTTP\/1.1 200 OK\r\nVia: 1.0 wispr\r\nConnection: close\r\n\r\nold$/);
  });
});

describe('the first line of an answer', () => {
  const VERSIONS = ['1.1', '1.0', '1.1', '1.0'];

  it('says by which version of HTTP it came, each on a connection that is kept, behind empty lines and in pieces', async () => {
    const sockets = new Set<Socket>();
    passing.answer = (_, socket) => {
      sockets.add(socket);
      const line = `HTTP/${VERSIONS[passing.heads.length - 1]} 200 Gr\xfc\xdfe\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok`;
      const pieces = passing.heads.length > 2 ? ['\r\n', '\r\n\r\nHT', ...line.slice(2)] : [line];
      const next = () => socket.write(pieces.shift() ?? '', 'latin1', () => pieces.length > 0 && setImmediate(next));
      next();
    };
    const one = await passing.begin();
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
    passing.answer = (_, socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\n\r\n');
      socket.write(`HTTP/1.1 200 ${words[passing.heads.length - 1]}\r\nContent-Length: 2\r\n\r\nok`, 'latin1');
    };
    const got: (string | undefined)[] = [];
    for (const _ of words) {
      const one = await passing.begin(toRaw('GET'));
      got.push(/^HTTP\/1.1 200 (.*)\r$/m.exec(await one.until(/ok$/))?.[1]);
    }
    expect(got).toEqual(words);
  });

  it.each([
    ['empty lines without end', '\r\n'.repeat(200_000)],
    ['one that does not end', `HTTP/1.1 200 ${'x'.repeat(400_000)}`],
  ])('%s do no harm', async (_, bytes) => {
    passing.ends(bytes);
    expect((await passing.ask()).status).toBe(502);
    passing.ends('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    expect((await passing.ask()).text).toBe('ok');
  });
});

describe('trailers', () => {
  it('pass both ways, and what says how long a message is does not pass among them', async () => {
    let seen: unknown;
    passing.on('/trailers', async (request, response) => {
      await buffer(request);
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
    const one = await passing.begin(
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

  it('are welcome at the host where they are at the client', async () => {
    passing.says('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const one = await passing.begin(toRaw('GET', 'TE: trailers', 'Connection: TE'));
    await one.until('Keep-Alive');
    expect(passing.heads[0]).toMatch(/^TE: trailers\r\nConnection: TE/m);
  });
});

describe('interim answers', () => {
  it('pass as they come, with their fields, and the answer after them', async () => {
    passing.says(
      'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nLink: </b.css>\r\nConnection: x-own\r\nX-Own: 1\r\n\r\nHTTP/1.1 199 Odd\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody',
    );
    const one = await passing.begin(toRaw('GET'));
    const got = await one.until(/\r\n\r\nbody$/);
    expect(got).toMatch(
      /^HTTP\/1.1 103 Early Hints\r\nLink: <\/a.css>\r\nLink: <\/b.css>\r\nVia: 1.1 wispr\r\n\r\nHTTP\/1.1 199 Odd\r\nVia: 1.1 wispr\r\n\r\nHTTP\/1.1 200 OK\r\n/,
    );
  });

  it('do not go to HTTP/1.0, which has none', async () => {
    passing.ends('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody');
    expect(await passing.sendRaw('GET http://raw.example/ HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 OK/);
  });
});

describe('Expect: 100-continue', () => {
  it('is the host’s to grant: then the body goes', async () => {
    passing.on('/wanted', async (request, response) =>
      response.end(`${request.headers.expect} ${await buffer(request)}`),
    );
    const one = await passing.begin();
    const head = lines(`PUT ${ELSEWHERE}/wanted HTTP/1.1`, 'Host: x', 'Content-Length: 4', 'Expect: 100-continue');
    one.send(head);
    await one.until('HTTP/1.1 100 Continue\r\n\r\n');
    one.send('body');
    expect(await one.until('100-continue body')).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n/);
    one.send(head); // the connection serves on
    await one.until(/200 OK[\s\S]*HTTP\/1.1 100 Continue\r\n\r\n$/);
    one.send('more');
    await one.until('100-continue more');
  });

  it.each([413, 417])('is the host’s to refuse, with %i: nothing of the body goes', async (status) => {
    passing.says(`HTTP/1.1 ${status} No\r\nContent-Length: 4\r\n\r\ngone`);
    const one = await passing.begin(toRaw('POST', 'Content-Length: 1000000', 'Expect: 100-continue'));
    expect(await one.ended()).toMatch(new RegExp(`^HTTP/1.1 ${status} No\r\n[\\s\\S]*gone$`));
    expect(passing.heads).toHaveLength(1);
    expect(passing.heads[0]).toMatch(/^Expect: 100-continue/m);
  });

  it('is granted here where the head could not be passed on as it is, and passes in any other form', async () => {
    passing.on('/bytes', async (request, response) =>
      response.end(`${request.headers.expect} ${request.headers.x} ${await buffer(request)}`),
    );
    const one = await passing.begin(
      lines(`PUT ${ELSEWHERE}/bytes HTTP/1.1`, 'Host: x', 'Content-Length: 4', 'X: \xe9', 'Expect: 100-continue'),
    );
    await one.until('100 Continue');
    one.send('body');
    await one.until('undefined \xc3\xa9 body'); // the host reads UTF-8
    passing.says('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const odd = await passing.begin(toRaw('GET', 'Expect: something-else'));
    await odd.until('HTTP/1.1 200 OK');
    expect(passing.heads[0]).toMatch(/^Expect: something-else/m);
  });

  it('in HTTP/1.0 is nothing', async () => {
    passing.ends('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    expect(
      await passing.sendRaw('POST http://raw.example/ HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx'),
    ).toMatch(/^HTTP\/1.1 200 OK/);
    expect(passing.heads[0]).not.toMatch(/expect/i);
  });
});
