/**
 * Rows 52 to 56 of the attack list: messages that two programs could read in two ways. None is passed on, in either direction; and what is
 * passed on says one thing only.
 */
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { passingRig, RAW } from '../support/passing-rig.ts';

const passing = passingRig();
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
beforeEach(() => passing.says(OK));
afterEach(async () => {
  // The proxy lives on, whatever came.
  passing.says(OK);
  expect((await passing.ask()).text).toBe('ok');
});

const POST = 'POST http://raw.example/ HTTP/1.1\r\nHost: raw.example\r\n';
/** Follows every probe on the same connection: a server that takes it for a request of its own was deceived. */
const SMUGGLED = 'GET http://raw.example/smuggled HTTP/1.1\r\nHost: raw.example\r\n\r\n';
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;

/** Expects of bytes that are no request: one answer, the end of the connection, and nothing whole at the host. */
async function expectRefusal(bytes: string, statuses: readonly number[] = [400]): Promise<void> {
  const text = await passing.sendRaw(bytes + SMUGGLED);
  expect(text.match(/^HTTP\/1.1 \d+/gm)).toHaveLength(1);
  expect(statuses).toContain(Number(text.slice(9, 12)));
  expect(text).toMatch(/^connection: close\r$/im);
  expect(passing.heads.filter((head) => head.includes('smuggled'))).toEqual([]);
}

