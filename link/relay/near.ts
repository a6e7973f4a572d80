/** `wispr link near`: takes connections of clients, as an HTTP proxy (CONNECT, RFC 9110 section 9.3.6) or for one destination, to the far relay. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { reasonOf } from '../../core/errors.ts';
import { ClientConnections, serverOptions } from '../../node-support/client-connections.ts';
import { createServer as createHttpServer } from '../../node-support/http.ts';
import { refuseFault, requestFault } from '../../node-support/http-requests.ts';
import { LIMITS } from '../limits.ts';
import { CertificateStore } from '../store/store.ts';
import { NearSide } from '../substitution/near.ts';
import { ProtocolViolation } from '../substitution/passage.ts';
import { join, supervise, through } from './join.ts';
import { destinationOf, listen, type RunningRelay, rangesOf } from './listening.ts';
import { type Destination, formatDestination, parseDestination, STATUS, writeOpening } from './opening.ts';

export interface NearOptions {
  /** HOST:PORT of the far relay. */
  readonly far: string;
  /** ADDRESS:PORT. */
  readonly listen: string;
  /** ADDRESS or ADDRESS/BITS of clients besides this machine. */
  readonly from?: readonly string[];
  /** HOST:PORT: every connection is for it, and no proxy is spoken. */
  readonly to?: string;
  /** File of the store. */
  readonly store: string;
  /** Hears what went wrong: a sentence without a full stop. */
  readonly report?: (what: string) => void;
}

/** @throws LinkError */
export async function startNear(options: NearOptions): Promise<RunningRelay> {
  const { to, report = () => undefined } = options;
  const [far, at, from] = [destinationOf(options.far), destinationOf(options.listen, 0), rangesOf(options.from ?? [])];
  const fixed = to === undefined ? undefined : destinationOf(to);
  const sockets = new Set<Socket>();
  const failed = (reason: string) => report(`nothing is remembered from now on: ${reason}`);
  const store = new CertificateStore(options.store, { failed });
  const near = new Near(far, store, sockets, report);
  try {
    const relay = await listen(fixed ? serverFor(near, fixed) : proxyFor(near), at, from, sockets, LIMITS.connections);
    return { ...relay, close: () => relay.close().finally(() => store.close()) };
  } catch (error) {
    store.close();
    throw error;
  }
}

class Near {
  readonly #far: Destination;
  readonly #store: CertificateStore;
  readonly #sockets: Set<Socket>;
  readonly #report: (what: string) => void;
  /** Addresses of clients, each with a destination on their connections to which nothing is changed: docs/spec/link.md section 6. */
  readonly #plain = new LRUCache<string, true>({ max: LIMITS.plainDestinations, ttl: LIMITS.plain });

  constructor(far: Destination, store: CertificateStore, sockets: Set<Socket>, report: (what: string) => void) {
    this.#far = far;
    this.#store = store;
    this.#sockets = sockets;
    this.#report = report;
  }

  /** @param client - of which {@link supervise} takes care */
  async pass(client: Socket, destination: Destination): Promise<void> {
    const name = formatDestination(destination);
    const place = `${client.remoteAddress} ${name}`;
    const isPlain = this.#plain.has(place);
    const side = isPlain ? undefined : new NearSide(this.#store, destination.port);
    let endedFirst = (): Socket | undefined => undefined;
    try {
      const far = await this.#connect(client);
      endedFirst = watchEnds(client, far);
      far.cork(); // in one packet with what the client has sent by now
      far.write(writeOpening({ ...destination, isPlain }));
      setImmediate(() => far.uncork());
      const back = [withoutStatus(name), ...through(side?.fromServer)];
      await join(client, far, through(side?.fromClient), back);
    } catch (error) {
      if (error instanceof NotConnected || error instanceof ProtocolViolation)
        this.#report(`${name}: ${error.message}`);
      if (error instanceof NotConnected) return;
      if (error instanceof ProtocolViolation) this.#plain.set(place, true);
    } finally {
      client.destroy();
    }
    const hasLeft = endedFirst() === client && !side?.isRefused; // a reader who did not want to wait
    if (side?.hasFailed && !hasLeft) this.#plain.set(place, true);
  }

  async #connect(client: Socket): Promise<Socket> {
    const far = connect({ ...this.#far, allowHalfOpen: true });
    this.#sockets.add(far);
    far.once('close', () => this.#sockets.delete(far));
    supervise(far);
    const gone = () => far.destroy(new Error('the client has gone'));
    client.once('close', gone).read(0); // begins to read while the link connects
    try {
      await once(far, 'connect', { signal: AbortSignal.timeout(LIMITS.connecting) });
      client.off('close', gone);
      return far;
    } catch (cause) {
      far.destroy();
      throw new NotConnected(`the far relay ${formatDestination(this.#far)} was not reached: ${reasonOf(cause)}`);
    }
  }
}

/** @returns which of the two ended first, if one has */
function watchEnds(...sockets: readonly Socket[]): () => Socket | undefined {
  let first: Socket | undefined;
  for (const socket of sockets)
    for (const event of ['end', 'close'])
      socket.once(event, () => {
        first ??= socket;
      });
  return () => first;
}

class NotConnected extends Error {}

const REASONS: Readonly<Record<number, string>> = {
  [STATUS.refused]: 'the far relay does not connect there',
  [STATUS.unreached]: 'the far relay did not reach it',
};

/** Takes the far relay's status away. */
function withoutStatus(name: string): Transform {
  let isSeen = false;
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      if (isSeen) return done(null, chunk);
      isSeen = true;
      const [status = 0] = chunk;
      if (status === STATUS.connected) return done(null, chunk.subarray(1));
      done(new NotConnected(REASONS[status] ?? `${name} is answered by no far relay of this version`));
    },
    flush: (done) => done(isSeen ? null : new NotConnected('the far relay closed the connection')),
  });
}

function serverFor(near: Near, destination: Destination): Server {
  return createServer({ allowHalfOpen: true }, (client) => {
    supervise(client);
    void near.pass(client, destination);
  });
}

/** Bytes of the head of a request. */
const HEAD = 16_384;

function proxyFor(near: Near): Server {
  // Bounded by `listen`, whose connections that make room end a little later.
  const { nearConnections: clientConnections, opening } = LIMITS;
  const limits = { clientConnections, pipelined: 1, requestHead: opening, clientIdle: opening };
  const server = createHttpServer(serverOptions(limits, { maxHeaderSize: HEAD, requestTimeout: opening }));
  const connections = new ClientConnections(limits);
  connections.serve(server, (request, response) => {
    if (refuseFault(request, response)) return;
    const headers = { 'content-type': 'text/plain', connection: 'close' };
    response
      .writeHead(405, { ...headers, allow: 'CONNECT' })
      .end('this proxy takes CONNECT only: https, and no http\n');
  });
  server.on('connect', (request, client: Socket, head: Buffer) => {
    supervise(client); // Node.js has taken its own listener for errors away
    connections.becomeTunnel(client);
    const destination = requestFault(request) === undefined ? parseDestination(request.url ?? '') : undefined;
    if (destination === undefined) return client.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    if (head.length > 0) client.unshift(head);
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    void near.pass(client, destination);
  });
  return server;
}
