/** Connections to hosts that are kept for the next request: for how long, and what happens to a request while one closes. */
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS } from '../../client-proxy/limits.ts';
import { Upstream } from '../../client-proxy/network/upstream.ts';
import { fetchBody } from '../../client-proxy/site/fetch-body.ts';
import { refusalCode, type Sent, send } from '../support/http-client.ts';
import { passingRig, type RawAnswer } from '../support/passing-rig.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const ok: RawAnswer = (head, socket) => socket.write(head.startsWith('HEAD') ? OK.replace(/ok$/, '') : OK);

/** Options of a Reader that reaches every host at one place. */
const way = (place: string, byParent: boolean) =>
  byParent ? { parentProxy: `http://${place}` } : { connectTo: [parseConnectTo(`:80:${place}`)] };
const passing = passingRig((place) => way(place, false));
const place = () => `127.0.0.1:${passing.raw.port}`;

it.each([
  ['directly', false],
  ['by way of a parent proxy', true],
])(
  'a host that says that it keeps connections for ten minutes keeps none longer than others: %s',
  async (_, byParent) => {
    let [opened, closed] = [0, 0];
    passing.answer = (_head, socket) => {
      opened++;
      socket.on('close', () => closed++).write(OK.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=600\r\n\r\n'));
    };
    const settings = { ...way(place(), byParent), limits: { ...DEFAULT_LIMITS, keptIdle: 100 } };
    const { port } = await passing.rig.another(settings);
    expect((await send(port, 'http://a.example/')).text).toBe('ok');
    const upstream = new Upstream(settings);
    const { body } = await fetchBody(upstream, 'http://a.example', { path: '/' }, new AbortController().signal);
    await body.return();
    await expect.poll(() => [opened, closed]).toEqual([2, 2]);
    await upstream.close();
  },
);

type End = (socket: Socket) => void;
const written = (bytes: string, end: End) => (socket: Socket) => void socket.write(bytes, () => end(socket));
const finish: End = (socket) => void socket.end();
const reset: End = (socket) => void socket.resetAndDestroy();
const stay: End = () => undefined;
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';
/** Ends of connections on which the host has begun to answer. */
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
  ['a DELETE', { method: 'DELETE' }],
];
/** Requests that are sent once: not idempotent, or with a body. */
const ONCE: [string, Sent][] = [
  ['a POST', { method: 'POST', body: 'abc' }],
  ['a PATCH without a body', { method: 'PATCH' }],
  ['a method that is not known to be idempotent', { method: 'PROPFIND' }],
  ['a PUT with a body', { method: 'PUT', body: 'abc' }],
];
/** Ends of connections that give nothing. */
const NOTHING: [string, End][] = [
  ['nothing, and is closed', finish],
  ['nothing, and is reset', reset],
];

/** Answers the first request on each connection. @returns the connections */
function answerOnce(end: End): Set<Socket> {
  const sockets = new Set<Socket>();
  passing.answer = (head, socket) => {
    if (sockets.has(socket)) end(socket);
    else ok(head, socket);
    sockets.add(socket);
  };
  return sockets;
}

describe.each(KINDS)('%s', (_kind, kind) => {
  let places = 0;
  /** Names a host that has no connection yet. */
  const somewhere = () => `http://${kind.method ?? 'get'}${places++}.example/`;
  const ask = (url: string) => passing.ask(url, kind);

  it.each([...NOTHING, ...BEGUN])('is sent once where a new connection gives %s', async (_, end) => {
    passing.answer = (_head, socket) => end(socket);
    const got = await ask(somewhere());
    expect([got.status, passing.heads.length]).toEqual([502, 1]);
    expect(['host-answer', 'host-unreachable']).toContain(refusalCode(got));
  });

  it.each(BEGUN)('is sent once where a kept connection gives %s', async (_, end) => {
    const url = somewhere();
    passing.answer = ok;
    expect((await ask(url)).status).toBe(200);
    passing.answer = (_head, socket) => end(socket);
    expect([(await ask(url)).status, passing.heads.length]).toEqual([502, 2]);
  });

  it.each(NOTHING)('is sent again, and not more often, where a kept connection gives %s', async (_, end) => {
    const url = somewhere();
    const sockets = answerOnce(end);
    for (const expected of [1, 3]) expect([(await ask(url)).status, passing.heads.length]).toEqual([200, expected]);
    expect(sockets.size).toBe(2);
  });

  it('is sent again where a parent proxy closes a kept connection', async () => {
    const { port } = await passing.rig.another(way(place(), true));
    const sockets = answerOnce((socket) => socket.destroy());
    for (const _ of ['first', 'again']) expect((await send(port, 'http://host.example/', kind)).status).toBe(200);
    expect([sockets.size, passing.heads.length]).toEqual([2, 3]);
  });

  it('is sent once on a kept connection to a host that says nothing for too long', async () => {
    const limits = { ...DEFAULT_LIMITS, passingSilence: 100 };
    const { port } = await passing.rig.another({ ...way(place(), false), limits });
    passing.answer = ok;
    expect((await send(port, 'http://host.example/', kind)).status).toBe(200);
    passing.answer = () => undefined;
    const got = await send(port, 'http://host.example/', kind);
    expect([got.status, refusalCode(got), passing.heads.length]).toEqual([502, 'host-unreachable', 2]);
  });
});

it.each(ONCE)('%s goes on a connection of its own, whatever others do that are kept', async (_, sent) => {
  const sockets = answerOnce(finish);
  const url = `http://once-${sent.method}.example/`;
  for (const [index, each] of [{}, sent, sent, {}].entries())
    expect([(await passing.ask(url, each)).status, passing.heads.length]).toEqual([200, index < 3 ? index + 1 : 5]);
  expect(sockets.size).toBe(4);
});
