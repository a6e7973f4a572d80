/** Connections to hosts that are kept for the next request: for how long, and what happens to a request while one closes. */
import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { Upstream } from '../../client-proxy/network/upstream.ts';
import { fetchBody } from '../../client-proxy/site/fetch-body.ts';
import { refusalCode, type Sent, send } from '../support/http-client.ts';
import { startRawHost } from '../support/raw-http.ts';
import { type ReaderRig, startReaderRig } from '../support/reader-rig.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const ok = (head: string, socket: Socket) => void socket.write(head.startsWith('HEAD') ? OK.replace(/ok$/, '') : OK);

let host: Awaited<ReturnType<typeof startRawHost>>;
let answer: (head: string, socket: Socket) => void;
let asked = 0;
beforeAll(async () => {
  host = await startRawHost((head, socket) => {
    asked++;
    answer(head, socket);
  });
});
afterAll(() => host.close());
beforeEach(() => {
  asked = 0;
});

/** Options of a Reader that reaches every host at one place. */
const way = (place: string, byParent: boolean) =>
  byParent ? { parentProxy: `http://${place}` } : { connectTo: [parseConnectTo(`:80:${place}`)] };

/** A failure here would wait for long. */
const SOON = { timeout: 10_000 };

describe('a host that says that it keeps connections for ten minutes', () => {
  const limits = { ...DEFAULT_LIMITS, keptIdle: 100 };

  it.each([
    ['what passes through', false],
    ['what passes through, by way of a parent proxy', true],
  ])('keeps none longer than others, for %s', SOON, async (_, byParent) => {
    const closed = Promise.withResolvers<void>();
    answer = (_head, socket) => {
      socket.on('close', () => closed.resolve());
      socket.write(OK.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=600\r\n\r\n'));
    };
    const place = `127.0.0.1:${host.port}`;
    const rig = await startReaderRig();
    await rig.restart({ ...way(place, byParent), limits });
    expect((await send(rig.proxy.port, 'http://a.example/')).text).toBe('ok');
    await closed.promise;
    await rig.close();
  });

  it.each([
    ['content', false],
    ['content, by way of a parent proxy', true],
  ])('keeps none longer than others, for %s', SOON, async (_, byParent) => {
    const closed = Promise.withResolvers<void>();
    answer = (_head, socket) => {
      socket.on('close', () => closed.resolve());
      socket.write(OK.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=600\r\n\r\n'));
    };
    const place = `127.0.0.1:${host.port}`;
    const upstream = new Upstream({ ...way(place, byParent), limits });
    const { body } = await fetchBody(upstream, 'http://a.example', { path: '/' }, new AbortController().signal);
    await body.return();
    await closed.promise;
    await upstream.close();
  });
});

type End = (socket: Socket) => void;
const written = (bytes: string, end: End) => (socket: Socket) => void socket.write(bytes, () => end(socket));
const finish: End = (socket) => void socket.end();
const reset: End = (socket) => void socket.resetAndDestroy();
const stay: End = () => undefined;
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';
/** What a host may do after it has begun to answer. */
const BEGUN: [string, End][] = [
  ['half a first line, and is closed', written('HTTP/1.1 20', finish)],
  ['half a head, and is closed', written('HTTP/1.1 200 OK\r\nX-', finish)],
  [
    'half a head, and is reset',
    (socket) => written('HTTP/1.1 200 OK\r\nX-', () => setImmediate(reset, socket))(socket),
  ],
  ['103, and is closed', written(HINTS, finish)],
  ['103, and is reset', (socket) => written(HINTS, () => setImmediate(reset, socket))(socket)],
  ['another protocol', written('SSH-2.0-x\r\n', finish)],
  ['a malformed field', written('HTTP/1.1 200 OK\r\nX Y: z\r\n\r\n', stay)],
  ['a malformed 100', written('HTTP/1.1 100 Continue\r\nX Y: z\r\n\r\n', stay)],
  ['101 unasked', written('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', finish)],
];

/** Requests without a body. */
const KINDS: [string, Sent][] = [
  ['a GET', {}],
  ['a HEAD', { method: 'HEAD' }],
];

describe.each(KINDS)('%s', (_kind, kind) => {
  let rig: ReaderRig;
  beforeAll(async () => {
    rig = await startReaderRig();
    await rig.restart({ connectTo: [parseConnectTo(`:80:127.0.0.1:${host.port}`)] });
  });
  afterAll(() => rig.close());

  let places = 0;
  /** Each host has connections of its own. */
  const somewhere = () => `http://host${places++}.example/`;
  const ask = (url: string) => send(rig.proxy.port, url, kind);

  it.each([['nothing, and is closed', finish] as const, ['nothing, and is reset', reset] as const, ...BEGUN])(
    'is sent once where a new connection gives %s',
    async (_, end) => {
      answer = (_head, socket) => end(socket);
      const got = await ask(somewhere());
      expect([got.status, asked]).toEqual([502, 1]);
      expect(['host-answer', 'host-unreachable']).toContain(refusalCode(got));
    },
  );

  it.each(BEGUN)('is sent once where a kept connection gives %s', async (_, end) => {
    const url = somewhere();
    answer = ok;
    expect((await ask(url)).status).toBe(200);
    answer = (_head, socket) => end(socket);
    expect([(await ask(url)).status, asked]).toEqual([502, 2]);
  });

  it.each([
    ['nothing, and is closed', finish],
    ['nothing, and is reset', reset],
  ])('is sent again, and not more often, where a kept connection gives %s', async (_, end) => {
    const url = somewhere();
    const sockets = new Set<Socket>();
    answer = (head, socket) => {
      if (sockets.has(socket)) end(socket);
      else ok(head, socket);
      sockets.add(socket);
    };
    for (const expected of [1, 3]) expect([(await ask(url)).status, asked]).toEqual([200, expected]);
    expect(sockets.size).toBe(2);
  });
});

describe('a parent proxy that closes a kept connection', () => {
  let rig: ReaderRig;
  beforeAll(async () => {
    rig = await startReaderRig();
    await rig.restart({ parentProxy: `http://127.0.0.1:${host.port}` });
  });
  afterAll(() => rig.close());

  it.each(KINDS)('is sent %s again', async (_, kind) => {
    const sockets = new Set<Socket>();
    answer = (head, socket) => {
      if (sockets.has(socket)) socket.destroy();
      else ok(head, socket);
      sockets.add(socket);
    };
    const url = 'http://host.example/';
    for (const _ of ['first', 'again']) expect((await send(rig.proxy.port, url, kind)).status).toBe(200);
    expect([sockets.size, asked]).toEqual([2, 3]);
  });
});

describe('a host that says nothing for too long', () => {
  let rig: ReaderRig;
  beforeAll(async () => {
    rig = await startReaderRig();
    const limits = { ...DEFAULT_LIMITS, passingSilence: 100 };
    await rig.restart({ connectTo: [parseConnectTo(`:80:127.0.0.1:${host.port}`)], limits });
  });
  afterAll(() => rig.close());

  it.each(KINDS)('on a kept connection is sent %s once', async (name, kind) => {
    const url = `http://${name.replaceAll(' ', '-')}.example/`;
    answer = ok;
    expect((await send(rig.proxy.port, url, kind)).status).toBe(200);
    answer = () => undefined;
    const got = await send(rig.proxy.port, url, kind);
    expect([got.status, refusalCode(got), asked]).toEqual([502, 'host-unreachable', 2]);
  });
});
