/**
 * The connections of clients at every HTTP listener: so many at a time, in all and from one address; one request after another on each; one answer
 * for each request; and an end for those that break HTTP's rules or say nothing. RFC 9112 section 9.
 */
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { STATUS_CODES } from './http.ts';
import { hasBody } from './http-requests.ts';
import { cutConnection, plainSocketOf, rememberConnections } from './plain-sockets.ts';

/** Bounds of a listener. Lengths in bytes, times in milliseconds. */
export interface ConnectionLimits {
  /** Connections at a time; beyond, the one that has been without a whole request for longest is closed, and where all have one, the new one. */
  readonly clientConnections: number;
  /** The same for the connections of one address; left out: no bound. */
  readonly clientConnectionsPerAddress?: number;
  /** Requests that wait on one connection for those before them, and fields of one; beyond, it is cut. */
  readonly pipelined: number;
  readonly fields?: number;
  /** Milliseconds until the head of a request has arrived; and between two requests. */
  readonly requestHead: number;
  readonly clientIdle: number;
}

/** Number of pipelined requests at which a connection is read no further. One read of a socket may hold 2,000. */
const PIPELINED = 32;
/** Bytes that are read and dropped of a request that was answered early, to keep its connection. */
export const DROPPED_OF_REQUEST = 16_777_216;
/** Milliseconds until a connection is destroyed whose client was told what is wrong: a reset at once could overtake the answer. */
const FAREWELL = 1_000;

/** Node.js's names for what is wrong with a request, where 400 does not say it all. */
const STATUS_OF: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The options of every HTTP server, whatever the command line of Node.js says. */
export function serverOptions(
  { requestHead, clientIdle }: ConnectionLimits,
  more: ServerOptions & { readonly maxHeaderSize: number; readonly requestTimeout: number },
): ServerOptions {
  return {
    ...more,
    headersTimeout: requestHead,
    connectionsCheckingInterval: Math.min(requestHead / 2, 30_000),
    keepAliveTimeout: clientIdle,
    requireHostHeader: false, // requestFault does, and lets nothing that comes behind be looked at
    insecureHTTPParser: false,
  };
}

interface Connection {
  /** Address by which it is counted. */
  readonly address: string | undefined;
  request?: IncomingMessage;
  response?: ServerResponse;
  /** Requests that came before the one under way was answered. */
  readonly queue: (() => void)[];
  /** Set once it was read no further, so that requests wait in the socket. */
  isPaused?: true;
  /** Answer that is sent as soon as nothing is under way any more, because what came after it is no request. */
  farewell?: string;
  /** The last answer said that it is the last, or there will be none: whatever comes behind is not looked at. */
  isOver?: true;
}

/** A further answer to what is no request: fields, each with its line end, and text. */
export type Explain = (
  status: number,
  error: NodeJS.ErrnoException,
) => { readonly fields: string; readonly text: string };

export interface ConnectionOptions {
  /** Finds the address by which connections are counted; `undefined`: not by address, as for proxies, which have those of everybody. */
  readonly addressOf?: (socket: Socket) => string | undefined;
  readonly explain?: Explain;
}

export class ClientConnections {
  readonly #connections = new Map<Duplex, Connection>();
  /** Connections without a request, the one that has waited longest first. */
  readonly #waiting = new Set<Duplex>();
  /** Connections whose request has not arrived whole, the oldest first. */
  readonly #arriving = new Set<Duplex>();
  /** Connections that are turned away, for as long as they take to end. */
  readonly #leaving = new Set<Duplex>();
  readonly #byAddress = new Map<string, Set<Duplex>>();
  readonly #limits: ConnectionLimits;
  readonly #options: ConnectionOptions;

  constructor(limits: ConnectionLimits, options: ConnectionOptions = {}) {
    this.#limits = limits;
    this.#options = options;
  }

