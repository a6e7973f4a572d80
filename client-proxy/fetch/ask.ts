/** One request to the doors of this process, as a program would send it to the proxy, over a pair of streams instead of a socket. */
import { type IncomingMessage, request, type Server } from 'node:http';
import { duplexPair } from 'node:stream';

export interface Question {
  readonly method: 'GET' | 'HEAD';
  /** In absolute form. */
  readonly target: string;
  /** Names and values alternate. */
  readonly headers: readonly string[];
  /** Ends it, at whatever point it is. */
  readonly signal?: AbortSignal | undefined;
}

/** Resolves with the head of the answer; its body says by `complete` whether it came to its end. */
export function ask(server: Server, { method, target, headers, signal }: Question): Promise<IncomingMessage> {
  const [client, door] = duplexPair();
  client.on('error', () => undefined); // told by the answer
  door.on('error', () => undefined);
  server.emit('connection', door);
  return new Promise((resolve, reject) => {
    const { host } = new URL(target);
    const outgoing = request({
      createConnection: () => client,
      method,
      path: target,
      headers: ['host', host, ...headers],
      ...(signal && { signal }),
    });
    outgoing.once('response', resolve).once('error', reject).end();
  });
}
