/** One reader's connection to a server, kept for a visit, with the bytes that came over it. */
import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';

export class Connection {
  readonly #origin: string;
  readonly #authority: Buffer | undefined;
  readonly #agent: HttpAgent;
  readonly #sockets = new Set<Socket>();

  /** @param authority - for HTTPS, whose certificate counts; no session is resumed, for each reader is another one */
  constructor(origin: string, authority?: Buffer) {
    this.#origin = origin;
    this.#authority = authority;
    const one = { keepAlive: true, maxSockets: 1 };
    this.#agent = authority ? new HttpsAgent({ ...one, maxCachedSessions: 0 }) : new HttpAgent(one);
  }

  /** @returns the status, once the whole answer is there */
  get(path: string): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const url = this.#origin + path;
    const sent = this.#authority
      ? requestHttps(url, { agent: this.#agent, ca: this.#authority, servername: 'localhost' })
      : requestHttp(url, { agent: this.#agent });
    sent.on('socket', (socket) => this.#sockets.add(socket));
    sent.on('error', reject).on('response', (answer) => {
      answer.on('error', reject).on('end', () => resolve(answer.statusCode ?? 0));
      answer.resume();
    });
    sent.end();
    return promise;
  }

  /** @returns bytes that came, heads included */
  close(): number {
    let received = 0;
    for (const socket of this.#sockets) received += socket.bytesRead;
    this.#agent.destroy();
    return received;
  }
}
