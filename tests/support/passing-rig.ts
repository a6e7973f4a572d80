/** A Reader that passes unconnected sites through, to a host that answers by handlers and to one that answers in bytes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type ProxyOptions, parseConnectTo } from '../../client-proxy/index.ts';
import { flood } from './content-host.ts';
import type { HostileKeyServer } from './hostile-key-server.ts';
import { type Received, type Sent, send, sendRaw } from './http-client.ts';
import { type RawClient, rawClient, startRawHost } from './raw-http.ts';
import { type ReaderRig, startHostileReaderRig } from './reader-rig.ts';

/** The host that answers by handlers. */
export const ELSEWHERE = 'http://elsewhere.example';
/** The host that answers in bytes. */
export const RAW = 'http://raw.example/';

export type RawAnswer = (head: string, socket: Socket) => void;

export class PassingRig {
  rig!: ReaderRig<HostileKeyServer>;
  /** `raw.example`, which answers in bytes; where it stands for the site, too, the publication is good. */
  raw!: Awaited<ReturnType<typeof startRawHost>>;
  /** The heads of requests that came to it, since the last {@link reset}. */
  readonly heads: string[] = [];
  /** Answers as each test wants. */
  answer: RawAnswer = () => undefined;
  readonly #clients: RawClient[] = [];
  readonly #asked = new Set<Socket>();

  /** @param settings - of the Reader, once it is known where `raw.example` is */
  async start(settings: (place: string) => Partial<ProxyOptions> = () => ({})): Promise<void> {
    this.raw = await startRawHost((bytes, socket) => {
      const [head] = /[A-Z-]+ \S+ HTTP\/1\.1(?:\r\n[\s\S]*)?$/.exec(bytes) ?? []; // the rest is of a body
      if (head === undefined) return;
      const [, path] = /^GET (?:http:\/\/[^/]+)?(\/\.well-known\/\S+) /.exec(head) ?? [];
      if (path !== undefined) return sendFile(socket, this.rig.host.files.get(path));
      this.heads.push(head);
      this.#asked.add(socket);
      this.answer(head, socket);
    });
    this.rig = await startHostileReaderRig();
    const place = `127.0.0.1:${this.raw.port}`;
    const connectTo = [`raw.example:80:${place}`, `:80:127.0.0.1:${this.rig.host.port}`].map(parseConnectTo);
    await this.rig.restart({ connectTo, ...settings(place) });
  }

  async close(): Promise<void> {
    await this.rig.close();
    await this.raw.close();
  }

  reset(): void {
    this.heads.length = 0;
    this.#asked.clear();
    for (const client of this.#clients.splice(0)) client.close();
  }

  /** Counts connections of the Reader on which it was asked since then and that are open. */
  open(): number {
    return [...this.#asked].filter(({ destroyed }) => !destroyed).length;
  }

  /** Has `raw.example` answer in these bytes, one a character, and keep the connection. */
  says(bytes: string): void {
    this.answer = (_head, socket) => socket.write(bytes, 'latin1');
  }

  /** Has `raw.example` answer so, and end the connection. */
  ends(bytes: string): void {
    this.answer = (_head, socket) => socket.end(bytes, 'latin1');
  }

  /** Has it begin so, and go on with `piece` without end. */
  floods(beginning: string | Uint8Array, piece: string | Uint8Array): void {
    this.answer = (_head, socket) => {
      socket.write(beginning);
      flood(socket, piece);
    };
  }

  on(path: string, handler: (request: IncomingMessage, response: ServerResponse) => void): void {
    this.rig.host.handlers.set(path, handler);
  }

  /** Sends a request to the Reader. */
  ask(url = RAW, sent?: Sent): Promise<Received> {
    return send(this.rig.proxy.port, url, sent);
  }

  /** Sends bytes to the Reader, and takes everything until it closes. */
  sendRaw(bytes: string): Promise<string> {
    return sendRaw(this.rig.proxy.port, bytes);
  }

  /** A connection to the Reader, which begins with these bytes, until the next {@link reset}. */
  async begin(bytes = ''): Promise<RawClient> {
    const one = await rawClient(this.rig.proxy.port);
    this.#clients.push(one);
    one.send(bytes);
    return one;
  }
}

/** A rig for all tests of a file. @param settings - as in {@link PassingRig.start} */
export function passingRig(settings?: Parameters<PassingRig['start']>[0]): PassingRig {
  const passing = new PassingRig();
  beforeAll(() => passing.start(settings));
  afterEach(() => passing.reset());
  afterAll(() => passing.close());
  return passing;
}

/** Answers with a file as a host does. */
export function sendFile(socket: Socket, file: Uint8Array | undefined): void {
  socket.write(`HTTP/1.1 ${file ? '200 OK' : '404 Not Found'}\r\nContent-Length: ${file?.length ?? 0}\r\n\r\n`);
  if (file) socket.write(file);
}

/** The head of a message in bytes. */
export const lines = (...all: string[]) => `${all.join('\r\n')}\r\n\r\n`;

/** The head of a request to the host that answers in bytes. */
export const toRaw = (method: string, ...fields: string[]) =>
  lines(`${method} http://raw.example/ HTTP/1.1`, 'Host: raw.example', ...fields);
