/**
 * Cuts connections by a TCP reset. An ordinary close says, over TLS and in HTTP/1.0 alike, that all was sent; a reset cannot be taken for it.
 * Node resets plain sockets only, so for TLS the plain one beneath has to be known.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Open plain connections of all listeners, by their two ends. */
const connections = new Map<string, Socket>();

/** Remembers the plain connections of a server, for as long as they are open. */
export function rememberConnections(server: Server): void {
  server.on('connection', (socket: Socket) => {
    const ends = endsOf(socket);
    connections.set(ends, socket);
    socket.once('close', () => connections.get(ends) === socket && connections.delete(ends));
  });
}

/** Cuts the connection at once, visibly. @param socket - of a request to a server given to {@link rememberConnections} */
export function cutConnection(socket: Socket | null): void {
  if (!socket || socket.destroyed) return;
  (connections.get(endsOf(socket)) ?? socket).resetAndDestroy();
}

function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
