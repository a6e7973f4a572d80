/** What the Reader sees of answers besides what undici tells it, and requests whose client is gone before there is a connection. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Agent } from 'undici';
import { expect, it } from 'vitest';
import { AnswerWatch, WatchedConnection } from '../../client-proxy/content/answer-watch.ts';
import type { Upstream } from '../../client-proxy/content/upstream.ts';
import { passGet } from '../../client-proxy/doors/pass-get.ts';
import { LIMITS } from '../../client-proxy/limits.ts';

const portOf = (server: Server) => (server.address() as AddressInfo).port;

function lineOf(...pieces: string[]): WatchedConnection['statusLine'] {
  const connection = new WatchedConnection();
  for (const piece of pieces) connection.read(Buffer.from(piece, 'latin1'));
  return connection.statusLine;
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
