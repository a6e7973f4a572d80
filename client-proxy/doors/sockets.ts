/** Connections that are no longer HTTP: tunnels, and protocols switched to. */
import type { IncomingMessage, ServerResponse as Response } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ServerResponse } from '../../node-support/http.ts';

/** Copies bytes both ways until both are done; each may end its direction alone, and neither outlives the other's end. */
export function joinSockets(client: Duplex, clientHead: Uint8Array, remote: Duplex, remoteHead: Uint8Array): void {
  const close = () => {
    client.destroy();
    remote.destroy();
  };
  remote.on('error', close).on('close', close);
  client.on('error', close).on('close', close);
  if (client.destroyed || remote.destroyed) {
    close();
    return;
  }
  if (remoteHead.length > 0) client.write(remoteHead);
  if (clientHead.length > 0) remote.write(clientHead);
  client.pipe(remote);
  remote.pipe(client);
}

/** For a connection that Node.js handed over, where it is answered by HTTP after all; it ends with the answer. */
export function responseOn(client: Duplex, request: IncomingMessage): Response {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(client as Socket);
  response.once('finish', () => {
    response.detachSocket(client as Socket);
    client.end();
  });
  client.on('drain', () => response.emit('drain')); // Node.js passes it on for connections that it has not handed over
  client.once('close', () => response.destroy());
  return response;
}
