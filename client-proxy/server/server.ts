/** The HTTP server in front of proxy and gateway: what it accepts, how long it waits, and what ends it. */
import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { ClientConnections, serverOptions } from '../../node-support/client-connections.ts';
import { LIMITS, type Limits } from '../limits.ts';
import { Router, type RouterOptions } from './router.ts';
import { openTunnel, type TunnelOptions } from './tunnel.ts';

/** The options of every server of the Reader. An upload may take what it takes. */
export const readerServerOptions = (limits: Limits): ServerOptions =>
  serverOptions(limits, { maxHeaderSize: LIMITS.headerFields, requestTimeout: 0, optimizeEmptyRequests: true });

/** Attaches proxy and gateway to a server. @returns closes everything, after a short time for pending answers */
export function attachRouter(
  server: Server,
  options: RouterOptions & Omit<TunnelOptions, 'opened'> & { readonly limits: Limits },
): () => Promise<void> {
  const router = new Router(options);
  const connections = new ClientConnections(options.limits);
  server.timeout = options.limits.clientSilence;
  // An option of `createServer`, which Node.js keeps as a property of this name; only now is the router there.
  Object.assign(server, {
    shouldUpgradeCallback: (request: IncomingMessage) => {
      try {
        return !connections.isBusy(request.socket) && router.mayUpgrade(request);
      } catch {
        return false; // a throw here would end the program; as a request like any other, it is answered with what is wrong
      }
    },
  });
  const raw = new Set<Duplex>();
  const opened = (socket: Duplex) => {
    raw.add(socket);
    socket.once('close', () => raw.delete(socket));
  };
  connections.serve(server, (request, response) => {
    void contain(request.socket, () => router.handle(request, response));
  });
  server.on('connect', (request, socket, head) =>
    contain(adopt(socket), () => {
      if (connections.isBusy(socket)) return void socket.destroy(); // its answer would come before that of an earlier request
      connections.becomeTunnel(socket);
      return openTunnel({ ...options, opened }, request, socket, head);
    }),
  );
  server.on('upgrade', (request, socket, head) =>
    contain(adopt(socket), async () => {
      connections.becomeTunnel(socket);
      opened(socket);
      const remote = await router.upgrade(request, socket, head);
      if (remote) opened(remote);
    }),
  );
  return () => stop(server, raw);
}

/** Starts `work`. An uncaught error would end the program, so it ends the connection instead. */
async function contain(socket: Duplex, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch {
    socket.destroy();
  }
}

/** Node.js removes its listeners from a connection that it hands over, and an unhandled error would end the program. */
function adopt(socket: Duplex): Duplex {
  return socket.on('error', () => socket.destroy());
}

function stop(server: Server, raw: ReadonlySet<Duplex>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), LIMITS.stopTimeout);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    for (const socket of raw) socket.destroy();
    server.closeIdleConnections();
  });
}
