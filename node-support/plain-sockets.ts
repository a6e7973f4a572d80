/**
 * The plain TCP connections beneath the TLS connections of servers: what limits count, and what a reset cuts. An ordinary close says, over TLS and
 * in HTTP/1.0 alike, that all was sent; a reset cannot be taken for it, and Node.js resets plain sockets only.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Connections of TCP that are open at all listeners, by their two ends. */
const connections = new Map<string, Socket>();

/** Remembers the plain connections of a server, for as long as they are open. */
export function rememberConnections(server: Server): void {
  server.on('connection', (socket: Socket) => {
    const ends = endsOf(socket);
    connections.set(ends, socket);
    socket.once('close', () => connections.get(ends) === socket && connections.delete(ends));
  });
}

/** The TCP connection of a request to a server given to {@link rememberConnections}; of another server, its own. */
export function plainSocketOf(socket: Duplex): Duplex {
  return 'encrypted' in socket ? (connections.get(endsOf(socket as Duplex as Socket)) ?? socket) : socket;
}

/** Cuts the connection at once, visibly. */
export function cutConnection(socket: Socket | null): void {
  if (!socket || socket.destroyed) return;
  const plain = plainSocketOf(socket);
  if ('resetAndDestroy' in plain) (plain as Socket).resetAndDestroy();
  else plain.destroy(); // happens within a process
}

function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
