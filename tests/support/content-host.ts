/** A real content host on loopback: serves what it was given, and does as it is told where a test wants a hostile one. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ContentHost {
  readonly origin: string;
  /** By URL path, without the query. */
  readonly files: Map<string, Uint8Array>;
  /** Answers instead of the files, by URL path. */
  readonly tricks: Map<string, (request: IncomingMessage, response: ServerResponse) => void>;
  /** Host and URL of each request. */
  readonly requests: { readonly host: string; readonly url: string }[];
  readonly close: () => Promise<void>;
}

export async function startContentHost(): Promise<ContentHost> {
  const files: ContentHost['files'] = new Map();
  const tricks: ContentHost['tricks'] = new Map();
  const requests: { host: string; url: string }[] = [];
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    requests.push({ host: request.headers.host ?? '', url });
    const trick = tricks.get(url);
    if (trick) return trick(request, response);
    const file = files.get(url);
    response.setHeader('Set-Cookie', 'host=hostile');
    response.setHeader('X-From-Host', 'yes');
    response.writeHead(file ? 200 : 404).end(file ?? 'not here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve())); // also where it is closed already
  };
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, files, tricks, requests, close };
}
