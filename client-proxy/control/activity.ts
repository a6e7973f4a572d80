/** What was verified lately, for the first page. In memory only, bounded, without queries; the reader can have it forgotten. */
import type { KeyId } from '../../core/keys/key-id.ts';
import { LIMITS } from '../limits.ts';

export interface Verified {
  readonly site: string;
  /** Of the document, without query. */
  readonly path: string;
  /** `undefined`: public. */
  readonly set: KeyId | undefined;
  /** Where it came from; `browser`: the browser has it already, and was told that it is still good. */
  readonly from: 'host' | 'cache' | 'browser';
  /** Seconds since 1970. */
  readonly time: number;
}

export class Activity {
  /** By site and path, the latest last. */
  readonly #entries = new Map<string, Verified>();

  record(verified: Verified): void {
    const name = `${verified.site}${verified.path}`;
    this.#entries.delete(name);
    this.#entries.set(name, verified);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= LIMITS.activity) return;
      this.#entries.delete(oldest);
    }
  }

  /** The latest first. */
  list(): Verified[] {
    return [...this.#entries.values()].reverse();
  }

  forget(): void {
    this.#entries.clear();
  }

  /** What belongs to sites that are no longer connected. */
  forgetSites(sites: ReadonlySet<string>): void {
    for (const [name, { site }] of this.#entries) if (sites.has(site)) this.#entries.delete(name);
  }
}
