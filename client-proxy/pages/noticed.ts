/** Observations of a running Reader, for its first page: in memory only, and bounded. */
import { LRUCache } from 'lru-cache';
import { LIMITS } from '../limits.ts';

export interface VerifiedRead {
  readonly site: string;
  /** Path of the document, without query. */
  readonly path: string;
  readonly title: string | undefined;
  /** Source that it came from; `browser`: the browser's copy is still good. */
  readonly from: 'host' | 'cache' | 'browser';
  /** Seconds since 1970. */
  readonly time: number;
}

/** The documents that were read last; without queries, and the reader can clear it. */
export class Activity {
  readonly #entries = new LRUCache<string, VerifiedRead>({ max: LIMITS.activity });

  record(verified: VerifiedRead): void {
    const name = `${verified.site}${verified.path}`;
    this.#entries.set(name, { ...verified, title: verified.title ?? this.#entries.peek(name)?.title });
  }

  /** The latest first. */
  list(): VerifiedRead[] {
    return [...this.#entries.values()];
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Removes the documents of sites that are no longer connected. */
  forgetSites(sites: ReadonlySet<string>): void {
    for (const { site, path } of this.list()) if (sites.has(site)) this.#entries.delete(`${site}${path}`);
  }
}

/** Names with the times at which they were seen last, in seconds since 1970. */
export class Observed {
  readonly #times = new LRUCache<string, number>({ max: LIMITS.observed });

  record(name: string, time: number): void {
    this.#times.set(name.slice(0, LIMITS.observedName), time);
  }

  when(name: string): number | undefined {
    return this.#times.peek(name.slice(0, LIMITS.observedName));
  }

  /** The latest first. */
  names(): string[] {
    return [...this.#times.keys()];
  }

  clear(): void {
    this.#times.clear();
  }
}

/** Tunnels to connected sites pass, encrypted; but their readers see what the host says, not what was signed. */
export class BoundTunnels {
  readonly #counts = new Map<string, { count: number; last: number }>();
  readonly #now: () => number;

  /** @param now - seconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param site - a connected one, so that there are never more entries than connected sites */
  record(site: string): void {
    const { count } = this.#counts.get(site) ?? { count: 0 };
    this.#counts.set(site, { count: count + 1, last: this.#now() });
  }

  /** Returns how many tunnels to a site were opened since the start, and when the last, in seconds since 1970. */
  of(site: string): { readonly count: number; readonly last: number } | undefined {
    return this.#counts.get(site);
  }
}

export interface Observations {
  readonly activity: Activity;
  /** Hosts with protected content that are not connected. */
  readonly seen: Observed;
  /** Browsers, by user agent, that use the Reader as their proxy. */
  readonly browsers: Observed;
  readonly tunnels: BoundTunnels;
}
