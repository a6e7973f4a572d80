/**
 * The dispatcher of a cluster: works of all key servers wait in one queue, and each core of each of them does one at a time. A work that is lost with
 * the key server that did it is handed out once more.
 */
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { systemCode } from '../../node-support/system-error.ts';
import { listenAt } from '../config/listen-at.ts';
import type { ListenAddress } from '../config/schema.ts';
import { KeyServerError } from '../errors.ts';
import { FairQueue } from './fair-queue.ts';
import { BOUNDS, type Hashing, localHashing, Tally } from './hashing.ts';
import {
  encodeMessage,
  isAuthenticated,
  MESSAGES,
  NotDone,
  readMessage,
  serverTls,
  TIMING,
  type Timing,
  watch,
} from './messages.ts';
import { RemotePlace } from './remote-place.ts';
import { type HashingWork, hashOnThread } from './threads.ts';

/** Where one work is done at a time. */
interface Place {
  readonly do: (work: HashingWork) => Promise<Uint8Array>;
}

const MOST_CONNECTIONS = 256;
/** OpenSSL's word for another secret. */
const OTHER_SECRET = 'ERR_SSL_BINDER_DOES_NOT_VERIFY';

export interface DispatcherOptions {
  readonly listen: ListenAddress;
  /** 32 bytes that all key servers of the cluster know. */
  readonly secret: Uint8Array;
  /** Works that this machine does at a time. */
  readonly places: number;
  readonly log: Logger;
  readonly timing?: Timing;
}

export class Dispatcher implements Hashing {
  readonly #queue: FairQueue<Place>;
  /** For works that two places have not done, in bounds of its own: there may be many of them at once. */
  readonly #local = localHashing();
  /** Key servers that have joined, with their places. */
  readonly #members = new Map<ServerHttp2Session, readonly RemotePlace[]>();
  readonly #tally = new Tally();
  readonly #server: Http2SecureServer;
  readonly #log: Logger;
  readonly #timing: Timing;

  private constructor({ secret, places, log, timing = TIMING }: DispatcherOptions) {
    this.#queue = new FairQueue(
      BOUNDS,
      Array.from({ length: places }, () => ({ do: hashOnThread })),
    );
    this.#log = log;
    this.#timing = timing;
    this.#server = createSecureServer(serverTls(secret));
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.on('tlsClientError', (error, socket) => this.#refuse(socket, systemCode(error)));
    this.#server.on('unknownProtocol', (socket) => this.#refuse(socket, 'protocol'));
    this.#server.on('session', (session) => {
      const socket = session.socket as TLSSocket;
      if (isAuthenticated(socket)) this.#accept(session);
      else this.#refuse(socket, 'protocol');
    });
  }

  /** @throws KeyServerError `listen-failed` */
  static async start(options: DispatcherOptions): Promise<Dispatcher> {
    const dispatcher = new Dispatcher(options);
    await listenAt(dispatcher.#server, options.listen, 'dispatcher.listen');
    return dispatcher;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async hash(address: string, work: HashingWork): Promise<Uint8Array> {
    const done = this.#handOut(address, work).catch((error) => {
      if (error instanceof NotDone) return this.#local.hash(address, work);
      throw error;
    });
    return this.#tally.of('dispatched', done);
  }

  counts() {
    return this.#tally.counts;
  }

  connected(): number {
    return this.#members.size;
  }

  close(): Promise<void> {
    for (const session of this.#members.keys()) session.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** @param isWanted - whether the answer still has somewhere to go @throws KeyServerError `busy`; NotDone where two have failed */
  async #handOut(address: string, work: HashingWork, isWanted = () => true): Promise<Uint8Array> {
    const attempt = () =>
      this.#queue.run(address, (place) => {
        if (!isWanted()) throw new NotDone();
        return place.do(work);
      });
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof NotDone && isWanted()) return attempt();
      throw error;
    }
  }

  #accept(session: ServerHttp2Session): void {
    const { remoteAddress: member } = session.socket;
    const end = watch(session, this.#timing, (reason) => {
      const places = this.#members.get(session) ?? [];
      this.#members.delete(session);
      for (const place of places) this.#queue.remove(place);
      const again = places.filter((place) => place.giveUp()).length;
      this.#log.warn({ member, reason, again }, 'a key server left the dispatcher');
    });
    session.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      this.#answer(session, stream, headers[':path']).catch(() => {
        if (!session.destroyed) end('it sent what does not fit');
      });
    });
  }

  /** @throws whatever does not fit */
  async #answer(session: ServerHttp2Session, stream: ServerHttp2Stream, path: string | undefined): Promise<void> {
    const known = this.#members.get(session);
    if (path === '/join' && known === undefined) {
      const { places: count } = await readMessage(MESSAGES.join, stream);
      const places = Array.from({ length: count }, () => new RemotePlace());
      this.#members.set(session, places);
      this.#log.info({ member: session.socket.remoteAddress, places: count }, 'a key server came to the dispatcher');
      for (const place of places) this.#queue.add(place);
      respond(stream, 204);
    } else if (path === '/hash') {
      const { address, work } = await readMessage(MESSAGES.ask, stream);
      const isWanted = () => !stream.destroyed;
      await this.#handOut(address, work, isWanted).then(
        (hash) => respond(stream, 200, encodeMessage(MESSAGES.answer, { hash })),
        (error) => respond(stream, error instanceof KeyServerError ? 503 : 502),
      );
    } else if (path === '/work' && known) {
      const { place, hash } = await readMessage(MESSAGES.poll, stream);
      if (!known[place]?.poll(hash, (text) => respond(stream, 200, text))) throw new Error('no such place waits');
    } else throw new Error('no such message');
  }

  #refuse(socket: TLSSocket, reason: string | undefined): void {
    const why =
      reason === OTHER_SECRET
        ? 'refused a key server that has another database or master key'
        : 'refused a connection to the dispatcher before it was authenticated';
    this.#log.warn({ member: socket.remoteAddress, reason }, why);
    socket.on('error', () => undefined).destroy();
  }
}

function respond(stream: ServerHttp2Stream, status: number, text = ''): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': status });
  stream.end(text);
}
