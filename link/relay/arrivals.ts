/** The connections that came to a relay: at most so many, of which each address has its share. */
import type { Socket } from 'node:net';
import { LIMITS } from '../limits.ts';

interface Arrival {
  readonly address: string;
  /** Bytes that had passed when it was last looked at, and when that had changed last. */
  passed: number;
  active: number;
}

export class Arrivals {
  readonly #open = new Map<Socket, Arrival>();
  readonly #most: number;
  readonly #now: () => number;

  /** @param now - milliseconds */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  /**
   * Admits a connection. Where the relay is full, the connection that is idle longest is closed: of the address that has most, if that has more than the new one's;
   * else of all, if it is idle for a minute.
   *
   * @returns whether there is room for it
   */
  admit(socket: Socket): boolean {
    const { remoteAddress: address = '' } = socket;
    if (this.#open.size >= this.#most && !this.#makeRoom(address)) return false;
    this.#open.set(socket, { address, passed: 0, active: this.#now() });
    return true;
  }

  leave(socket: Socket): void {
    this.#open.delete(socket);
  }

  /** Looks at all from time to time, since connections do not say when bytes pass. */
  look(): void {
    for (const [{ bytesRead, bytesWritten }, arrival] of this.#open) {
      if (arrival.passed !== bytesRead + bytesWritten) arrival.active = this.#now();
      arrival.passed = bytesRead + bytesWritten;
    }
  }

  #makeRoom(address: string): boolean {
    this.look();
    const all = [...this.#open].sort(([, one], [, other]) => one.active - other.active);
    const byAddress = Map.groupBy(all, ([, arrival]) => arrival.address);
    const [most = []] = [...byAddress.values()].sort((one, other) => other.length - one.length);
    const hasMore = most.length > (byAddress.get(address)?.length ?? 0) + 1;
    const [longest] = hasMore ? most : all;
    if (longest === undefined || (!hasMore && this.#now() - longest[1].active < LIMITS.idleWhenFull)) return false;
    longest[0].destroy();
    this.leave(longest[0]);
    return true;
  }
}
