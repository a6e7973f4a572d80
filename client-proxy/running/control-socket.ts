/** The socket on which a Reader is asked: bounded, and made again where it vanished. */
import { existsSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { LIMITS } from '../limits.ts';
import { makeSocketFolder } from './socket-place.ts';

export class ControlSocket {
  readonly #path: string;
  readonly #serve: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();
  readonly #timer: NodeJS.Timeout;
  #server: Server | undefined;
  #closed = false;

  /** @param serve - answers whoever connects, and ends the connection */
  constructor(path: string, serve: (socket: Socket) => void) {
    this.#path = path;
    this.#serve = serve;
    this.#timer = setInterval(() => void this.lookAfter(), LIMITS.controlCheck).unref();
  }

  /** Why this Reader cannot be asked, in a sentence for its reader; `undefined` where it can. */
  get problem(): string | undefined {
    if (this.#server !== undefined) return undefined;
    const why =
      process.platform === 'win32'
        ? 'this system has no sockets for it'
        : `${dirname(this.#path)} cannot be made, or is not yours alone`;
    return `warning: "wispr identity lock" and "wispr proxy status" cannot reach this Reader: ${why}`;
  }

  async open(): Promise<void> {
    if (process.platform === 'win32' || !makeSocketFolder(this.#path)) return;
    const server = createServer((socket) => this.#take(socket));
    server.maxConnections = LIMITS.controlConnections;
    const listening = await new Promise<boolean>((resolve) => {
      server.on('error', () => resolve(false)).listen(this.#path, () => resolve(true));
    });
    if (listening && !this.#closed) this.#server = server;
    else server.close();
  }

  /** The folder of a session goes when its user logs out, with everything in it; a Reader may outlive that. */
  async lookAfter(): Promise<void> {
    if (this.#server !== undefined && existsSync(this.#path)) return;
    this.#server?.close(); // before the new one listens: it removes what has this name
    this.#server = undefined;
    await this.open();
  }

  /** Waits for nobody who is connected. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #take(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket)).on('error', () => socket.destroy());
    this.#serve(socket);
  }
}
