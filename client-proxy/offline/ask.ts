/** One request to the doors of this process, as a program would send it to the proxy, over a pair of streams instead of a socket. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { request } from '../../node-support/http.ts';

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
export function ask(connection: Duplex, { method, target, headers, signal }: Question): Promise<IncomingMessage> {
  connection.on('error', () => undefined); // told by the answer
  return new Promise((resolve, reject) => {
    const { host } = new URL(target);
    const outgoing = request({
      createConnection: () => connection,
      method,
      path: target,
      headers: ['host', host, ...headers],
      ...(signal && { signal }),
    });
    outgoing.once('response', resolve).once('error', reject).end();
  });
}
