/** `wispr link near`: takes connections of clients to the far relay: as an HTTP proxy (CONNECT, RFC 9110 section 9.3.6), for one destination, or diverted. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Transform } from 'node:stream';
import { LRUCache } from 'lru-cache';
import { reasonOf } from '../../core/errors.ts';
import { ClientConnections, serverOptions } from '../../node-support/client-connections.ts';
import { createServer as createHttpServer } from '../../node-support/http.ts';
import { refuseFault, requestFault } from '../../node-support/http-requests.ts';
import { LIMITS } from '../limits.ts';
import { type FilledChain, readChain } from '../store/chain-file.ts';
import { NearSide } from '../substitution/near.ts';
import { ProtocolViolation } from '../substitution/passage.ts';
import { readClientHello } from '../tls/client-hello.ts';
import { RecordReader } from '../tls/records.ts';
import { beginningOf } from './beginning.ts';
import { ConnectionTable } from './connection-table.ts';
import { join, reached, supervise, through } from './join.ts';
import { destinationOf, type RelayMeans, type RelayOptions, type RunningRelay, startRelay } from './listening.ts';
import { type Destination, formatDestination, parseDestination, STATUS, writeOpening } from './opening.ts';

export interface NearOptions extends RelayOptions {
  /** HOST:PORT of the far relay. */
  readonly far: string;
  /** HOST:PORT: every connection is for it, and no proxy is spoken. */
  readonly to?: string;
  /** Takes connections that the system diverts here, for where they went; not with `to`. */
  readonly transparent?: boolean;
  /** Files of chains to begin with, in PEM. */
  readonly fill?: readonly string[];
}

interface NearMeans extends RelayMeans {
  readonly far: Destination;
  /** Addresses of clients, each with a destination on their connections to which nothing is changed: docs/spec/link.md section 6. */
  readonly plain: LRUCache<string, true>;
}

/** The port of what is diverted, where only its server name is known. */
const HTTPS = 443;

/** @throws LinkError */
export async function startNear(options: NearOptions): Promise<RunningRelay> {
  const far = destinationOf(options.far, 'near');
  const fixed = options.to === undefined ? undefined : destinationOf(options.to, 'near');
  const chains = (options.fill ?? []).map(readChain);
  const plain = new LRUCache<string, true>({ max: LIMITS.plainDestinations, ttl: LIMITS.plain });
  return startRelay(options, 'near', (means) => {
    if (chains.length > 0) fill(means, chains);
    const near = { ...means, far, plain };
    if (options.transparent) return transparentServer(near);
    return fixed ? serverFor(near, fixed) : proxyFor(near);
  });
}

function fill({ store, report }: RelayMeans, chains: readonly FilledChain[]): void {
  for (const { names, chain } of chains) for (const name of names) store.learnChain(name, chain);
  const isStored = ({ names: [name = ''], chain }: FilledChain) => store.recall(name).chain.length === chain.length;
  const stored = chains.filter(isStored).length;
  const others = stored < chains.length ? '; the others have certificates that expired, or could not be stored' : '';
  report(`chains of --fill that are stored: ${stored} of ${chains.length}${others}`);
}

/** @param client - of which {@link supervise} takes care */
async function pass(means: NearMeans, client: Socket, destination: Destination): Promise<void> {
  const { store, plain, report } = means;
  const name = formatDestination(destination);
  const place = `${client.remoteAddress} ${name}`;
  const isPlain = plain.has(place);
  const side = isPlain ? undefined : new NearSide(store, destination.port);
  let endedFirst = (): Socket | undefined => undefined;
  try {
    const far = await connectFar(means, client);
    endedFirst = watchEnds(client, far);
    far.cork(); // shares a packet with what the client has sent by now
    far.write(writeOpening({ ...destination, isPlain }));
    setImmediate(() => far.uncork());
    const back = [withoutStatus(name), ...through(side?.fromServer)];
    await join(client, far, through(side?.fromClient), back);
  } catch (error) {
    if (error instanceof NotConnected || error instanceof ProtocolViolation) report(`${name}: ${error.message}`);
    if (error instanceof NotConnected) return;
    if (error instanceof ProtocolViolation) plain.set(place, true);
  } finally {
    client.destroy();
  }
  const hasLeft = endedFirst() === client && !side?.isRefused; // a reader who did not want to wait
  if (side?.hasFailed && !hasLeft) plain.set(place, true);
}

async function connectFar({ far, sockets }: NearMeans, client: Socket): Promise<Socket> {
  client.read(0); // begins to read while the link connects
  try {
    return await reached(connect({ ...far, allowHalfOpen: true }), client, sockets);
  } catch (cause) {
    throw new NotConnected(`the far relay ${formatDestination(far)} was not reached: ${reasonOf(cause)}`);
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

function serverFor(near: NearMeans, destination: Destination): Server {
  return createServer({ allowHalfOpen: true }, (client) => {
    supervise(client);
    void pass(near, client, destination);
  });
}

function transparentServer(near: NearMeans): Server {
  const table = new ConnectionTable();
  const why = table.whyUnreadable();
  if (why !== undefined)
    near.report(
      `diverted connections go to port ${HTTPS} of their server names: ${why}; run it as root, with nf_conntrack in the kernel`,
    );
  return createServer({ allowHalfOpen: true }, async (client) => {
    supervise(client);
    const destination = (await table.find(client)) ?? (await namedBy(client));
    if (client.destroyed) return;
    if (destination !== undefined && !isLoop(near, client, destination)) return pass(near, client, destination);
    const why = destination
      ? `${formatDestination(destination)} is a relay of this pair`
      : 'the connection table of the system does not have it (root alone may read that), nor is there a server name in it';
    near.report(`a connection of ${client.remoteAddress} was not passed on: ${why}`);
    client.destroy();
  });
}

/** Destination of a connection to {@link HTTPS}, by the server name in its first record, which stays in it. */
async function namedBy(client: Socket): Promise<Destination | undefined> {
  const host = await beginningOf(client, (seen) => {
    const records = new RecordReader();
    records.push(seen);
    const first = records.next();
    if (first === 'more') return 'more';
    const name = first === 'foreign' ? undefined : readClientHello(first)?.serverName;
    return name === undefined ? undefined : { found: name, rest: seen };
  });
  return host === undefined ? undefined : { host, port: HTTPS };
}

/** Tells a connection that was not diverted, and this relay's own to the far one. */
function isLoop({ sockets }: NearMeans, { localPort }: Socket, { host, port }: Destination): boolean {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return (
    (port === localPort && own.some(({ address }) => address === host)) ||
    [...sockets].some(({ remoteAddress, remotePort }) => port === remotePort && host === remoteAddress)
  );
}

/** Bytes of the head of a request. */
const HEAD = 16_384;

function proxyFor(near: NearMeans): Server {
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
    void pass(near, client, destination);
  });
  return server;
}
