/** Connection of a reader to a server, with the bytes that came over it. */
import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';

/** A connection that is kept for a visit. By HTTPS no session is resumed: each reader is another one. */
export function openConnection(origin: string, authority?: Buffer) {
  const sockets = new Set<Socket>();
  const one = { keepAlive: true, maxSockets: 1 };
  const agent = authority ? new HttpsAgent({ ...one, maxCachedSessions: 0 }) : new HttpAgent(one);
  return {
    /** @returns the status, once the whole answer is there */
    get: (path: string) => {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const sent = authority
        ? requestHttps(origin + path, { agent, ca: authority, servername: 'localhost' })
        : requestHttp(origin + path, { agent });
      sent.on('socket', (socket) => sockets.add(socket));
      sent.on('error', reject).on('response', (answer) => {
        answer.on('error', reject).on('end', () => resolve(answer.statusCode ?? 0));
        answer.resume();
      });
      sent.end();
      return promise;
    },
    /** @returns bytes that came, heads included */
    close: () => {
      agent.destroy();
      return [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0);
    },
  };
}
