/** A Reader that passes unconnected sites through, to a host that answers by handlers and to one that answers in bytes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { parseConnectTo } from '../../client-proxy/index.ts';
import { type RawClient, rawClient, startRawHost } from './raw-http.ts';
import { type ReaderRig, startReaderRig } from './reader-rig.ts';

/** The host that answers by handlers. */
export const ELSEWHERE = 'http://elsewhere.example';

export class PassingRig {
  readonly rig: ReaderRig;
  /** `raw.example`, which answers in bytes. */
  readonly raw: Awaited<ReturnType<typeof startRawHost>>;
  /** The heads of requests that came to it, since the last {@link reset}. */
  readonly heads: string[];
  /** What it answers is up to each test. */
  answer: (head: string, socket: Socket) => void = () => undefined;
  readonly #clients: RawClient[] = [];

  private constructor(rig: ReaderRig, raw: PassingRig['raw'], heads: string[]) {
    this.rig = rig;
    this.raw = raw;
    this.heads = heads;
  }

  static async start(): Promise<PassingRig> {
    const heads: string[] = [];
    const raw = await startRawHost((head, socket) => {
      heads.push(head);
      passing.answer(head, socket);
    });
    const rig = await startReaderRig({});
    const connectTo = [`raw.example:80:127.0.0.1:${raw.port}`, `:80:127.0.0.1:${rig.host.port}`].map(parseConnectTo);
    await rig.restart({ connectTo });
    const passing = new PassingRig(rig, raw, heads);
    return passing;
  }

  async close(): Promise<void> {
    await this.rig.close();
    await this.raw.close();
  }

  /** Between two tests. */
  reset(): void {
    this.heads.length = 0;
    for (const client of this.#clients.splice(0)) client.close();
  }

  on(path: string, handler: (request: IncomingMessage, response: ServerResponse) => void): void {
    this.rig.host.handlers.set(path, handler);
  }

  /** A connection to the Reader, until the next {@link reset}. */
  async client(): Promise<RawClient> {
    const one = await rawClient(this.rig.proxy.port);
    this.#clients.push(one);
    return one;
  }
}

/** The head of a message in bytes. */
export const lines = (...all: string[]) => `${all.join('\r\n')}\r\n\r\n`;

/** The head of a request to the host that answers in bytes. */
export const toRaw = (method: string, ...fields: string[]) =>
  lines(`${method} http://raw.example/ HTTP/1.1`, 'Host: raw.example', ...fields);
