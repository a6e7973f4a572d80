/**
 * The connections of clients: so many at a time, one request after another on each, and an end for those that break HTTP's rules. RFC 9112
 * section 9.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { STATUS_CODES } from '../../node-support/http.ts';
import { LIMITS, type Limits } from '../limits.ts';

interface Connection {
  request?: IncomingMessage;
  response?: ServerResponse;
  /** Requests that came before the one under way was answered. */
  readonly queue: (() => void)[];
  /** What is sent as soon as nothing is under way any more, because what came after it is no request. */
  farewell?: string;
  /** The last answer said that it is the last, or there will be none: whatever comes behind is not looked at. */
  isOver?: true;
}

/** Node.js's names for what is wrong with a request, where 400 does not say it all. */
const STATUS_OF: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

export class ClientConnections {
  readonly #connections = new Map<Duplex, Connection>();
  /** Those without a request, the one that has waited longest first. */
  readonly #waiting = new Set<Duplex>();

  /** Those that are turned away, for as long as they take to end. */
  readonly #leaving = new Set<Duplex>();
  readonly #limits: Pick<Limits, 'clientConnections'>;

  constructor(limits: Pick<Limits, 'clientConnections'>) {
    this.#limits = limits;
  }

  /** Counts all connections of a server from now on, from the moment they arrive. */
  watch(server: Server): void {
    server.on('arrival', this.open).on('leaving', this.turnAway).on('connection', this.open);
  }

  /**
   * A new connection, whether it is let in or that is still being found out. Beyond the bound, one that is turned away makes room, else the one that
   * has waited longest for a request; where none waits, there is none.
   */
  readonly open = (socket: Socket): void => {
    if (this.#connections.has(socket)) return;
    if (this.#connections.size >= this.#limits.clientConnections) {
      const [oldest] = this.#leaving.size > 0 ? this.#leaving : this.#waiting;
      (oldest ?? socket).destroy();
      if (oldest === undefined) return;
      this.#forget(oldest);
    }
    this.#connections.set(socket, { queue: [] });
    this.#waiting.add(socket);
    socket.once('close', () => this.#forget(socket));
  };

  /** Nothing of the connection is taken any more. */
  readonly turnAway = (socket: Socket): void => {
    if (this.#waiting.delete(socket)) this.#leaving.add(socket);
  };

  /** Has a request answered as soon as those before it on its connection are. */
  enqueue(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.isOver) return; // the connection is ending
    const begin = () => {
      this.#waiting.delete(request.socket);
      connection.request = request;
      connection.response = response;
      response.once('close', () => this.#done(request, response, connection));
      // Node.js leaves out a tab behind `chunked`, and its parser refuses it only when the request is here already: in the same turn.
      if (request.headers['transfer-encoding']?.toLowerCase() !== 'chunked') answer();
      else process.nextTick(() => void (connection.isOver || request.socket.destroyed || answer()));
    };
    if (connection.response === undefined) begin();
    else if (connection.queue.length < LIMITS.pipelined) connection.queue.push(begin);
    else request.socket.destroy();
  }

  /** Whether a request is under way: then a connection cannot become a tunnel. */
  isBusy(socket: Duplex): boolean {
    return this.#connections.get(socket)?.response !== undefined;
  }

  /** From now on the connection is a tunnel, which counts, and does not make room. */
  becomeTunnel(socket: Duplex): void {
    this.#waiting.delete(socket);
    if (this.#connections.has(socket)) (socket as Socket).setTimeout(0);
  }

  /**
   * What came is not HTTP. An answer says so where it can only be taken for the answer to just that: never in the midst of another, never in
   * place of one that is still owed.
   */
  fail(error: NodeJS.ErrnoException, socket: Duplex): void {
    const status = STATUS_OF[error.code ?? ''] ?? 400;
    const farewell = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
    const connection = this.#connections.get(socket);
    const { request, response, queue } = connection ?? {};
    if (!socket.writable || response?.headersSent || (queue?.length ?? 0) > 0) return void socket.destroy();
    if (connection && request?.complete) connection.farewell = farewell;
    else {
      if (connection) connection.isOver = true;
      socket.write(farewell, 'latin1', () => socket.destroy());
    }
  }

  #done(request: IncomingMessage, response: ServerResponse, connection: Connection): void {
    const { socket } = request;
    delete connection.request;
    delete connection.response;
    if (!request.complete) limitRest(request);
    if (!response.shouldKeepAlive) connection.isOver = true;
    else if (connection.farewell !== undefined) socket.end(connection.farewell, 'latin1');
    else if (connection.queue.length > 0) connection.queue.shift()?.();
    else if (this.#connections.has(socket)) this.#waiting.add(socket);
  }

  #forget(socket: Duplex): void {
    this.#connections.delete(socket);
    this.#waiting.delete(socket);
    this.#leaving.delete(socket);
  }
}

/** The rest of a request that is answered already is dropped, so that the connection can serve again: but not all of a film. */
function limitRest(request: IncomingMessage): void {
  let length = 0;
  request.on('data', (piece: Buffer) => {
    length += piece.length;
    if (length > LIMITS.droppedOfRequest) request.socket.destroy();
  });
}
