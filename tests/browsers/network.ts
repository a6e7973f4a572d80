/** The network of a browser under test: a proxy that finds hosts by names on loopback, with TLS from end to end, and that can be cut. */
import { createServer, type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { closeServer, listenOnLoopback } from '../support/content-host.ts';

export interface Network {
  /** Port of the proxy. */
  readonly port: number;
  /** Adds a host that speaks TLS, in front of a server that does not. */
  addPlainHost(name: string, port: number, tls: { readonly key: string; readonly cert: string }): Promise<void>;
  /** Breaks what is under way, and lets nothing through. */
  cut(): void;
  mend(): void;
  close(): void;
}

/** @param hosts - ports on loopback, by the names of the hosts */
export async function startNetwork(hosts: Readonly<Record<string, number>>): Promise<Network> {
  const ports = new Map(Object.entries(hosts));
  const [sockets, closed] = [new Set<Socket>(), [] as (() => void)[]];
  let isCut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  // Browsers ask for more than the pages that are opened: what has no name here is nowhere.
  const proxy = createServer((_request, response) => response.writeHead(502).end());
  proxy.on('connection', keep);
  proxy.on('connect', ({ url = '' }: IncomingMessage, client: Socket) => {
    const port = ports.get(url.replace(/:443$/, ''));
    if (isCut || port === undefined) return void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const host = keep(connect(port, '127.0.0.1'));
    host.once('connect', () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    client.pipe(host).pipe(client);
    client.once('close', () => host.destroy());
    host.once('close', () => client.destroy());
  });
  const port = await listenOnLoopback(proxy);
  closed.push(() => proxy.close());
  return {
    port,
    addPlainHost: async (name, behind, tls) => {
      const server = createTlsServer(tls, (client) => {
        const host = keep(connect(behind, '127.0.0.1'));
        keep(client).pipe(host).pipe(client);
        client.once('close', () => host.destroy());
        host.once('close', () => client.destroy());
      });
      ports.set(name, await listenOnLoopback(server));
      closed.push(() => server.close());
    },
    cut: () => {
      isCut = true;
      endAll();
    },
    mend: () => {
      isCut = false;
    },
    close: () => {
      for (const close of closed) close();
      endAll();
    },
  };
}

/** A host of any name, in front of a server that answers by the name of its own address alone. */
export async function startFront(server: string) {
  const { hostname, port, host } = new URL(server);
  const front = createServer((asked, answer) => {
    const { url: path, method, headers } = asked;
    const there = request({ hostname, port, path, method, headers: { ...headers, host } }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    asked.pipe(there.on('error', () => answer.destroy()));
  });
  return { port: await listenOnLoopback(front), close: () => closeServer(front) };
}
