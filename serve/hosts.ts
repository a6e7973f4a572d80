/** Carriers of protected files: a file server or, for the demonstration, real servers where they are installed. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { findServer, startNginx, startSquid, startVarnish } from '../cache-config/servers.ts';

export interface Carrier {
  /** Name of it, with its version. */
  readonly name: string;
  readonly url: string;
  stop(): Promise<void>;
}

export interface ContentHost extends Carrier {
  requestCount(): Promise<number>;
}

export interface SharedCache extends Carrier {
  /** A forward cache is asked as a proxy; a reverse cache stands in the content host's place. */
  readonly kind: 'forward' | 'reverse';
}

/** Starts nginx with this project's configuration where it is installed, otherwise {@link startFileServer}. */
export async function startContentHost(root: string, readingOrigin: string): Promise<ContentHost> {
  if (findServer('nginx') === undefined) return startFileServer(root);
  const nginx = await startNginx({ root, readingOrigin });
  return {
    name: `nginx ${nginx.version}`,
    url: nginx.url,
    requestCount: async () => (await nginx.requests()).length,
    stop: () => nginx.stop(),
  };
}

/** Starts Varnish, or else Squid, or else none. */
export async function startSharedCache(host: ContentHost): Promise<SharedCache | undefined> {
  if (findServer('varnishd') !== undefined) {
    const { hostname, port } = new URL(host.url);
    const varnish = await startVarnish({ backend: { host: hostname, port: Number(port) } });
    return { name: `Varnish ${varnish.version}`, kind: 'reverse', url: varnish.url, stop: () => varnish.stop() };
  }
  if (findServer('squid') === undefined) return undefined;
  const squid = await startSquid({ connectLoopback: true });
  return { name: `Squid ${squid.version}`, kind: 'forward', url: squid.url, stop: () => squid.stop() };
}

/** Starts the least that a web host has to do: files as they are, objects under their media type, and open to the in-browser reader. */
export async function startFileServer(root: string): Promise<ContentHost> {
  let requests = 0;
  const app = express().disable('x-powered-by');
  app.use((_request, response, next) => {
    requests++;
    response.set({ 'access-control-allow-origin': '*', 'cache-control': 'no-cache' });
    next();
  });
  app.use(express.static(root, { cacheControl: false, dotfiles: 'allow', redirect: false, setHeaders }));
  app.use((_request, response) => void response.status(404).end());
  const server = createServer(app);
  return {
    name: 'a file server (nginx is not installed)',
    url: await listen(server),
    requestCount: async () => requests,
    stop: () => close(server),
  };
}

function setHeaders(response: ServerResponse, file: string): void {
  if (file.endsWith('.protected')) response.setHeader('content-type', 'application/cache-protected');
}

/**
 * Answers only under the server's own name, and changes something for its own pages and for programs alone: a foreign site whose name leads here must
 * not read the pages, nor press their buttons.
 */
export function answerWith(
  server: Server,
  answer: (incoming: IncomingMessage, response: ServerResponse) => Promise<void> | void,
): void {
  server.on('request', async (incoming, response) => {
    const { headers, method, socket } = incoming;
    const isOwn = method === 'GET' || ['same-origin', undefined].includes(headers['sec-fetch-site']?.toString());
    try {
      if (isOwn && headers.host === `${socket.localAddress}:${socket.localPort}`) await answer(incoming, response);
      else response.writeHead(421).end();
    } catch {
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    }
  });
}

/** Listens on loopback, on a free port unless one is named, and returns the server's URL. */
export async function listen(server: Server, port = 0): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
