/** What stands before a real S3 server, and takes requests that it never answers. */
import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import { closeServer, listenOnLoopback } from './content-host.ts';

export interface StallingServer {
  readonly endpoint: string;
  /** Whether a request, by its method and path, is left without an answer. */
  stalls: (method: string, path: string) => boolean;
  /** Whether those reach the server behind all the same. */
  passesOn: boolean;
  /** Resolves with the next one. */
  nextStalled(): Promise<void>;
  close(): Promise<void>;
}

/** @param behind - the endpoint of the server that answers the rest */
export async function startStallingServer(behind: string): Promise<StallingServer> {
  let waiting = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request;
    const isStalled = stalling.stalls(method, url.split('?', 1)[0] ?? '');
    if (!isStalled || stalling.passesOn) passOn(behind, request, isStalled ? undefined : response);
    else request.resume();
    if (!isStalled) return;
    waiting.resolve();
    waiting = Promise.withResolvers();
  });
  const stalling: StallingServer = {
    endpoint: `http://127.0.0.1:${await listenOnLoopback(server)}`,
    stalls: () => false,
    passesOn: false,
    nextStalled: () => waiting.promise,
    close: () => closeServer(server),
  };
  return stalling;
}

function passOn(behind: string, request: IncomingMessage, response: ServerResponse | undefined): void {
  const { method, headers, url } = request;
  const asked = sendRequest(behind + url, { method, headers }, (answer) => {
    response?.writeHead(answer.statusCode ?? 500, answer.headers);
    if (response) answer.pipe(response);
    else answer.resume();
  });
  asked.on('error', () => response?.destroy());
  request.pipe(asked);
}