describe('attack 52: a length said twice, or in a way of its own', () => {
  it.each([
    ['a length and chunks', `${POST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks and a length', `${POST}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${POST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
    ['the same length twice', `${POST}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`],
    ['a list of lengths', `${POST}Content-Length: 3, 3\r\n\r\nabc`],
    ['a length with a sign', `${POST}Content-Length: +3\r\n\r\nabc`],
    ['a negative length', `${POST}Content-Length: -3\r\n\r\nabc`],
    ['a length in hex', `${POST}Content-Length: 0x3\r\n\r\nabc`],
    ['two numbers', `${POST}Content-Length: 3 4\r\n\r\nabc`],
    ['no number', `${POST}Content-Length: \r\n\r\nabc`],
    ['a length that overflows', `${POST}Content-Length: 18446744073709551619\r\n\r\nabc`],
    ['chunked that is not last', `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['identity', `${POST}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
    ['chunked twice', `${POST}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
    ['chunked in two fields', `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
    ['an unknown coding', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a coding after a vertical tab', `${POST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
    ['a coding in quotes', `${POST}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`],
    ['a coding with parameters', `${POST}Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n`],
    ['an empty coding', `${POST}Transfer-Encoding:\r\n\r\n0\r\n\r\n`],
    ['a folded coding', `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['a space before the colon', `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a length with a space before the colon', `${POST}Content-Length : 3\r\n\r\nabc`],
    ['chunks in HTTP/1.0', 'POST http://raw.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a coding before chunked', `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['identity in a field before', `${POST}Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ])('%s', (_, bytes) => expectRefusal(bytes));

  it('a tab behind chunked: nothing of the request goes on', async () => {
    const warm = `${POST}Connection: close\r\nContent-Length: 0\r\n\r\n`;
    expect(await passing.sendRaw(warm)).toMatch(/^HTTP\/1.1 200/); // a kept connection exists now
    passing.heads.length = 0;
    for (const coding of ['chunked\t', 'chunked \t ']) {
      const head = `${POST}Transfer-Encoding: ${coding}\r\n\r\n`;
      for (const pieces of [[`${head}2\r\nno\r\n0\r\n\r\n${SMUGGLED}`], [head], [head.slice(0, -1), '\n']]) {
        const client = await passing.begin();
        for (const piece of pieces) {
          client.send(piece);
          await setImmediate();
        }
        expect(await client.ended()).toMatch(/^HTTP\/1.1 400 [\s\S]*\r\n\r\n$/);
      }
    }
    expect(await passing.sendRaw(warm)).toMatch(/^HTTP\/1.1 200/);
    expect(passing.heads).toHaveLength(1);
  });

  it('chunks that are whole are answered though what comes behind them is no request, and those before the next request in their order', async () => {
    const whole = `${CHUNKED}2\r\nab\r\n0\r\n\r\n`;
    const farewell = await passing.sendRaw(`${whole}no request at all\r\n\r\n`);
    expect(farewell.match(/^HTTP\/1.1 \d+|^ok(?=HTTP)/gm)).toEqual(['HTTP/1.1 200', 'ok']);
    expect(farewell).toContain('okHTTP/1.1 400 ');
    passing.heads.length = 0;
    await passing.sendRaw(whole + SMUGGLED.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    expect(passing.heads.map((head) => head.split(' ')[0])).toEqual(['POST', 'GET']);
  });

  it('in whatever case and with whatever spaces: one length goes on', async () => {
    for (const field of [
      'transfer-encoding:chunked',
      'TRANSFER-ENCODING:   Chunked  ',
      'Content-Length: 3  ',
      'content-length:\t003',
    ]) {
      const body = /length/i.test(field) ? 'abc' : '3\r\nabc\r\n0\r\n\r\n';
      const text = await passing.sendRaw(`${POST}Connection: close\r\n${field}\r\n\r\n${body}`);
      expect(text).toMatch(/^HTTP\/1.1 200/);
    }
    const said = passing.heads.map((head) => head.match(/(?<=^(?:content-length|transfer-encoding): ).*$/gim));
    expect(said).toEqual([['chunked'], ['chunked'], ['3'], ['3']]);
    passing.ends('HTTP/1.1 200 OK\r\nContent-Length: 002\r\n\r\nok');
    expect((await passing.ask()).headers['content-length']).toBe('2');
  });
});

describe('attack 53: chunks', () => {
  it.each([
    ['0x', '0x3'],
    ['an underscore', '0_3'],
    ['a plus', '+3'],
    ['a minus', '-3'],
    ['a space before', ' 3'],
    ['a space after', '3 '],
    ['a tab after', '3\t'],
    ['an overflow', 'FFFFFFFFFFFFFFFFF'],
    ['an overflow that comes out right', '10000000000000003'],
    ['no digits', ''],
    ['no hex digit', 'G'],
    ['an extension with a line feed', '3;a\nb'],
    ['an extension with NUL', '3;a\0'],
    ['a quoted extension with a line end', '3;a="\r\nX"'],
    ['an extension without a name', '3;'],
    ['an extension after a space', '3 ;a'],
    ['extensions beyond all measure', `3;${'a'.repeat(40_000)}`],
  ])('with a size with %s', (_, size) => expectRefusal(`${CHUNKED}${size}\r\nabc\r\n0\r\n\r\n`, [400, 413]));

  it.each([
    ['a size that ends in a line feed', '3\nabc\r\n0\r\n\r\n'],
    ['a size that ends in a carriage return', '3\rabc\r\n0\r\n\r\n'],
    ['data that end in a line feed', '3\r\nabc\n0\r\n\r\n'],
    ['data without an end', '3\r\nabc0\r\n\r\n'],
    ['more data than was said', '3\r\nabcd\r\n0\r\n\r\n'],
    ['a last chunk that ends in line feeds', '3\r\nabc\r\n0\n\n'],
    ['a length among the trailers', '3\r\nabc\r\n0\r\nContent-Length: 5\r\n\r\n'],
    ['a coding among the trailers', '3\r\nabc\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a malformed trailer', '3\r\nabc\r\n0\r\nX T: 1\r\n\r\n'],
    ['trailers beyond all measure', `3\r\nabc\r\n0\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`],
  ])('with %s', async (_, body) => expectRefusal(CHUNKED + body, [400, 431]));

  it('with extensions pass without them', async () => {
    const text = await passing.sendRaw(
      `${POST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n0003;a="b\\"c";d\r\nabc\r\n0;x\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1.1 200/);
  });

  it('that go wrong in the midst are not ended cleanly for the host', async () => {
    const seen: string[] = [];
    const gone = Promise.withResolvers<void>();
    passing.answer = (_head, socket) => {
      socket.on('data', (part: Buffer) => seen.push(part.toString('latin1')));
      socket.on('close', () => gone.resolve());
    };
    const client = await passing.begin(`${CHUNKED}3\r\nabc\r\n`);
    await expect.poll(() => passing.heads.length).toBe(1);
    client.send('zz\r\n');
    expect(await client.ended()).toMatch(/^HTTP\/1.1 400 /);
    await gone.promise;
    expect(seen.join('')).not.toContain('0\r\n\r\n');
  });
});

describe('attack 54: bytes that have no place in a head', () => {
  it.each([
    ['NUL in a value', `${POST}X-A: a\0b\r\n\r\n`],
    ['NUL in a name', `${POST}X\0A: a\r\n\r\n`],
    ['a bare CR', `${POST}X-A: b\rX-B: c\r\n\r\n`],
    ['a bare LF', `${POST}X-A: b\nX-B: c\r\n\r\n`],
    ['line feeds only', `${POST.replaceAll('\r\n', '\n')}\n`],
    ['a control character', `${POST}X-A: a\x01b\r\n\r\n`],
    ['DEL', `${POST}X-A: a\x7fb\r\n\r\n`],
    ['a name beyond ASCII', `${POST}X\xff: a\r\n\r\n`],
    ['an empty name', `${POST}: a\r\n\r\n`],
    ['no colon', `${POST}abc\r\n\r\n`],
    ['a space in a name', `${POST}A b: c\r\n\r\n`],
    ['a folded line', `${POST}X-A: a\r\n b\r\n\r\n`],
    ['a folded line with a field in it', `${POST}X-A: a\r\n\tContent-Length: 3\r\n\r\nabc`],
    ['a space before the first field', 'POST http://raw.example/ HTTP/1.1\r\n Host: raw.example\r\n\r\n'],
    ['a space in the address', 'GET http://raw.example/ b HTTP/1.1\r\nHost: raw.example\r\n\r\n'],
    ['NUL in the address', 'GET http://raw.example/\0 HTTP/1.1\r\nHost: raw.example\r\n\r\n'],
    ['bytes beyond ASCII in the address', 'GET http://raw.example/\xe9 HTTP/1.1\r\nHost: raw.example\r\n\r\n'],
    ['tabs between the words', 'GET\thttp://raw.example/\tHTTP/1.1\r\nHost: raw.example\r\n\r\n'],
    ['a method in small letters', 'get http://raw.example/ HTTP/1.1\r\nHost: raw.example\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown version', 'GET http://raw.example/ HTTP/1.2\r\nHost: raw.example\r\n\r\n'],
    ['HTTP/2.0 on a request of HTTP/1.1', 'GET http://raw.example/ HTTP/2.0\r\nHost: raw.example\r\n\r\n'],
    ['HTTP/0.9 on a request of HTTP/1.1', 'GET http://raw.example/ HTTP/0.9\r\nHost: raw.example\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('%s', (_, bytes) => expectRefusal(bytes));

  it('a request of HTTP/0.9, which has no version', async () => {
    expect(await passing.sendRaw('GET http://raw.example/\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    expect(passing.heads).toEqual([]);
  });

  it('a head beyond all measure', () => expectRefusal(`${POST}X: ${'x'.repeat(40_000)}\r\n\r\n`, [431]));

  it('empty lines before a request are passed over', async () => {
    expect(await passing.sendRaw(`\r\n\r\n${POST}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 200/);
  });

  it('what follows a good request costs that one nothing, and gets no answer in its place', async () => {
    let release: () => void = () => undefined;
    passing.answer = (_head, socket) => {
      release = () => socket.write(OK);
    };
    const client = await passing.begin(
      `GET http://raw.example/ HTTP/1.1\r\nHost: raw.example\r\n\r\nno request at all\r\n\r\n`,
    );
    await expect.poll(() => passing.heads.length).toBe(1);
    expect(client.received()).toBe('');
    release();
    expect(await client.ended()).toMatch(/^HTTP\/1.1 200 OK[\s\S]*\r\n\r\nokHTTP\/1.1 400 Bad Request\r\n/);
  });

  it('what comes in the midst of an answer is not answered into it', async () => {
    passing.answer = (_head, socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegun');
    const client = await passing.begin(`GET http://raw.example/ HTTP/1.1\r\nHost: raw.example\r\n\r\n`);
    await client.until('begun');
    client.send('no request at all\r\n\r\n');
    expect(await client.ended()).toMatch(/\r\n\r\nbegun$/);
  });
});

describe('attack 55: the address and Host', () => {
  it('differ: the address decides, for the host as well', async () => {
    const text = await passing.sendRaw(
      'GET http://raw.example/ HTTP/1.1\r\nHost: news.example\r\nConnection: close\r\n\r\n',
    );
    expect(text).toMatch(/^HTTP\/1.1 200/);
    expect(passing.heads[0]).toMatch(/^Host: raw.example$/im);
    expect(passing.heads[0]).not.toContain('news.example');
    const bound = await passing.sendRaw(
      'GET http://news.example/none HTTP/1.1\r\nHost: raw.example\r\nConnection: close\r\n\r\n',
    );
    expect(bound).toMatch(/^wispr-refusal: no-such-document\r$/m);
  });

  it.each([
    ['two of them', 'GET http://raw.example/ HTTP/1.1\r\nHost: raw.example\r\nHost: news.example\r\n\r\n'],
    ['the same twice', 'GET http://raw.example/ HTTP/1.1\r\nHost: raw.example\r\nhost: raw.example\r\n\r\n'],
    ['none', 'GET http://raw.example/ HTTP/1.1\r\n\r\n'],
    ['with a space', 'GET http://raw.example/ HTTP/1.1\r\nHost: raw.example b\r\n\r\n'],
    ['with a path', 'GET http://raw.example/ HTTP/1.1\r\nHost: raw.example/x\r\n\r\n'],
    ['with a user', 'GET http://raw.example/ HTTP/1.1\r\nHost: me@raw.example\r\n\r\n'],
    ['a user in the address', 'GET http://me@raw.example/ HTTP/1.1\r\nHost: raw.example\r\n\r\n'],
    ['a backslash in the address', 'GET http://news.example\\@raw.example/ HTTP/1.1\r\nHost: raw.example\r\n\r\n'],
  ])('%s', (_, bytes) => expectRefusal(bytes));

  it('of a tunnel: two of them', async () => {
    const text = await passing.sendRaw('CONNECT raw.example:443 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1.1 400 /);
  });
});

const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';
const CHUNKS = 'Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n';

describe('attack 56: answers that could be read in two ways', () => {
  it.each([
    ['a coding before chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n'],
    ['chunked that is not last', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\nno'],
    ['identity', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nno'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nno'],
    ['a folded field', 'HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 1\r\nContent-Length: 2\r\n\r\nno'],
    ['the same length twice', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nno'],
    ['a bare CR beside line feeds', 'HTTP/1.1 200 OK\nX: a\rSet-Cookie: a\nContent-Length: 2\n\nno'],
    ['two lengths in lines that end in LF', 'HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\nno'],
    ['a folded field in lines that end in LF', 'HTTP/1.1 200 OK\nX: a\n Content-Length: 1\nContent-Length: 2\n\nno'],
    ['a length with a sign', 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nno'],
    ['lengths in a list', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nno'],
    ['a line end in the reason', 'HTTP/1.1 200 O\rSet-Cookie: a\r\nContent-Length: 2\r\n\r\nno'],
    ['a tab behind chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked \t\r\n\r\n2\r\nno\r\n0\r\n\r\n'],
    ['chunks in HTTP/1.0 behind an interim answer', `${HINTS}HTTP/1.0 200 OK\r\n${CHUNKS}`],
    ['HTTP/2.0 behind an interim answer', `${HINTS}HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nno`],
    ['HTTP/0.9 behind an interim answer', `${HINTS}${HINTS}HTTP/0.9 200 OK\r\nContent-Length: 2\r\n\r\nno`],
    ['chunks behind a first line beyond all measure', `HTTP/1.0 200 ${'x'.repeat(40_000)}\r\n${CHUNKS}`],
    ['a status below 100', 'HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nno'],
  ])('%s: a clean 502', async (_, bytes) => {
    passing.ends(bytes);
    const got = await passing.ask();
    expect([got.status, got.complete]).toEqual([502, true]);
    expect(got.text).not.toMatch(/\bno$/);
    expect(got.rawHeaders).not.toContain('Set-Cookie');
  });

  it('lines of a head that end in LF are accepted, however they come, and nothing but heads is changed', async () => {
    const body = '\n\nHTTP/1.1 100 Continue\n\n\r\n\n';
    const head = `HTTP/1.1 102 Processing\n\n${HINTS}HTTP/1.1 200 OK\nX-A: b\r\nX-C: d\nContent-Length: ${body.length}\n\n`;
    const chunks = `HTTP/1.1 200 OK\nX-A: b\nTransfer-Encoding: chunked\nX-C: d\r\n\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    for (const answer of [head + body, chunks])
      for (const pieces of [[answer], [...answer]]) {
        passing.answer = (_head, socket) => {
          socket.setNoDelay(true);
          for (const piece of pieces) socket.write(piece, 'latin1');
        };
        for (const _ of ['first', 'on the same connection']) {
          const got = await passing.ask();
          expect([got.status, got.text, got.headers['x-a'], got.headers['x-c']]).toEqual([200, body, 'b', 'd']);
        }
        expect(passing.open()).toBe(1);
      }
  });

  it('lines of chunks and trailers that end in LF are none', async () => {
    for (const rest of ['2\nno\r\n0\r\n\r\n', '2\r\nno\r\n0\r\nX: y\n\r\n']) {
      passing.ends(`HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n${rest}`);
      expect((await passing.ask()).complete).toBe(false);
    }
  });

  const CODINGS = [
    'chunked\t',
    'Chunked \t ',
    'gzip, chunked',
    'chunked\r\nTransfer-Encoding: chunked',
    'chunked\r\nX: y\r\nTransfer-Encoding: identity',
  ];

  it.each([
    ['GET', 'GET', ''],
    ['HEAD', 'HEAD', ''],
    ['POST', 'POST', 'Content-Length: 0\r\n'],
    ['a GET that welcomes trailers', 'GET', 'TE: trailers\r\n'],
    ['a request for an upgrade', 'GET', 'Upgrade: websocket\r\nConnection: upgrade\r\n'],
  ])('a tab behind chunked, or another coding with it, for %s: a clean 502', async (_, method, fields) => {
    for (const coding of CODINGS) {
      const bytes = `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n2\r\nno\r\n0\r\n\r\n`;
      passing.ends(bytes);
      const text = await passing.sendRaw(
        `${method} http://raw.example/ HTTP/1.1\r\nHost: raw.example\r\nConnection: close\r\n${fields}\r\n`,
      );
      expect(text).toMatch(/^HTTP\/1.1 502 /);
      expect(text).toMatch(/^wispr-refusal: host-answer\r$/m);
      expect(text).not.toContain('\r\nno\r\n');
    }
  });

  it('a tab behind chunked that stands in an interim answer or in the body is none of the answer', async () => {
    const tab = 'Transfer-Encoding: chunked\t\r\n\r\n';
    const bytes = `HTTP/1.1 103 Early Hints\r\n${tab}HTTP/1.1 200 OK\r\nTRANSFER-ENCODING:\tChunked  \r\n\r\n`;
    for (const pieces of [[bytes], [...bytes]]) {
      passing.answer = (_head, socket) => {
        socket.setNoDelay(true);
        for (const piece of pieces) socket.write(piece, 'latin1');
        socket.write(`${tab.length.toString(16)}\r\n${tab}\r\n0\r\n\r\n`);
      };
      const got = await passing.ask(RAW, { method: 'POST' });
      expect([got.status, got.text]).toEqual([200, tab]);
    }
  });

  it('an answer that was not asked for is no answer to the next request', async () => {
    const sockets: Socket[] = [];
    passing.answer = (_head, socket) => {
      sockets.push(socket);
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison');
    };
    expect((await passing.ask()).text).toBe('ok');
    passing.says(OK);
    for (let round = 0; round < 5; round++) expect((await passing.ask()).text).toBe('ok');
  });
});
