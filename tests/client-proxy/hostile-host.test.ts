/** Row 56 of the attack list: malformed answers of a content host, for documents and for what passes through. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { refusalCode, type Sent } from '../support/http-client.ts';
import { ELSEWHERE, lines, passingRig, sendFile } from '../support/passing-rig.ts';

const SECRET = 'unsigned and unwanted';

const ELSE = `${ELSEWHERE}/a.html`;
/** Rig in which every host is the one that answers in bytes. */
const passing = passingRig((place) => ({ connectTo: [parseConnectTo(`:80:${place}`)] }));
const publish = (path: string, content: string | Buffer) =>
  passing.rig.publisher.publish(passing.rig.host.files, path, { content });
/** Asks for a document. */
const read = (path = '/a.html', sent: Sent = {}) => passing.ask(passing.rig.url(path), sent);
let good: Uint8Array;
beforeAll(async () => {
  await publish('/a.html', 'signed');
  good = await publish('/good.html', 'good');
});
afterEach(async () => {
  // The proxy lives on, whatever came, and reads a good document.
  passing.answer = (_head, socket) => sendFile(socket, good);
  expect((await read('/good.html')).text).toBe('good');
});

/** Expects that no connection to the host is left open. */
const expectClosed = () => expect.poll(() => passing.open()).toBe(0);
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => `X-${index}: ${'x'.repeat(500)}\r\n`).join('');

const MALFORMED: [string, string][] = [
  ['two lengths', `HTTP/1.1 200 OK\r\nContent-Length: 21\r\nContent-Length: 22\r\n\r\n${SECRET}`],
  ['a length that is no number', `HTTP/1.1 200 OK\r\nContent-Length: 0x15\r\n\r\n${SECRET}`],
  ['a negative length', `HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n${SECRET}`],
  ['a length that overflows', `HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n${SECRET}`],
  [
    'a length and chunks',
    `HTTP/1.1 200 OK\r\nContent-Length: 21\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n${SECRET}\r\n0\r\n\r\n`,
  ],
  ['HTTP/0.9', `<p>${SECRET}</p>`],
  ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['an empty status line', `\r\n\r\n${SECRET}`],
  ['a status of two digits', `HTTP/1.1 20 OK\r\n\r\n${SECRET}`],
  ['a control character in its status text', `HTTP/1.1 200 O\x01K\r\nContent-Length: 21\r\n\r\n${SECRET}`],
  ['a NUL in a field', `HTTP/1.1 200 OK\r\nX-A: a\0b\r\nContent-Length: 21\r\n\r\n${SECRET}`],
  ['a bare CR in a field', `HTTP/1.1 200 OK\r\nX-A: a\rb\r\nContent-Length: 21\r\n\r\n${SECRET}`],
  ['a space before the colon', `HTTP/1.1 200 OK\r\nContent-Length : 21\r\n\r\n${SECRET}`],
  ['fields beyond the bound', `HTTP/1.1 200 OK\r\n${many(100)}\r\n${SECRET}`],
  [
    '101 that was not asked for',
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n${SECRET}`,
  ],
  ['100 that was not asked for', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n${SECRET}`],
  ['nothing at all', ''],
];

