/** A real HTTP server that answers as a test says: not at all, a byte now and then, or without an end. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { closeServer, listenOnLoopback } from './content-host.ts';

export interface WaywardServer {
  readonly origin: string;
  /** Method and path of every request. */
  readonly asked: readonly string[];
  answer: RequestListener;
  close(): Promise<void>;
}

export async function startWaywardServer(answer: RequestListener = silent): Promise<WaywardServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    wayward.answer(request, response);
  });
  const origin = `http://127.0.0.1:${await listenOnLoopback(server)}`;
  const wayward: WaywardServer = { origin, asked, answer, close: () => closeServer(server) };
  return wayward;
}

/** Takes a request, and says nothing. */
export function silent(request: IncomingMessage): void {
  request.resume();
}

/** Begins an answer, and goes on with it byte by byte: never silent for long, and never done. */
export function dripping(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(200, { 'content-length': 16_000, 'content-type': 'application/json', etag: '"x"' });
  if (request.method === 'HEAD') return void response.end();
  response.flushHeaders();
  const timer = setInterval(() => response.write('{'), 5);
  response.on('close', () => clearInterval(timer));
}
