/** A client and a host that speak in bytes, and so can break every rule of HTTP. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect } from 'vitest';
import { listenOnLoopback } from './content-host.ts';

/** A client that waits for the bytes it expects. */
export interface RawClient {
  readonly socket: Socket;
  /** Text that came so far, one character a byte. */
  received(): string;
  send(bytes: string): void;
  /** Waits until `wanted` has come. @throws Error if the connection ends before */
  until(wanted: string | RegExp): Promise<string>;
  /** Waits until the other side has closed. */
  ended(): Promise<string>;
  close(): void;
}

export async function rawClient(port: number, host = '127.0.0.1'): Promise<RawClient> {
  const socket = connect({ port, host, allowHalfOpen: true });
  let text = '';
  let isEnded = false;
  let changed = Promise.withResolvers<void>();
  const change = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const end = () => {
    isEnded = true;
    change();
  };
  socket.on('data', (part: Buffer) => {
    text += part.toString('latin1');
    change();
  });
  socket.on('end', end).on('close', end).on('error', end);
  await once(socket, 'connect');
  const matches = (wanted: string | RegExp) => (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text));
  return {
    socket,
    received: () => text,
    send: (bytes) => socket.write(bytes, 'latin1'),
    until: async (wanted) => {
      while (!matches(wanted)) {
        if (isEnded) throw new Error(`the connection ended without ${wanted}: ${JSON.stringify(text.slice(-300))}`);
        await changed.promise;
      }
      return text;
    },
    ended: async () => {
      while (!isEnded) await changed.promise;
      return text;
    },
    close: () => socket.destroy(),
  };
}

/** @param answer - is called with the head of each request, and writes to the socket */
export async function startRawHost(
  answer: (head: string, socket: Socket) => void,
): Promise<{ port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = '';
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        const head = received.slice(0, end);
        received = received.slice(end + 4);
        answer(head, socket);
      }
    });
  });
  return {
    port: await listenOnLoopback(server),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Tells whether a connection is neither closed nor ended. */
export const isOpen = (socket: Socket) => !socket.destroyed && !socket.readableEnded;

/** Clients that have connected, or were turned away. */
export async function openMany(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(250, count - sockets.length) }, () => connect(port, '127.0.0.1'));
    for (const socket of some) socket.on('error', () => socket.destroy()).resume();
    await Promise.all(some.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
    sockets.push(...some);
  }
  return sockets;
}

/** Waits until a count does not change any more: whoever counts has to wait for somebody. */
export async function standsStill(count: () => number): Promise<void> {
  let before = -1;
  const isSame = () => {
    const same = before === count();
    before = count();
    return same;
  };
  await expect.poll(isSame, { interval: 200 }).toBe(true);
}
