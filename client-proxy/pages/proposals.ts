/** Connections that were proposed and not decided yet. What the reader accepts is exactly what was shown: it waits here, not in the form. */
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { Proposal } from '../bind/connection.ts';
import { LIMITS } from '../limits.ts';

/** A document that somebody was on the way to before its site was connected. */
export interface WantedDocument {
  readonly site: string;
  /** As it stands in a URL; perhaps with a query. */
  readonly path: string;
}

export interface Offer extends Proposal {
  readonly wanted?: WantedDocument | undefined;
}

interface Waiting {
  readonly offer: Offer;
  /** By `performance.now`. */
  readonly until: number;
  /** Under way: who presses the button twice gets one connection, and one answer. */
  accepting?: Promise<unknown> | undefined;
}

export class Proposals {
  readonly #waiting = new Map<string, Waiting>(); // the oldest first

  /** @returns its name, for a path */
  add(offer: Offer): string {
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= LIMITS.proposals && oldest !== undefined) this.#waiting.delete(oldest);
    const name = toBase64url(randomBytes(16));
    this.#waiting.set(name, { offer, until: performance.now() + LIMITS.proposalTime });
    return name;
  }

  get(name: string): Offer | undefined {
    return this.#find(name)?.offer;
  }

  /**
   * Does with a proposal what accepting it takes. Where that goes well, the proposal is gone; otherwise it can be accepted again.
   *
   * @returns `false` if there is no such proposal, or not any more
   */
  async accept(name: string, work: (offer: Offer) => Promise<unknown>): Promise<boolean> {
    const waiting = this.#find(name);
    if (waiting === undefined) return false;
    waiting.accepting ??= work(waiting.offer).finally(() => {
      waiting.accepting = undefined;
    });
    await waiting.accepting;
    this.#waiting.delete(name);
    return true;
  }

  #find(name: string): Waiting | undefined {
    const waiting = this.#waiting.get(name);
    if (waiting && waiting.until > performance.now()) return waiting;
    this.#waiting.delete(name);
    return undefined;
  }
}
