import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../client-proxy/limits.ts';
import { DROPPED_OF_REQUEST } from '../../node-support/client-connections.ts';
import { flood } from '../support/content-host.ts';
import { refusalCode } from '../support/http-client.ts';
import { ELSEWHERE, lines, passingRig, toRaw } from '../support/passing-rig.ts';
import { standsStill } from '../support/raw-http.ts';

const passing = passingRig();

describe('methods', () => {
  it.each(['GET', 'HEAD', 'OPTIONS', 'PROPFIND', 'QUERY', 'PURGE', 'M-SEARCH'])('%s passes', async (method) => {
    passing.on('/method', (request, response) =>
      response.writeHead(200, { 'x-method': request.method, 'content-length': 3 }).end('yes'),
    );
    const got = await passing.ask(`${ELSEWHERE}/method`, { method });
    expect([got.headers['x-method'], got.text]).toEqual([method, method === 'HEAD' ? '' : 'yes']);
  });

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])(
    '%s passes with a body, of a length or in chunks',
    async (method) => {
      passing.on('/body', async (request, response) => {
        const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
        response.end(`${request.method} ${length ?? coding} ${(await buffer(request)).length}`);
      });
      for (const [name, value] of [
        ['content-length', '300000'],
        ['transfer-encoding', 'chunked'],
      ] as const) {
        const sent = { method, body: Buffer.alloc(300_000, 'x'), headers: { [name]: value } };
        expect((await passing.ask(`${ELSEWHERE}/body`, sent)).text).toBe(`${method} ${value} 300000`);
      }
    },
  );

  it('OPTIONS * is for this program; without a path, for the host', async () => {
    const own = await passing.sendRaw('OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect(own).toMatch(/^HTTP\/1.1 200 OK\r\nallow: GET, /);
    passing.ends('HTTP/1.1 200 OK\r\nAllow: GET\r\nContent-Length: 0\r\n\r\n');
    await passing.sendRaw('OPTIONS http://raw.example HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await passing.sendRaw('OPTIONS http://raw.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(passing.heads.map((head) => head.split('\r\n')[0])).toEqual(['OPTIONS * HTTP/1.1', 'OPTIONS / HTTP/1.1']);
  });

  it('Max-Forwards counts down for TRACE and OPTIONS, and ends them here at 0', async () => {
    passing.ends('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    for (const method of ['TRACE', 'OPTIONS', 'GET']) {
      const one = await passing.begin(toRaw(method, 'Max-Forwards: 3'));
      await one.until('HTTP/1.1 200');
    }
    expect(passing.heads.map((head) => /^max-forwards: (\d+)/im.exec(head)?.[1])).toEqual(['2', '2', '3']);
    passing.heads.length = 0;
    const trace = await passing.begin(
      toRaw('TRACE', 'Max-Forwards: 0', 'Cookie: secret', 'Authorization: secret', 'X-Kept: 1'),
    );
    const got = await trace.until(/X-Kept: 1\r\n\r\n$/);
    expect(got).toMatch(/content-type: message\/http\r\n/);
    expect(got).toContain('TRACE http://raw.example/ HTTP/1.1\r\n');
    expect(got).not.toContain('secret');
    const options = await passing.begin(toRaw('OPTIONS', 'Max-Forwards: 0'));
    expect(await options.until('Keep-Alive')).toMatch(/^HTTP\/1.1 200 OK\r\nallow:/);
    expect(passing.heads).toEqual([]);
    const filled = await passing.sendRaw(`${toRaw('TRACE', 'Content-Length: 1')}x`);
    expect(filled).toMatch(/^HTTP\/1.1 400 /);
  });

  it('that went round in a circle end', async () => {
    const via = Array.from({ length: LIMITS.passages }, () => '1.1 wispr').join(', ');
    expect(refusalCode(await passing.ask(`${ELSEWHERE}/`, { headers: { via } }))).toBe('loop');
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
    [
      'a redirect, which is not followed',
      'HTTP/1.1 302 Found\r\nLocation: http://news.example/\r\nContent-Length: 0\r\n\r\n',
      /^Location: http:\/\/news.example\/\r$/m,
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
    passing.says(bytes);
    const one = await passing.begin(toRaw('GET'));
    expect(await one.until(/\r\n\r\n/)).toMatch(expected);
    one.send(toRaw('GET')); // the next answer follows
    await one.until(/\r\n\r\n[\s\S]*\r\n\r\n/);
  });

  it('to HEAD have the fields and no body, with a length or in chunks', async () => {
    for (const field of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
      passing.says(`HTTP/1.1 200 OK\r\n${field}\r\nETag: "x"\r\n\r\n`);
      const one = await passing.begin(toRaw('HEAD'));
      const got = await one.until(/\r\n\r\n$/);
      expect(got).toMatch(/ETag: "x"/);
      if (field.startsWith('C')) expect(got).toMatch(/Content-Length: 5/);
    }
  });

  it('that come before the request is all there reach the client, and nothing more of it goes to the host', async () => {
    let taken = 0;
    passing.on('/early', (request, response) => {
      request.once('data', (part: Buffer) => {
        taken += part.length;
        response.writeHead(413, { 'content-length': 3 }).end('no!');
      });
    });
    const one = await passing.begin(
      `${lines(`POST ${ELSEWHERE}/early HTTP/1.1`, 'Host: x', 'Content-Length: 200000')}${'x'.repeat(1000)}`,
    );
    await one.until('no!');
    one.send('x'.repeat(199_000));
    one.send(lines(`GET ${ELSEWHERE}/none HTTP/1.1`, 'Host: x')); // the rest was dropped, and the connection serves on
    await one.until(/no![\s\S]*HTTP\/1.1 404/);
    expect(taken).toBeLessThan(200_000);
  });

  it('end the connection of a client that goes on sending all the same', async () => {
    passing.ends('HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    const one = await passing.begin(toRaw('POST', `Content-Length: ${10 * DROPPED_OF_REQUEST}`));
    await one.until('413 No');
    flood(one.socket, Buffer.alloc(65_536));
    await one.ended();
  });
});

it('an upload goes no faster than the host takes it, and arrives whole', async () => {
  let host: IncomingMessage | undefined;
  const begun = Promise.withResolvers<void>();
  passing.on('/slow', async (request, response) => {
    host = request.pause();
    begun.resolve();
    response.on('close', () => undefined);
  });
  const length = 64 * 1024 * 1024;
  const piece = Buffer.alloc(65_536, 'u');
  let written = 0;
  const outgoing = httpRequest({
    host: '127.0.0.1',
    port: passing.rig.proxy.port,
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
  await standsStill(() => written);
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

describe('connections', () => {
  it('carry requests that came at once one after another, in order; further ones wait in the socket', async () => {
    const order: string[] = [];
    let release: () => void = () => undefined;
    passing.on('/first', (_, response) => {
      order.push('first');
      release = () => response.end('one');
    });
    passing.on('/second', (_, response) => {
      order.push('second');
      response.end('two');
    });
    const one = await passing.begin(
      ['/first', '/second', '/second'].map((path) => lines(`GET ${ELSEWHERE}${path} HTTP/1.1`, 'Host: x')).join(''),
    );
    await expect.poll(() => order).toEqual(['first']);
    release();
    await one.until(/one[\s\S]*two[\s\S]*two/);
    expect(order).toEqual(['first', 'second', 'second']);
    const greedy = await passing.begin(
      `${lines(`GET ${ELSEWHERE}/second HTTP/1.1`, 'Host: x').repeat(5000)}${toRaw('GET', 'Connection: close')}`,
    );
    expect((await greedy.ended()).split('two').length).toBe(5001);
  });

  it('end at the host when the client leaves in the midst of an answer, and of one that has not begun', async () => {
    for (const begun of ['HTTP/1.1 200 OK\r\n\r\npart', '']) {
      const host = Promise.withResolvers<Socket>();
      passing.answer = (_, socket) => {
        socket.write(begun);
        host.resolve(socket);
      };
      const one = await passing.begin(toRaw('GET'));
      const socket = await host.promise;
      const closed = new Promise((resolve) => socket.once('close', resolve));
      if (begun) await one.until('part');
      one.close();
      await closed;
    }
  });

  it('end at the host when the client leaves in the midst of an upload', async () => {
    const aborted = Promise.withResolvers<boolean>();
    passing.on('/left', (request) => {
      request.on('error', () => undefined).on('close', () => aborted.resolve(!request.complete));
      request.resume();
    });
    const one = await passing.begin(
      `${lines(`POST ${ELSEWHERE}/left HTTP/1.1`, 'Host: x', 'Transfer-Encoding: chunked')}3\r\nabc\r\n`,
    );
    await expect.poll(() => passing.rig.host.requests.some(({ url }) => url === '/left')).toBe(true);
    one.close();
    expect(await aborted.promise).toBe(true);
  });

  it('of a client that ends its direction are over, as for Squid and nginx', async () => {
    let open = 0;
    passing.answer = (_, socket) => {
      open++;
      socket.on('close', () => open--);
    };
    const one = await passing.begin(toRaw('GET'));
    await expect.poll(() => open).toBe(1);
    one.socket.end();
    expect(await one.ended()).toBe('');
    await expect.poll(() => open).toBe(0);
  });
});
