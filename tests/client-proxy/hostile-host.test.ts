/** Row 56 of the attack list: malformed answers of a content host, for documents and for what passes through. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { refusalCode, send, sendRaw } from '../support/http-client.ts';
import { startRawHost } from '../support/raw-http.ts';
import { type ReaderRig, startReaderRig } from '../support/reader-rig.ts';

const SECRET = 'unsigned and unwanted';

let rig: ReaderRig;
let host: Awaited<ReturnType<typeof startRawHost>>;
let answer: (head: string, socket: Socket) => void;
beforeAll(async () => {
  host = await startRawHost((head, socket) => {
    const [, path = ''] = /^GET (\S+) /.exec(head) ?? [];
    if (path.startsWith('/.well-known/')) sendFile(socket, rig.host.files.get(path));
    else answer(head, socket);
  });
  rig = await startReaderRig({ proxy: { connectTo: [parseConnectTo(`:80:127.0.0.1:${host.port}`)] } });
});
afterAll(async () => {
  await rig.close();
  await host.close();
});
beforeEach(async () => {
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
  answer = (_head, socket) => socket.destroy();
});
afterEach(async () => {
  // Whatever came: the proxy lives on, and reads a good document.
  const object = await rig.publisher.publish(rig.host.files, '/good.html', { content: 'good' });
  answer = (_head, socket) => sendFile(socket, object);
  expect((await send(rig.proxy.port, rig.url('/good.html'))).text).toBe('good');
});

/** Properly. */
function sendFile(socket: Socket, file: Uint8Array | undefined): void {
  if (!file) return void socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${file.length}\r\n\r\n`);
  socket.write(file);
}

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
    answer = (_head, socket) => socket.end(bytes, 'latin1');
    const got = await send(rig.proxy.port, rig.url('/a.html'));
    expect(got.status).toBe(502);
    expect(['content-host-answer', 'content-host-unreachable', 'head-unexpected']).toContain(refusalCode(got));
    expect(got.text).not.toContain(SECRET);
    expect(got.complete).toBe(true);
  });

  it('that begins with a 100 that was not asked for is an answer like any other when it should pass through', async () => {
    answer = (_head, socket) =>
      socket.end('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 'latin1');
    const got = await send(rig.proxy.port, 'http://elsewhere.example/a.html');
    expect([got.status, got.text]).toEqual([200, 'ok']);
  });

  it.each(MALFORMED.filter(([what]) => !what.startsWith('100')))(
    'with %s is a clean 502 when it should pass through',
    async (_, bytes) => {
      answer = (_head, socket) => socket.end(bytes, 'latin1');
      const got = await send(rig.proxy.port, 'http://elsewhere.example/a.html');
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
      answer = (_head, socket) => socket.end(`HTTP/1.1 ${status}\r\n${field}\r\n\r\n`, 'latin1');
      const got = await send(rig.proxy.port, 'http://elsewhere.example/a.html');
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
    answer = (_head, socket) => socket.write(`HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n`);
    const got = await send(rig.proxy.port, 'http://elsewhere.example/a.html', { method });
    expect([refusalCode(got), got.status, got.complete]).toEqual([undefined, Number(status.slice(0, 3)), true]);
    expect(got.headers.trailer).toBeUndefined();
  });

  it('of a host that switches protocols unasked ends its connection, and a reset on top of it does no harm', async () => {
    const unasked = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n';
    const closed: Promise<unknown>[] = [];
    answer = (head, socket) => {
      closed.push(once(socket, 'close'));
      socket.write(unasked, () => head.includes('reset') && socket.resetAndDestroy());
    };
    for (const path of ['left', ...Array(50).fill('reset')]) {
      const got = await send(rig.proxy.port, `http://elsewhere.example/${path}`);
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
    const bytes = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${SECRET}\r\n0\r\n\r\n`;
    answer = (_head, socket) => socket.end(bytes, 'latin1');
    const document = await send(rig.proxy.port, rig.url('/a.html'));
    expect([document.status, document.text.includes(SECRET)]).toEqual([502, false]);
    const passed = await send(rig.proxy.port, 'http://elsewhere.example/a.html');
    expect(passed.complete && passed.status === 200).toBe(false);
  });

  it('that ends before its length is visibly incomplete', async () => {
    answer = (_head, socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${SECRET}`, 'latin1');
    const document = await send(rig.proxy.port, rig.url('/a.html'));
    expect([document.status, document.text.includes(SECRET)]).toEqual([502, false]);
    const passed = await send(rig.proxy.port, 'http://elsewhere.example/a.html');
    expect([passed.text, passed.complete]).toEqual([SECRET, false]);
  });

  it('after a hundred interim answers is still just an answer', async () => {
    const object = await rig.publisher.publish(rig.host.files, '/a.html', { content: 'late' });
    answer = (_head, socket) => {
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(100));
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${object.length}\r\n\r\n`);
      socket.write(object);
    };
    expect((await send(rig.proxy.port, rig.url('/a.html'))).text).toBe('late');
  });

  it('writes no control characters by way of a status text', async () => {
    const bad = 'O\0P\x1b[2J';
    answer = (_head, socket) => {
      socket.write(`HTTP/1.1 103 ${bad}\r\nLink: </x>\r\n\r\n`, 'latin1');
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 'latin1');
    };
    const ask = (url: string) => sendRaw(rig.proxy.port, `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(await ask('http://elsewhere.example/')).toMatch(
      /^HTTP\/1.1 103 Early Hints\r\n[\s\S]*^HTTP\/1.1 200 OK\r\n[\s\S]*\r\n\r\nok$/m,
    );
    answer = (_head, socket) => socket.end(`HTTP/1.1 200 ${bad}\r\nContent-Length: 2\r\n\r\nok`, 'latin1');
    expect(await ask('http://elsewhere.example/')).toMatch(/^HTTP\/1.1 502 [\s\S]*^wispr-refusal: host-answer\r$/m);
  });

  it.each([
    ['a document', 'content-host-answer', () => rig.url('/a.html')],
    ['what passes through', 'host-answer', () => 'http://elsewhere.example/'],
  ])('of interim answers without end is cut off, for %s', async (_, code, url) => {
    let open = 0;
    answer = (_head, socket) => {
      open++;
      socket.on('close', () => open--);
      const more = () => {
        while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50)));
      };
      socket.on('drain', more);
      more();
    };
    const got = await send(rig.proxy.port, url());
    expect([got.status, refusalCode(got)]).toEqual([502, code]);
    await expect.poll(() => open).toBe(0);
  });

  it('that was given up, and goes on in drops, holds no connection after the request', async () => {
    let open = 0;
    answer = (head, socket) => {
      open++;
      socket.on('close', () => open--);
      if (!head.includes('.protected')) socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
      else socket.write('HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n'); // and no end
    };
    expect(refusalCode(await send(rig.proxy.port, rig.url('/a.html')))).toBe('object-missing');
    await expect.poll(() => open, { timeout: 3000 }).toBe(0);
  });

  it('in chunks of one byte is the document all the same', async () => {
    const content = randomBytes(200_000);
    const object = Buffer.from(await rig.publisher.publish(rig.host.files, '/a.html', { content }));
    const crumbs = Buffer.alloc(6 * object.length, '1\r\n_\r\n');
    for (let index = 0; index < object.length; index++) crumbs[6 * index + 3] = object[index] ?? 0;
    answer = (_head, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write(crumbs);
      socket.write('0\r\n\r\n');
    };
    expect((await send(rig.proxy.port, rig.url('/a.html'))).body.equals(content)).toBe(true);
  });

  it('without end is bounded by the signed length', async () => {
    const object = await rig.publisher.publish(rig.host.files, '/a.html', { content: Buffer.alloc(200_000, 'x') });
    let sent = 0;
    answer = (_head, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.write(object);
      const more = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      socket.on('drain', more);
      more();
    };
    const got = await send(rig.proxy.port, rig.url('/a.html'));
    expect([got.status, got.complete]).toEqual([200, false]);
    expect(got.body.length).toBeLessThan(200_000);
    expect(sent).toBeLessThan(20_000_000);
  });

  it('with an endless body that is no object at all is cut off', async () => {
    let ended = false;
    answer = (_head, socket) => {
      socket.on('close', () => {
        ended = true;
      });
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const more = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536, 'x')));
      };
      socket.on('drain', more);
      more();
    };
    expect(refusalCode(await send(rig.proxy.port, rig.url('/a.html')))).toBe('head-unexpected');
    await expect.poll(() => ended).toBe(true);
  });

  it.each([
    ['the head of an answer', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['an object', 'HTTP/1.1 200 OK\r\n\r\n', 'w'],
    ['the blocks of a document that was read before', 'HTTP/1.1 200 OK\r\n\r\n', 'x'],
  ])('that only ever promises %s is given up in time', async (what, head, drop) => {
    const path = `/${encodeURIComponent(what)}.bin`;
    const object = await rig.publisher.publish(rig.host.files, decodeURIComponent(path), {
      content: Buffer.alloc(3_000_000),
    });
    if (what.endsWith('before')) {
      answer = (_head, socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${object.length}\r\n\r\n`);
        socket.write(object);
      };
      expect((await send(rig.proxy.port, rig.url(path))).complete).toBe(true);
    }
    let open = 0;
    answer = (_head, socket) => {
      open++;
      socket.write(head);
      // Seven drops within the time: too few to be anything that could be refused for what it is.
      const drip = setInterval(() => socket.write(drop), 100);
      socket.on('close', () => {
        open--;
        clearInterval(drip);
      });
    };
    try {
      Object.assign(rig.limits, { openTimeout: 700 });
      const got = await send(rig.proxy.port, rig.url(path), { headers: { range: 'bytes=2900000-2900009' } });
      expect([got.status, refusalCode(got)]).toEqual([502, 'content-host-unreachable']);
    } finally {
      Object.assign(rig.limits, DEFAULT_LIMITS);
    }
    await expect.poll(() => open).toBe(0);
  });

  it('by a host that is not there is a clean 502', async () => {
    const gone = await startRawHost((_head, socket) => socket.destroy());
    await gone.close();
    const lost = await startReaderRig({ proxy: { connectTo: [parseConnectTo(`:80:127.0.0.1:${gone.port}`)] } });
    try {
      expect(refusalCode(await send(lost.proxy.port, lost.url('/a.html')))).toBe('content-host-unreachable');
      expect(refusalCode(await send(lost.proxy.port, 'http://elsewhere.example/'))).toBe('host-unreachable');
    } finally {
      await lost.close();
    }
  });
});

describe('several content hosts', () => {
  it('stand in for one another where one is gone, or has a fault', async () => {
    const gone = await startRawHost((_head, socket) => socket.destroy());
    await gone.close();
    const faulty = await startRawHost((_head, socket) =>
      socket.write('HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy'),
    );
    const content = [gone, faulty].map(({ port }) => `http://127.0.0.1:${port}`);
    const carried = await startReaderRig({
      sites: ({ origin }) => [
        { site: 'news.example', content: [...content, origin], reading: 'https://read.news.example' },
      ],
    });
    try {
      await carried.publisher.publish(carried.host.files, '/a.html', { content: 'from the third' });
      expect((await send(carried.proxy.port, carried.url('/a.html'))).text).toBe('from the third');
      expect(refusalCode(await send(carried.proxy.port, carried.url('/none.html')))).toBe('no-such-document');
    } finally {
      await carried.close();
      await faulty.close();
    }
  });
});

describe('a client that leaves', () => {
  it('ends what was fetched for it', async () => {
    let closed = false;
    const object = await rig.publisher.publish(rig.host.files, '/long.bin', { content: Buffer.alloc(300_000) });
    answer = (_head, socket) => {
      socket.on('close', () => {
        closed = true;
      });
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${object.length}\r\n\r\n`);
      socket.write(object.subarray(0, 150_000)); // and then nothing
    };
    await new Promise<void>((resolve) => {
      const outgoing = request({ host: '127.0.0.1', port: rig.proxy.port, path: rig.url('/long.bin') }, (got) => {
        got.once('data', () => outgoing.destroy());
        got.on('error', () => resolve());
      });
      outgoing.on('error', () => resolve());
      outgoing.end();
    });
    await expect.poll(() => closed).toBe(true);
  });

  it('ends it before its head is there, too, and while interim answers come', async () => {
    await rig.publisher.publish(rig.host.files, '/never.html', { content: 'never' });
    rig.refusals.length = 0;
    for (const bytes of ['', 'HTTP/1.1 103 Early Hints\r\n\r\n']) {
      let [asked, open] = [0, 0];
      answer = (_head, socket) => {
        asked++;
        open++;
        socket.on('close', () => open--);
        socket.write(bytes);
      };
      const outgoing = request({ host: '127.0.0.1', port: rig.proxy.port, path: rig.url('/never.html') });
      outgoing.on('error', () => undefined);
      outgoing.end();
      await expect.poll(() => asked).toBe(1);
      outgoing.destroy();
      await expect.poll(() => open, { timeout: 3000 }).toBe(0);
      expect(asked).toBe(1);
    }
    await send(rig.proxy.port, 'gopher://news.example/');
    expect(rig.refusals.map(({ code }) => code)).toEqual(['bad-request']); // those were not refused
  });
});