describe('attack 56: a malformed answer', () => {
  it.each(MALFORMED)('with %s is a clean 502 instead of a document', async (_, bytes) => {
    passing.ends(bytes);
    const got = await read();
    expect(got.status).toBe(502);
    expect(['content-host-answer', 'content-host-unreachable', 'head-unexpected']).toContain(refusalCode(got));
    expect(got.text).not.toContain(SECRET);
    expect(got.complete).toBe(true);
  });

  it('that begins with a 100 that was not asked for is an answer like any other when it should pass through', async () => {
    passing.ends('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    const got = await passing.ask(ELSE);
    expect([got.status, got.text]).toEqual([200, 'ok']);
  });

  it.each(MALFORMED.filter(([what]) => !what.startsWith('100')))(
    'with %s is a clean 502 when it should pass through',
    async (_, bytes) => {
      passing.ends(bytes);
      const got = await passing.ask(ELSE);
      expect([got.status, got.complete]).toEqual([502, true]);
      expect(['host-answer', 'host-unreachable']).toContain(refusalCode(got));
    },
  );

  it.each([
    ['304 Not Modified', 'X: a\x7f'],
    ['304 Not \x7f', 'X: a'],
    ['204 \x01', 'Trailer: x'],
  ])(
    'with %s and %j, which cannot be passed on, leaves nothing behind in the page that comes instead',
    async (status, field) => {
      passing.ends(`HTTP/1.1 ${status}\r\n${field}\r\n\r\n`);
      const got = await passing.ask(ELSE);
      expect([refusalCode(got), got.status, got.complete]).toEqual(['host-answer', 502, true]);
      expect(got.text).toContain('</html>');
      expect(got.headers.date).toBeDefined();
    },
  );

  it.each([
    ['GET', '204 No Content'],
    ['GET', '304 Not Modified'],
    ['HEAD', '200 OK'],
  ])('that announces trailers for a body that never comes passes without them: %s, %s', async (method, status) => {
    passing.says(`HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n`);
    const got = await passing.ask(ELSE, { method });
    expect([refusalCode(got), got.status, got.complete]).toEqual([undefined, Number(status.slice(0, 3)), true]);
    expect(got.headers.trailer).toBeUndefined();
  });

  it('of a host that switches protocols unasked ends its connection, and a reset on top of it does no harm', async () => {
    const unasked = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n';
    const closed: Promise<unknown>[] = [];
    passing.answer = (head, socket) => {
      closed.push(once(socket, 'close'));
      socket.write(unasked, () => head.includes('reset') && socket.resetAndDestroy());
    };
    for (const path of ['left', ...Array(10).fill('reset')]) {
      const got = await passing.ask(`http://elsewhere.example/${path}`);
      expect([got.status, got.complete]).toEqual([502, true]);
      expect(['host-answer', 'host-unreachable']).toContain(refusalCode(got));
    }
    await Promise.all(closed);
  });

  it.each([
    ['too large', 'FFFFFFFFFFFFFFFFF'],
    ['with 0x', '0x15'],
    ['with an underscore', '1_5'],
    ['with a sign', '+15'],
  ])('with a chunk size %s releases nothing', async (_, size) => {
    passing.ends(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${SECRET}\r\n0\r\n\r\n`);
    const document = await read();
    expect([document.status, document.text.includes(SECRET)]).toEqual([502, false]);
    const passed = await passing.ask(ELSE);
    expect(passed.complete && passed.status === 200).toBe(false);
  });

  it('after a hundred interim answers is still just an answer', async () => {
    const object = await publish('/a.html', 'late');
    passing.answer = (_head, socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(100));
      sendFile(socket, object);
    };
    expect((await read()).text).toBe('late');
  });

  it('writes no control characters by way of a status text', async () => {
    const bad = 'O\0P\x1b[2J';
    passing.ends(`HTTP/1.1 103 ${bad}\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`);
    const ask = (url: string) => passing.sendRaw(`GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(await ask('http://elsewhere.example/')).toMatch(
      /^HTTP\/1.1 103 Early Hints\r\n[\s\S]*^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\nok$/m,
    );
    passing.ends(`HTTP/1.1 200 ${bad}\r\nContent-Length: 2\r\n\r\nok`);
    expect(await ask('http://elsewhere.example/')).toMatch(/^HTTP\/1.1 502 [\s\S]*^wispr-refusal: host-answer\r$/m);
  });

  it.each([
    ['a document', 'content-host-answer', () => passing.rig.url('/a.html')],
    ['what passes through', 'host-answer', () => 'http://elsewhere.example/'],
  ])('of interim answers without end is cut off, for %s', async (_, code, url) => {
    passing.floods('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50));
    const got = await passing.ask(url());
    expect([got.status, refusalCode(got)]).toEqual([502, code]);
    await expectClosed();
  });

  it('that was given up, and goes on in drops, holds no connection after the request', async () => {
    passing.says('HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n'); // lacks an end
    expect(refusalCode(await read())).toBe('object-missing');
    await expectClosed();
  });

  it('in chunks of one byte is the document all the same', async () => {
    const content = randomBytes(70_000); // two blocks
    const object = Buffer.from(await publish('/a.html', content));
    const crumbs = Buffer.alloc(6 * object.length, '1\r\n_\r\n');
    for (let index = 0; index < object.length; index++) crumbs[6 * index + 3] = object[index] ?? 0;
    passing.answer = (_head, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write(crumbs);
      socket.write('0\r\n\r\n');
    };
    expect((await read()).body.equals(content)).toBe(true);
  });

  it('without end is bounded by the signed length', async () => {
    const object = await publish('/a.html', Buffer.alloc(200_000, 'x'));
    let sent = 0;
    passing.floods(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), object]), Buffer.alloc(65_536));
    const { answer } = passing;
    passing.answer = (head, socket) => {
      socket.on('close', () => (sent += socket.bytesWritten));
      answer(head, socket);
    };
    const got = await read();
    expect([got.status, got.complete]).toEqual([200, false]);
    expect(got.body.length).toBeLessThan(200_000);
    await expectClosed();
    expect(sent).toBeLessThan(20_000_000);
  });

  it.each([
    ['the head of an answer', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['an object', 'HTTP/1.1 200 OK\r\n\r\n', 'w'],
    ['the blocks of a document that was read before', 'HTTP/1.1 200 OK\r\n\r\n', 'x'],
  ])('that only ever promises %s is given up in time', async (what, head, drop) => {
    const path = `/${encodeURIComponent(what)}.bin`;
    const object = await publish(decodeURIComponent(path), Buffer.alloc(3_000_000));
    passing.answer = (_head, socket) => sendFile(socket, object);
    if (what.endsWith('before')) expect((await read(path)).complete).toBe(true);
    passing.answer = (_head, socket) => {
      // Seven drops within the time: too few to be anything that could be refused for what it is.
      const drip = setInterval(() => socket.write(drop), 40);
      socket.on('close', () => clearInterval(drip)).write(head);
    };
    try {
      Object.assign(passing.rig.limits, { openTimeout: 300 });
      const got = await read(path, { headers: { range: 'bytes=2900000-2900009' } });
      expect([got.status, refusalCode(got)]).toEqual([502, 'content-host-unreachable']);
    } finally {
      Object.assign(passing.rig.limits, DEFAULT_LIMITS);
    }
    await expectClosed();
  });
});

describe('a client that leaves', () => {
  const get = (path: string) => passing.begin(lines(`GET ${passing.rig.url(path)} HTTP/1.1`, 'Host: news.example'));

  it('ends it before its head is there, too, and while interim answers come', async () => {
    passing.rig.refusals.length = 0;
    for (const bytes of ['', 'HTTP/1.1 103 Early Hints\r\n\r\n']) {
      passing.heads.length = 0;
      passing.says(bytes);
      const client = await get('/a.html');
      await expect.poll(() => passing.heads.length).toBe(1);
      client.close();
      await expectClosed();
      expect(passing.heads).toHaveLength(1);
    }
    await passing.ask('gopher://news.example/');
    expect(passing.rig.refusals.map(({ code }) => code)).toEqual(['bad-request']); // leaving is no refusal
  });
});
