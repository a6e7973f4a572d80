/**
 * The dispatcher of a cluster: works of all key servers wait in one queue, and each core of each of them does one at a time. A work that is lost with
 * the key server that did it is handed out once more.
 */
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { systemCode } from '../../node-support/system-error.ts';
import { listenAt } from '../config/listen-at.ts';
import type { ListenAddress } from '../config/schema.ts';
import { KeyServerError } from '../errors.ts';
import { Asked, Connection, isAuthenticated, NotDone, serverTls, TIMING, type Timing } from './connection.ts';
import { FairQueue } from './fair-queue.ts';
import type { Frame } from './frames.ts';
import { BOUNDS, type Hashing, localHashing, Tally } from './hashing.ts';
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
  readonly #connections = new Set<Connection>();
  readonly #tally = new Tally();
  readonly #server: Server;
  readonly #log: Logger;
  readonly #timing: Timing;

  private constructor({ secret, places, log, timing = TIMING }: DispatcherOptions) {
    this.#queue = new FairQueue(
      BOUNDS,
      Array.from({ length: places }, () => ({ do: hashOnThread })),
    );
    this.#log = log;
    this.#timing = timing;
    this.#server = createServer(serverTls(secret), (socket) => this.#accept(socket));
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.on('tlsClientError', (error, socket) => this.#refuse(socket.remoteAddress, systemCode(error)));
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
    return this.#connections.size;
  }

  close(): Promise<void> {
    for (const connection of this.#connections) connection.close('this key server stops');
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

  #accept(socket: TLSSocket): void {
    const { remoteAddress: member } = socket;
    if (!isAuthenticated(socket)) {
      this.#refuse(member, 'protocol');
      return void socket.on('error', () => undefined).destroy();
    }
    const asked = new Asked();
    let places: readonly Place[] | undefined;
    const frame = (given: Frame) => {
      if (given.kind === 'offer' && places === undefined) {
        places = placesAt(connection, asked, given.places);
        this.#log.info({ member, places: places.length }, 'a key server came to the dispatcher');
        for (const place of places) this.#queue.add(place);
      } else if (!isAnswer(asked, given)) {
        if (given.kind === 'ask') void this.#answer(connection, given);
        else connection.close('it sent what does not fit');
      }
    };
    const end = (reason: string) => {
      this.#connections.delete(connection);
      for (const place of places ?? []) this.#queue.remove(place);
      const again = asked.length;
      asked.giveUp();
      this.#log.warn({ member, reason, again }, 'a key server left the dispatcher');
    };
    const connection = new Connection(socket, { frame, end }, this.#timing);
    this.#connections.add(connection);
  }

  async #answer(connection: Connection, { id, address, work }: Extract<Frame, { kind: 'ask' }>): Promise<void> {
    try {
      const hash = await this.#handOut(address, work, () => connection.isOpen);
      connection.send({ kind: 'done', id, hash });
    } catch (error) {
      connection.send({ kind: error instanceof KeyServerError ? 'busy' : 'failed', id });
    }
  }

  #refuse(member: string | undefined, reason: string | undefined): void {
    const why =
      reason === OTHER_SECRET
        ? 'refused a key server that has another database or master key'
        : 'refused a connection to the dispatcher before it was authenticated';
    this.#log.warn({ member, reason }, why);
  }
}

/** The places of a key server: each sends a work, and waits for its answer. */
function placesAt(connection: Connection, asked: Asked, count: number): readonly Place[] {
  return Array.from({ length: count }, () => ({
    do: (work) => asked.ask((id) => connection.send({ kind: 'do', id, work })),
  }));
}

/** Whether a frame answers a work that was handed out. */
function isAnswer(asked: Asked, frame: Frame): boolean {
  if (frame.kind === 'done') return asked.answer(frame.id, frame.hash);
  return frame.kind === 'failed' && asked.answer(frame.id, new NotDone());
}
