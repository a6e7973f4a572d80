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
import type { AddressInfo, Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { systemCode } from '../../node-support/system-error.ts';
import { listenAt } from '../config/listen-at.ts';
import type { DispatcherConfig, ListenAddress } from '../config/schema.ts';
import { KeyServerError } from '../errors.ts';
import { FairQueue } from './fair-queue.ts';
import { BOUNDS, type Hashing, localHashing, Tally } from './hashing.ts';
import { Member } from './member.ts';
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
import { RemoteSlot } from './remote-slot.ts';
import { type HashingWork, hashOnThread } from './threads.ts';

interface WorkerSlot {
  readonly do: (work: HashingWork) => Promise<Uint8Array>;
}

/** Connections that have not proved the secret, in all and from one address: the oldest makes room. So nobody keeps a key server out by holding many. */
const MOST_STRANGERS = 128;
const MOST_OF_ADDRESS = 8;
/** OpenSSL's word for another secret. */
const OTHER_SECRET = 'ERR_SSL_BINDER_DOES_NOT_VERIFY';

export interface DispatcherOptions {
  readonly listen: ListenAddress;
  /** 32 bytes that all key servers of the cluster know. */
  readonly secret: Uint8Array;
  /** Works that this machine does at a time. */
  readonly slots: number;
  readonly log: Logger;
  readonly timing?: Timing;
}

export class Dispatcher implements Hashing {
  readonly #queue: FairQueue<WorkerSlot>;
  /** Hashing for works that two slots have not done, in bounds of its own: there may be many of them at once. */
  readonly #local = localHashing();
  /** Key servers that have joined, with their slots. */
  readonly #members = new Map<ServerHttp2Session, readonly RemoteSlot[]>();
  readonly #tally = new Tally();
  /** Connections that have not proved the secret, the oldest first. */
  readonly #strangers = new Map<string, Socket>();
  readonly #server: Http2SecureServer;
  readonly #log: Logger;
  readonly #timing: Timing;

  private constructor({ secret, slots, log, timing = TIMING }: DispatcherOptions) {
    const local = Array.from({ length: slots }, () => ({ do: hashOnThread }));
    this.#queue = new FairQueue(BOUNDS, local);
    this.#log = log;
    this.#timing = timing;
    this.#server = createSecureServer(serverTls(secret));
    this.#server.on('connection', (socket) => this.#admit(socket));
    this.#server.on('tlsClientError', (error, socket) => this.#refuse(socket, systemCode(error)));
    this.#server.on('unknownProtocol', (socket) => this.#refuse(socket, 'protocol'));
    this.#server.on('session', (session) => {
      const socket = session.socket as TLSSocket;
      if (!isAuthenticated(socket)) return this.#refuse(socket, 'protocol');
      this.#strangers.delete(endOf(socket));
      this.#accept(session);
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
      this.#queue.run(address, (slot) => {
        if (!isWanted()) throw new NotDone();
        return slot.do(work);
      });
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof NotDone && isWanted()) return attempt();
      throw error;
    }
  }

  #admit(socket: Socket): void {
    const end = endOf(socket);
    this.#strangers.set(end, socket);
    socket.once('close', () => this.#strangers.delete(end));
    const all = [...this.#strangers.values()];
    const ofAddress = all.filter(({ remoteAddress }) => remoteAddress === socket.remoteAddress);
    if (ofAddress.length > MOST_OF_ADDRESS) ofAddress[0]?.destroy();
    else if (all.length > MOST_STRANGERS) all[0]?.destroy();
  }

  #accept(session: ServerHttp2Session): void {
    const { remoteAddress: member } = session.socket;
    const end = watch(session, this.#timing, (reason) => {
      const slots = this.#members.get(session) ?? [];
      this.#members.delete(session);
      for (const slot of slots) this.#queue.remove(slot);
      const again = slots.filter((slot) => slot.giveUp()).length;
      this.#log.warn({ member, reason, again }, 'a key server left the dispatcher');
    });
    session.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      this.#answer(session, stream, headers[':path']).catch(() => {
        if (!session.destroyed) end('it sent what does not fit');
      });
    });
  }

  async #answer(session: ServerHttp2Session, stream: ServerHttp2Stream, path: string | undefined): Promise<void> {
    const known = this.#members.get(session);
    if (path === '/join' && known === undefined) {
      const { slots: count } = await readMessage(MESSAGES.join, stream);
      const slots = Array.from({ length: count }, () => new RemoteSlot());
      this.#members.set(session, slots);
      this.#log.info({ member: session.socket.remoteAddress, slots: count }, 'a key server came to the dispatcher');
      for (const slot of slots) this.#queue.add(slot);
      respond(stream, 204);
    } else if (path === '/hash') {
      const { address, work } = await readMessage(MESSAGES.ask, stream);
      const isWanted = () => !stream.destroyed;
      await this.#handOut(address, work, isWanted).then(
        (hash) => respond(stream, 200, encodeMessage(MESSAGES.answer, { hash })),
        (error) => respond(stream, error instanceof KeyServerError ? 503 : 502),
      );
    } else if (path === '/work' && known) {
      const { slot, hash } = await readMessage(MESSAGES.poll, stream);
      if (!known[slot]?.poll(hash, (text) => respond(stream, 200, text))) throw new Error('no such slot waits');
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

/** Names the other end of a connection, with and without TLS. */
function endOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function respond(stream: ServerHttp2Stream, status: number, text = ''): void {
  if (stream.destroyed) return;
  stream.respond({ ':status': status });
  stream.end(text);
}

/**
 * Hashing by way of a dispatcher, or as one.
 *
 * @param secret - 32 bytes that all key servers of the database know
 * @throws KeyServerError `listen-failed`
 */
export async function openDispatcher(config: DispatcherConfig, secret: Uint8Array, log: Logger): Promise<Hashing> {
  const { listen, connect } = config;
  const slots = availableParallelism();
  if (listen) return Dispatcher.start({ listen, secret, slots, log });
  const { hostname, port } = new URL(`tls://${connect}`);
  return new Member({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), secret, slots, log });
}
