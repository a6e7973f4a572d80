/** Proposed connections. What the reader accepts is exactly what was shown: it is kept here, not in the form. */
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { Proposal } from '../connect/connection.ts';
import { LIMITS } from '../limits.ts';

/** The document that the reader wanted to open before its site was connected. */
export interface RequestedDocument {
  readonly site: string;
  /** As it stands in a URL; perhaps with a query. */
  readonly path: string;
}

export interface Offer extends Proposal {
  readonly wanted?: RequestedDocument | undefined;
}

interface PendingOffer {
  readonly offer: Offer;
  /** By `performance.now`. */
  readonly until: number;
  /** Pending: pressing the button twice makes one connection, and gives one answer. */
  accepting?: Promise<unknown> | undefined;
}

export class Proposals {
  readonly #pending = new Map<string, PendingOffer>(); // the oldest first

  /** @returns its name, for a path */
  add(offer: Offer): string {
    const [oldest] = this.#pending.keys();
    if (this.#pending.size >= LIMITS.proposals && oldest !== undefined) this.#pending.delete(oldest);
    const name = toBase64url(randomBytes(16));
    this.#pending.set(name, { offer, until: performance.now() + LIMITS.proposalTime });
    return name;
  }

  get(name: string): Offer | undefined {
    return this.#find(name)?.offer;
  }

  /**
   * Accepts a proposal by `work`, and removes it; where `work` fails, it can be accepted again.
   *
   * @returns `false` if there is no such proposal
   */
  async accept(name: string, work: (offer: Offer) => Promise<unknown>): Promise<boolean> {
    const waiting = this.#find(name);
    if (waiting === undefined) return false;
    waiting.accepting ??= work(waiting.offer).finally(() => {
      waiting.accepting = undefined;
    });
    await waiting.accepting;
    this.#pending.delete(name);
    return true;
  }

  #find(name: string): PendingOffer | undefined {
    const waiting = this.#pending.get(name);
    if (waiting && waiting.until > performance.now()) return waiting;
    this.#pending.delete(name);
    return undefined;
  }
}
