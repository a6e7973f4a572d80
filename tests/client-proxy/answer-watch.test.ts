/** What the Reader sees of answers besides what undici tells it, and requests whose client is gone before there is a connection. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect, Socket } from 'node:net';
import { Agent } from 'undici';
import { expect, it } from 'vitest';
import { AnswerWatch, type StatusLine, WatchedConnection } from '../../client-proxy/content/answer-watch.ts';
import type { Upstream } from '../../client-proxy/content/upstream.ts';
import { passGet } from '../../client-proxy/doors/pass-get.ts';
import { LIMITS } from '../../client-proxy/limits.ts';

const portOf = (server: Server) => (server.address() as AddressInfo).port;

function lineOf(...pieces: string[]): StatusLine | undefined {
  return linesOf(...pieces)[0];
}

function linesOf(...pieces: string[]): StatusLine[] {
  const connection = new WatchedConnection();
  for (const piece of pieces) connection.read(Buffer.from(piece, 'latin1'));
  const lines: StatusLine[] = [];
  for (let line = connection.takeLine(); line; line = connection.takeLine()) lines.push(line);
  return lines;
}

it.each([
  [['HTTP/1.1 200 OK\r\nX: y\r\n\r\n']],
  [['HT', 'TP/1.1 200', ' OK', '\r', '\nX: y\r\n\r\n']],
  [['\r\n\r', '\n\nHTTP/1.1 200 OK\r\n']],
])('the first line is found in %j', (pieces) => {
  expect(lineOf(...pieces)).toEqual({ version: '1.1', status: 200, reason: 'OK' });
});

it.each([
  ['no line', ['']],
  ['not all of one', ['HTTP/1.1 200 OK']],
  ['another one', ['SSH-2.0-x\r\nHTTP/1.1 200 OK\r\n']],
  ['one that is too long', ['HTTP/1.1 200 ', 'x'.repeat(LIMITS.headerFields), '\r\n']],
  ['one behind what was too long', ['x'.repeat(LIMITS.headerFields), '\nHTTP/1.1 200 OK\r\n']],
])('%s is none', (_, pieces) => {
  expect(lineOf(...pieces)).toBeUndefined();
});

const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nX: \r\r\nY:\r\n\r\n';
const BEHIND = `${HINTS}HTTP/1.1 102 \r\n\r\n\r\nHTTP/1.0 200 OK\r\nX: HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`;

const CUTS: [string, string[]][] = [...HINTS].map((_, at) => [`cut at ${at}`, [BEHIND.slice(0, at), BEHIND.slice(at)]]);

it.each([['at once', [BEHIND]], ['byte by byte', [...BEHIND]], ...CUTS])(
  'the first lines of interim answers and of the one behind them are found %s, each in its turn',
  (_, pieces) => {
    expect(linesOf(...pieces)).toEqual([
      { version: '1.1', status: 103, reason: 'Early Hints' },
      { version: '1.1', status: 102, reason: '' },
      { version: '1.0', status: 200, reason: 'OK' },
    ]);
  },
);

it('the first line of the next answer is found when the one before is all there', () => {
  const connection = new WatchedConnection();
  const found: (string | undefined)[] = [];
  for (const reason of ['one', 'two']) {
    connection.read(Buffer.from(`${HINTS}HTTP/1.1 200 ${reason}\r\n\r\n`));
    found.push(connection.takeLine()?.reason, connection.takeLine()?.reason);
    connection.answered();
  }
  expect(found).toEqual(['Early Hints', 'one', 'Early Hints', 'two']);
});

it('a connection is kept from the end of an answer to the first byte of another, not before it has given one', () => {
  const connection = new WatchedConnection();
  const wasKept = [connection.isKept];
  connection.answered();
  for (const bytes of ['', '\r\n', 'H', `${HINTS.slice(1)}`]) {
    connection.read(Buffer.from(bytes));
    while (connection.takeLine());
    wasKept.push(connection.isKept);
  }
  expect(wasKept).toEqual([false, true, true, false, false]);
});

it.each(['error', 'close'])(
  'the %s of a connection is told of that one, though another was read just before',
  (end) => {
    const watch = new AnswerWatch();
    const [one, other] = [new Socket(), new Socket()].map((socket) => watch.watch(socket)) as [Socket, Socket];
    one.read();
    const expected = watch.current;
    other.read();
    expect(watch.current).not.toBe(expected);
    one.emit(end, new Error('over'));
    expect(watch.current).toBe(expected);
  },
);

it('nothing is asked for a client that left before there was a connection', async () => {
  const asked: (string | undefined)[] = [];
  const host = createServer((request, response) => {
    asked.push(request.url);
    response.end('ok');
  });
  const answers = new AnswerWatch();
  const connecting: (() => void)[] = [];
  const agent = new Agent({
    connect: ({ hostname, port }, callback) => {
      connecting.push(() => {
        const socket = connect(Number(port), hostname);
        socket.once('connect', () => callback(null, answers.watch(socket)));
      });
    },
  });
  const upstream: Pick<Upstream, 'answers' | 'passGet'> = {
    answers,
    passGet: ({ authority, path }, handler) =>
      void agent.dispatch({ origin: `http://${authority}`, path, method: 'GET' }, handler),
  };
  const passed: Promise<unknown>[] = [];
  const clients: Socket[] = [];
  const proxy = createServer((request, response) => {
    const target = { host: '127.0.0.1', port: portOf(host), path: request.url ?? '' };
    passed.push(passGet(upstream, target, request, response, () => undefined).catch((error) => error.message));
  });
  proxy.on('connection', (client) => clients.push(client));
  await Promise.all([host, proxy].map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));

  const leaving = request({ port: portOf(proxy), path: '/left', agent: false }).on('error', () => undefined);
  leaving.end();
  await expect.poll(() => connecting.length).toBe(1);
  const left = once(clients[0] as Socket, 'close');
  leaving.destroy();
  await left;
  connecting[0]?.();
  expect(await passed[0]).toBe('the client left');
  const staying = request({ port: portOf(proxy), path: '/stays', agent: false }).end();
  await expect.poll(() => connecting.length).toBe(2);
  connecting[1]?.();
  const [answer] = (await once(staying, 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
  expect(asked).toEqual(['/stays']);
  await agent.destroy();
  for (const server of [host, proxy]) server.close();
});
