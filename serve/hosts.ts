/** The content host and the shared cache of the demonstration: real servers where they are installed. */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { findServer, startNginx, startSquid, startVarnish } from '../cache-config/servers.ts';
import { documentPathOf } from '../core/site/path.ts';

/** A server that carries protected files. */
export interface Carrier {
  /** What to call it, with its version. */
  readonly name: string;
  readonly url: string;
  stop(): Promise<void>;
}

export interface ContentHost extends Carrier {
  /** How many requests it has answered. */
  requestCount(): Promise<number>;
}

export interface SharedCache extends Carrier {
  /** A forward cache is asked as a proxy; a reverse cache stands in the content host's place. */
  readonly kind: 'forward' | 'reverse';
}

/** nginx with this project's configuration where it is installed, otherwise a file server of 30 lines. */
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

/** Varnish, or else Squid, or else none. */
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

async function startFileServer(root: string): Promise<ContentHost> {
  let requests = 0;
  const server = createServer(async ({ url = '/' }, response) => {
    requests++;
    const path = documentPathOf(url);
    const file = path === undefined ? undefined : join(root, path);
    const size = file === undefined ? undefined : await sizeOf(file);
    if (file === undefined || size === undefined) {
      response.writeHead(404).end();
      return;
    }
    const mediaType = file.endsWith('.protected') ? 'application/cache-protected' : 'text/html; charset=utf-8';
    response.writeHead(200, { 'content-type': mediaType, 'content-length': size });
    createReadStream(file).pipe(response);
  });
  return {
    name: 'a file server on node:http (nginx is not installed)',
    url: await listen(server),
    requestCount: async () => requests,
    stop: () => close(server),
  };
}

async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}

/** Listens on a free port of loopback and returns the server's URL. */
export async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Ends a server and its connections. */
export async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
