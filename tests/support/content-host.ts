/** A content host for tests: a real HTTP server that serves files, with ranges, and does whatever else a test makes it do. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import type { Writable } from 'node:stream';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface ContentHost {
  readonly origin: string;
  readonly port: number;
  /** Files by URL path, without the query. */
  readonly files: Map<string, Uint8Array>;
  /** Answers instead of a file; `*`, instead of all that have none of their own. */
  readonly handlers: Map<string, (request: IncomingMessage, response: ServerResponse) => void>;
  readonly requests: SeenRequest[];
  /** Counts the answers that are under way. */
  open(): number;
  close(): Promise<void>;
}

export async function startContentHost(): Promise<ContentHost> {
  const [files, handlers, requests] = [new Map(), new Map(), []] as [
    ContentHost['files'],
    ContentHost['handlers'],
    SeenRequest[],
  ];
  let open = 0;
  const server = createServer((request, response) => {
    open += 1;
    response.once('close', () => {
      open -= 1;
    });
    const [path = ''] = (request.url ?? '').split('?', 1);
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
    const handler = handlers.get(path) ?? handlers.get('*');
    if (handler) handler(request, response);
    else serveFile(files.get(path), request, response);
  });
  const port = await listenOnLoopback(server);
  const origin = `http://127.0.0.1:${port}`;
  return { origin, port, files, handlers, requests, open: () => open, close: () => closeServer(server) };
}

function serveFile(file: Uint8Array | undefined, request: IncomingMessage, response: ServerResponse): void {
  const forPages = { 'access-control-allow-origin': '*' };
  if (file === undefined) {
    response.writeHead(404, { 'content-type': 'text/html', ...forPages }).end('<h1>Not found</h1>');
    return;
  }
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  const headers = {
    ...forPages,
    ...(request.url?.includes('.protected') && { 'content-type': 'application/cache-protected' }),
    'x-from-host': 'not signed',
    'set-cookie': 'host=1',
  };
  if (first === undefined) {
    response.writeHead(200, { ...headers, 'content-length': file.length }).end(file);
    return;
  }
  const part = file.subarray(Number(first), Number(last) + 1);
  const range = `bytes ${first}-${Number(first) + part.length - 1}/${file.length}`;
  response.writeHead(206, { ...headers, 'content-length': part.length, 'content-range': range }).end(part);
}

/** Writes a piece again and again, as fast as it is taken, until the other side closes. @param onWritten - is called for each */
export function flood(to: Writable, piece: Uint8Array | string, onWritten: () => unknown = () => undefined): void {
  const more = () => {
    while (!to.destroyed && to.write(piece)) onWritten();
  };
  to.on('drain', more);
  more();
}

export async function listenOnLoopback(server: NetServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
