/** Connections count from the moment they arrive, not only when it is known whose they are. */
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../../../client-proxy/limits.ts';
import { type Admit, LoopbackServer } from '../../../client-proxy/server/loopback-server.ts';
import { readerServerOptions } from '../../../client-proxy/server/server.ts';
import { ClientConnections } from '../../../node-support/client-connections.ts';

const BOUND = 20;
const limits = { ...DEFAULT_LIMITS, clientConnections: BOUND };

const isOpen = (socket: Socket) => !socket.destroyed && !socket.readableEnded;

async function withServer(admit: Admit, test: (open: () => Promise<Socket>) => Promise<void>): Promise<void> {
  const server = new LoopbackServer(readerServerOptions(limits), admit);
  const connections = new ClientConnections(limits);
  connections.serve(server, () => undefined);
  const sockets: Socket[] = [];
  server.on('arrival', (socket: Socket) => sockets.push(socket));
  try {
    expect(await server.open(0)).toBeUndefined();
    await test(async () => {
      const arrived = once(server, 'arrival');
      const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
      sockets.push(socket.on('error', () => undefined).resume());
      await arrived;
      return socket;
    });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

async function openMany(open: () => Promise<Socket>, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) sockets.push(await open());
  return sockets;
}

describe('attack 65: connections that are not let in yet', () => {
  it('count, and make room oldest first', () =>
    withServer(
      () => new Promise(() => undefined),
      async (open) => {
        const sockets = await openMany(open, 3 * BOUND);
        await expect.poll(() => sockets.filter(isOpen).length).toBe(BOUND);
        expect(sockets.slice(-BOUND).every(isOpen)).toBe(true);
      },
    ));

  it('make room before all others when they are turned away', () => {
    let ours = true;
    return withServer(
      async () => ours,
      async (open) => {
        const own = await openMany(open, BOUND / 2);
        ours = false;
        const others = await openMany(open, 3 * BOUND);
        await expect.poll(() => others.filter(isOpen).length).toBeLessThanOrEqual(BOUND / 2);
        expect(own.every(isOpen)).toBe(true);
      },
    );
  });
});
