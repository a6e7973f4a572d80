/** Proposed connections. What the reader accepts is exactly what was shown: it is kept here, not in the form. */
import { LRUCache } from 'lru-cache';
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { Proposal } from '../connect/connection.ts';
import { LIMITS } from '../limits.ts';

/** The document that the reader wanted to open before its site was connected. */
export interface RequestedDocument {
  readonly site: string;
  readonly path: string;
}

export interface Offer extends Proposal {
  readonly wanted?: RequestedDocument | undefined;
}

interface PendingOffer {
  readonly offer: Offer;
  /** The acceptance under way: pressing the button twice makes one connection. */
  accepting?: Promise<unknown> | undefined;
}

export class Proposals {
  /** Read with `peek`, so that the oldest is evicted first. */
  readonly #pending = new LRUCache<string, PendingOffer>({ max: LIMITS.proposals, ttl: LIMITS.proposalTime });

  /** @returns its name, for a path */
  add(offer: Offer): string {
    const name = toBase64url(randomBytes(16));
    this.#pending.set(name, { offer });
    return name;
  }

  get(name: string): Offer | undefined {
    return this.#pending.peek(name)?.offer;
  }

  /** Accepts a proposal; again where `work` failed. @returns `false` if there is no such proposal */
  async accept(name: string, work: (offer: Offer) => Promise<unknown>): Promise<boolean> {
    const pending = this.#pending.peek(name);
    if (pending === undefined) return false;
    pending.accepting ??= work(pending.offer).finally(() => {
      pending.accepting = undefined;
    });
    await pending.accepting;
    this.#pending.delete(name);
    return true;
  }
}
