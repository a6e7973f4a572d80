/** Connections that were proposed and not decided yet. What the reader accepts is exactly what was shown: it waits here, not in the form. */
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { Proposal } from '../bind/connection.ts';
import { LIMITS } from '../limits.ts';

interface Waiting {
  readonly proposal: Proposal;
  /** By `performance.now`. */
  readonly until: number;
}

export class Proposals {
  readonly #waiting = new Map<string, Waiting>(); // the oldest first

  /** @returns its name, for a path */
  add(proposal: Proposal): string {
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size >= LIMITS.proposals && oldest !== undefined) this.#waiting.delete(oldest);
    const name = toBase64url(randomBytes(16));
    this.#waiting.set(name, { proposal, until: performance.now() + LIMITS.proposalTime });
    return name;
  }

  get(name: string): Proposal | undefined {
    const waiting = this.#waiting.get(name);
    if (waiting && waiting.until > performance.now()) return waiting.proposal;
    this.#waiting.delete(name);
    return undefined;
  }

  delete(name: string): void {
    this.#waiting.delete(name);
  }
}
