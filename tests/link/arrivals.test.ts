import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { LIMITS } from '../../link/limits.ts';
import { listen } from '../../link/relay/listening.ts';

it('a client has its share of a full relay, and what is idle longest makes room (attack 139)', async () => {
  let now = 0;
  const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
  const at = { host: '127.0.0.1', port: 0 };
  const relay = await listen(server, at, [], { sockets: new Set(), report: () => undefined }, 4, () => now);
  const isServed = async (socket: Socket) => {
    now++;
    socket.write('x');
    return Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
  };
  const open = async (localAddress: string) => {
    const socket = connect({ ...relay, host: '127.0.0.1', localAddress }).on('error', () => undefined);
    return (await isServed(socket)) ? socket : undefined;
  };
  const greedy: (Socket | undefined)[] = [];
  for (let count = 0; count < 4; count++) greedy.push(await open('127.0.0.9'));
  const isOpen = () => greedy.map((socket) => socket?.readyState === 'open');
  expect([await open('127.0.0.9'), isOpen()]).toEqual([undefined, [true, true, true, true]]);
  expect(await isServed(greedy[0] as Socket)).toBe(true);
  expect(await open('127.0.0.2')).toBeDefined();
  await expect.poll(isOpen).toEqual([true, false, true, true]);
  expect(await open('127.0.0.2')).toBeDefined();
  await expect.poll(isOpen).toEqual([true, false, false, true]);
  expect([await open('127.0.0.9'), await open('127.0.0.2')]).toEqual([undefined, undefined]);
  expect(isOpen()).toEqual([true, false, false, true]);
  now += LIMITS.idleWhenFull;
  expect(await open('127.0.0.2')).toBeDefined();
  await relay.close();
});

it('a client outside --from is closed, and named at most once a minute, with what would let it in', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const said: string[] = [];
  const report = (what: string) => void said.push(what);
  const server = createServer();
  const relay = await listen(server, { host: '127.0.0.1', port: 0 }, [], { sockets: new Set(), report }, 4);
  const isClosed = () => {
    const socket = Object.assign(new PassThrough(), { remoteAddress: '::ffff:192.0.2.9' });
    server.emit('connection', socket);
    return socket.destroyed;
  };
  expect([isClosed(), isClosed()]).toEqual([true, true]);
  expect(said).toEqual([expect.stringContaining('--from 192.0.2.9 ')]);
  vi.advanceTimersByTime(60_000);
  await expect.poll(() => isClosed() && said.length).toBe(2);
  await relay.close();
});
