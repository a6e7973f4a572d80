/**
 * The server on this machine's loopback addresses. `localhost` and every name below it mean 127.0.0.1 and ::1, and browsers try both: on a port that
 * is ours on one of them only, another user could answer on the other with pages of their own, under the names of our sites. So both are listened
 * on, or neither.
 */
import type { ServerOptions } from 'node:http';
import { type AddressInfo, createServer as createPlainServer, type Server as PlainServer, type Socket } from 'node:net';
import { Server } from '../../node-support/http.ts';
import { LIMITS } from '../limits.ts';

const IPV4 = '127.0.0.1';
const IPV6 = '::1';
/** Machines without IPv6, or without its loopback address: no server can be there. */
const NO_IPV6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'];
/** Number of free ports of one address that are tried before one is free on the other as well. */
const FREE_PORTS = 20;

/** Options with which `node:http` opens its own connections. */
const LIKE_HTTP = { allowHalfOpen: true, noDelay: true };

/** Decides about a connection before anything of it is read, and answers it if it is refused. */
export type Admit = (socket: Socket) => Promise<boolean>;

export class LoopbackServer extends Server {
  readonly #second = createPlainServer(LIKE_HTTP, (socket) => this.emit('connection', socket));
  readonly #admit: Admit;

  constructor(options: ServerOptions, admit: Admit) {
    super(options);
    this.#admit = admit;
  }

  /** Listens on both addresses. @param port - 0: any that is free on both @returns why it cannot */
  async open(port: number): Promise<NodeJS.ErrnoException | undefined> {
    let failure: NodeJS.ErrnoException | undefined;
    for (let attempt = 0; attempt < (port === 0 ? FREE_PORTS : 1); attempt++) {
      failure = await this.#tryBoth(port);
      if (failure?.code !== 'EADDRINUSE') break;
    }
    return failure;
  }

  async #tryBoth(port: number): Promise<NodeJS.ErrnoException | undefined> {
    const failure = await tryToListen(this.#second, port, IPV6);
    if (failure && !NO_IPV6.includes(failure.code ?? '')) return failure;
    const address = this.#second.address() as AddressInfo | null;
    const other = await tryToListen(this, address?.port ?? port, IPV4);
    if (other && address) await new Promise((resolve) => this.#second.close(resolve));
    return other;
  }

  override close(done?: (error?: Error) => void): this {
    const second = new Promise((resolve) => this.#second.close(resolve));
    return super.close((error) => second.then(() => done?.(error)));
  }

  /** `connection` is emitted for admitted connections only; `arrival` and `leaving` for all, so that they can be counted. */
  override emit(event: string | symbol, ...details: unknown[]): boolean {
    if (event !== 'connection') return super.emit(event, ...details);
    void this.#receive(details[0] as Socket);
    return true;
  }

  async #receive(socket: Socket): Promise<void> {
    const failed = () => socket.destroy();
    socket.on('error', failed);
    super.emit('arrival', socket);
    if (socket.destroyed) return;
    const admitted = await this.#admit(socket).catch(() => false);
    socket.off('error', failed);
    if (admitted && this.listening && !socket.destroyed) super.emit('connection', socket);
    else {
      super.emit('leaving', socket);
      endSoon(socket);
    }
  }
}

/** An answer may be on its way; that the client reads it is not waited for. */
function endSoon(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  const timer = setTimeout(() => socket.destroy(), LIMITS.stopTimeout);
  socket.once('close', () => clearTimeout(timer));
  socket.resume().end();
}

function tryToListen(server: PlainServer, port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const failed = (error: NodeJS.ErrnoException) => {
      server.off('listening', listening);
      resolve(error);
    };
    const listening = () => {
      server.off('error', failed);
      resolve(undefined);
    };
    server.once('error', failed).once('listening', listening).listen(port, host);
  });
}
