/**
 * A long and narrow line in front of servers of this machine: all connections share its rate, and take turns, a packet each. A connection takes
 * one round trip before its first byte, as TCP does; TLS takes its own. Congestion control is left out.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const PACKET = 1400;
/** Packets of a connection that wait at most, about as many as are under way. */
const WAITING = 24;

export interface LineKind {
  /** Milliseconds. */
  readonly roundTrip: number;
  /** Bytes a millisecond, in each direction. */
  readonly rate: number;
}

/** Direction of a connection. An empty packet ends it. */
interface Flow {
  readonly from: Socket;
  readonly to: Socket;
  readonly packets: Buffer[];
}

export class Line {
  connections = 0;
  readonly #kind: LineKind;
  readonly #up: Direction;
  readonly #down: Direction;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  constructor(kind: LineKind) {
    this.#kind = kind;
    this.#up = new Direction(kind);
    this.#down = new Direction(kind);
  }

  /** @param port - of a server @returns where it is reached over the line */
  async lead(port: number): Promise<number> {
    const server = createServer({ allowHalfOpen: true }, (near) => {
      this.connections++;
      const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      this.#hold(near, far);
      setTimeout(() => this.#up.carry(near, far), this.#kind.roundTrip);
      this.#down.carry(far, near);
    });
    this.#servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) await new Promise((resolve) => server.close(resolve));
  }

  #hold(...both: [Socket, Socket]): void {
    for (const socket of both) {
      this.#sockets.add(socket.setNoDelay().on('error', () => socket.destroy()));
      socket.on('close', (failed) => {
        this.#sockets.delete(socket);
        if (failed) for (const other of both) other.destroy();
      });
    }
  }
}

class Direction {
  readonly #kind: LineKind;
  readonly #turns: Flow[] = [];
  #sends = false;

  constructor(kind: LineKind) {
    this.#kind = kind;
  }

  carry(from: Socket, to: Socket): void {
    const flow: Flow = { from, to, packets: [] };
    from.on('data', (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += PACKET) this.#add(flow, bytes.subarray(at, at + PACKET));
      if (flow.packets.length > WAITING) from.pause();
    });
    from.on('end', () => this.#add(flow, Buffer.alloc(0)));
  }

  #add(flow: Flow, packet: Buffer): void {
    if (flow.packets.push(packet) === 1) this.#turns.push(flow);
    if (!this.#sends) void this.#send();
  }

  async #send(): Promise<void> {
    this.#sends = true;
    let free = performance.now();
    for (let flow = this.#turns.shift(); flow; flow = this.#turns.shift()) {
      const { from, to, packets } = flow;
      const packet = packets.shift() ?? Buffer.alloc(0);
      if (packets.length > 0) this.#turns.push(flow);
      if (packets.length === WAITING) from.resume();
      free += packet.length / this.#kind.rate;
      // Timers are late: what comes next makes up for it.
      const early = free - performance.now();
      if (early > 0) await pause(early);
      setTimeout(() => void (packet.length > 0 ? to.write(packet) : to.end()), this.#kind.roundTrip / 2);
    }
    this.#sends = false;
  }
}