  /** Counts all connections of a server from now on, from the moment they arrive, and gives each request to `answer`. */
  serve(server: Server, answer: (request: IncomingMessage, response: ServerResponse) => void): void {
    server.maxHeadersCount = 0; // Node.js would leave out what is beyond; the bound is in bytes
    rememberConnections(server);
    server.on('arrival', this.open).on('leaving', this.turnAway).on('connection', this.open);
    const enqueue = (request: IncomingMessage, response: ServerResponse) =>
      this.#enqueue(request, response, () => answer(request, response));
    server.on('request', enqueue).on('checkContinue', enqueue).on('checkExpectation', enqueue);
    server.on('clientError', (error, socket) => this.#fail(error, socket));
  }

  /** A new connection, whether it is let in or that is still being found out: it has its place, or is destroyed. */
  readonly open = (socket: Socket): void => {
    if (this.#connections.has(socket) || socket.destroyed) return;
    const address = this.#options.addressOf?.(socket);
    const { clientConnections, clientConnectionsPerAddress = Number.POSITIVE_INFINITY } = this.#limits;
    const ofAddress = address === undefined ? undefined : (this.#byAddress.get(address) ?? new Set<Duplex>());
    if (ofAddress && ofAddress.size >= clientConnectionsPerAddress && !this.#makeRoom(ofAddress))
      return void socket.destroy();
    if (this.#connections.size >= clientConnections && !this.#makeRoom()) return void socket.destroy();
    this.#connections.set(socket, { queue: [], address });
    if (address !== undefined && ofAddress) this.#byAddress.set(address, ofAddress.add(socket));
    this.#waiting.add(socket);
    socket.setMaxListeners(20).once('close', () => this.#forget(socket));
  };

  /**
   * Closes one that is turned away, else the one that has waited longest for a request, for the rest of one, or for its client to take an answer
   * that was given whole.
   *
   * @returns whether there was one
   */
  #makeRoom(among?: ReadonlySet<Duplex>): boolean {
    for (const candidates of [this.#leaving, this.#waiting, this.#arriving, this.#untaken()])
      for (const socket of candidates) {
        if (among && !among.has(socket)) continue;
        cutConnection(socket as Socket); // a clean end could pass for that of an answer
        this.#forget(socket);
        return true;
      }
    return false;
  }

  *#untaken(): Iterable<Duplex> {
    for (const [socket, { response }] of this.#connections)
      if (response?.writableEnded && !response.writableFinished) yield socket;
  }

  /** Takes nothing more of the connection. */
  readonly turnAway = (socket: Socket): void => {
    if (this.#waiting.delete(socket)) this.#leaving.add(socket);
  };

  /** Has a request answered as soon as those before it on its connection are. */
  #enqueue(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const { socket } = request;
    const plain = plainSocketOf(socket);
    const connection = this.#connections.get(plain);
    if (connection === undefined || connection.isOver) return; // the connection is ending
    if (request.rawHeaders.length > 2 * (this.#limits.fields ?? Number.POSITIVE_INFINITY)) return void socket.destroy();
    const begin = () => {
      this.#waiting.delete(plain);
      if (hasBody(request) && !request.complete) {
        this.#arriving.add(plain);
        request.once('end', () => this.#arriving.delete(plain));
      }
      connection.request = request;
      connection.response = response;
      // Limits before a page wait for it, too.
      response.setMaxListeners(20).once('close', () => this.#done(request, response, connection));
      // Node.js leaves out a tab behind `chunked`, and its parser refuses it only when the request is here already: in the same turn.
      if (request.headers['transfer-encoding']?.toLowerCase() !== 'chunked') answer();
      else process.nextTick(() => void (connection.isOver || socket.destroyed || answer()));
    };
    if (connection.response === undefined) begin();
    else if (connection.queue.push(begin) > this.#limits.pipelined) socket.destroy();
    else if (connection.queue.length >= PIPELINED) holdBack(connection, socket);
  }

  /** Tells whether a request is under way: then a connection cannot become a tunnel. */
  isBusy(socket: Duplex): boolean {
    return this.#connections.get(plainSocketOf(socket))?.response !== undefined;
  }

  /** Makes the connection a tunnel, which counts, and does not make room. */
  becomeTunnel(socket: Duplex): void {
    this.#waiting.delete(socket);
    if (this.#connections.has(socket)) (socket as Socket).setTimeout(0);
  }

  /**
   * Answers what is not HTTP, or did not come. An answer says so where it can only be taken for the answer to just that: never in the midst of
   * another, never in place of one that is still owed.
   */
  #fail(error: NodeJS.ErrnoException, socket: Duplex): void {
    const connection = this.#connections.get(plainSocketOf(socket));
    const { request, response, queue = [] } = connection ?? {};
    const mayAnswer = socket.writable && error.code !== 'ECONNRESET' && !connection?.isOver;
    if (!connection || !mayAnswer || response?.headersSent || queue.length > 0) return void socket.destroy();
    const farewell = this.#farewell(error);
    if (request?.complete) connection.farewell = farewell;
    else end(connection, socket, farewell);
  }

  #farewell(error: NodeJS.ErrnoException): string {
    const status = STATUS_OF[error.code ?? ''] ?? 400;
    const { fields, text } = this.#options.explain?.(status, error) ?? { fields: '', text: '' };
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n${fields}`;
    return `${head}Content-Length: ${text.length}\r\n\r\n${text}`;
  }

  #done(request: IncomingMessage, response: ServerResponse, connection: Connection): void {
    const { socket } = request;
    this.#arriving.delete(plainSocketOf(socket));
    delete connection.request;
    delete connection.response;
    if (!request.complete) limitRest(request);
    if (!response.shouldKeepAlive) connection.isOver = true;
    else if (connection.queue.length > 0) {
      connection.queue.shift()?.();
      if (connection.isPaused && connection.queue.length < PIPELINED) socket.resume();
    } else if (connection.farewell !== undefined) end(connection, socket, connection.farewell);
    else if (this.#connections.has(plainSocketOf(socket))) this.#waiting.add(plainSocketOf(socket));
  }

  #forget(socket: Duplex): void {
    const address = this.#connections.get(socket)?.address;
    const ofAddress = this.#byAddress.get(address ?? '');
    if (ofAddress?.delete(socket) && ofAddress.size === 0) this.#byAddress.delete(address ?? '');
    this.#connections.delete(socket);
    for (const set of [this.#waiting, this.#arriving, this.#leaving]) set.delete(socket);
  }
}

/** Has further requests wait in the socket. Reading the end of the request under way, Node.js would resume it. */
function holdBack(connection: Connection, socket: Socket): void {
  socket.pause();
  if (!connection.isPaused) socket.on('resume', () => connection.queue.length >= PIPELINED && socket.pause());
  connection.isPaused = true;
}

/** Says a last word, and ends the connection whether or not its client does. */
function end(connection: Connection, socket: Duplex, farewell: string): void {
  connection.isOver = true;
  socket.end(farewell, 'latin1');
  const timer = setTimeout(() => socket.destroy(), FAREWELL);
  socket.once('close', () => clearTimeout(timer));
}

/** The rest of a request that is answered already is dropped, so that the connection can serve again: but not all of a film. */
function limitRest(request: IncomingMessage): void {
  let length = 0;
  request.on('data', (piece: Buffer) => {
    length += piece.length;
    if (length > DROPPED_OF_REQUEST) request.socket.destroy();
  });
}
