/**
 * Bounds how many documents are decoded or changed at a time. Each takes memory until it is sent, mebibytes for a Brotli decoder, and a client that
 * reads nothing would hold them as long as its connection lives. So the one that has read nothing for the longest is ended when others wait.
 */
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { ReaderError } from '../errors.ts';
import type { Limits } from '../limits.ts';

export class ChangedDeliveries {
  readonly #underWay = new Set<ServerResponse>();
  /** Deliveries under way whose client reads nothing, and since when: longest first. */
  readonly #stalled = new Map<ServerResponse, number>();
  /** Deliveries that wait, in order, and what starts them. */
  readonly #line = new Map<ServerResponse, () => void>();
  readonly #limits: Pick<Limits, 'changedDeliveries' | 'changedStalled' | 'changedWait'>;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: Pick<Limits, 'changedDeliveries' | 'changedStalled' | 'changedWait'>) {
    this.#limits = limits;
  }

  /** Delivers once there is room. @throws ReaderError `reader-busy` where none was made, or was needed; as `deliver` */
  async run(response: ServerResponse, deliver: () => Promise<void>): Promise<void> {
    try {
      if (this.#underWay.size < this.#limits.changedDeliveries) this.#underWay.add(response);
      else if (!response.destroyed) await this.#waitInLine(response); // its client may have left, which no event would report any more
      if (response.destroyed) return;
      await deliver();
      if (!this.#underWay.has(response))
        throw new ReaderError('reader-busy', 'the client read nothing of it, and others waited');
    } finally {
      this.#leave(response);
    }
  }

  /** Waits until the client has read. @param leaving - resolves when it has */
  async stalled<Result>(response: ServerResponse, leaving: Promise<Result>): Promise<Result> {
    this.#stalled.set(response, performance.now());
    this.#makeRoom();
    try {
      return await leaving;
    } finally {
      this.#stalled.delete(response);
    }
  }

  async #waitInLine(response: ServerResponse): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const tooLong = () =>
      reject(
        new ReaderError('reader-busy', `${this.#limits.changedDeliveries} others are being sent, and none finished`),
      );
    const timer = setTimeout(tooLong, this.#limits.changedWait);
    response.once('close', resolve);
    this.#line.set(response, resolve);
    this.#makeRoom();
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      response.off('close', resolve);
    }
  }

  /** Ends, for each that waits, one whose client has read nothing for long enough. */
  #makeRoom(): void {
    clearTimeout(this.#timer);
    while (this.#line.size > 0) {
      const [longest] = this.#stalled;
      if (longest === undefined) return;
      const [response, since] = longest;
      const left = since + this.#limits.changedStalled - performance.now();
      if (left > 0) {
        this.#timer = setTimeout(() => this.#makeRoom(), left).unref();
        return;
      }
      cutOff(response);
      this.#leave(response);
    }
  }

  #leave(response: ServerResponse): void {
    this.#line.delete(response);
    this.#stalled.delete(response);
    if (!this.#underWay.delete(response)) return;
    const [next] = this.#line;
    if (next === undefined) return;
    const [first, begin] = next;
    this.#line.delete(first);
    this.#underWay.add(first);
    begin();
  }
}

/** Ends an answer so that it cannot be taken for whole: an ordinary close is the proper end of one without length and chunks. */
export function cutOff({ socket }: ServerResponse): void {
  if (socket instanceof Socket) socket.resetAndDestroy();
  else (socket as Socket | null)?.destroy();
}
