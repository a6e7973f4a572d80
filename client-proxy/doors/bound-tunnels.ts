/**
 * Tunnels to connected sites. They pass, because what goes through them is nobody's business here; but a reader who comes to a site that way sees
 * what its host says, and not what its publisher signed. Whoever shows pages can tell them so.
 */
export class BoundTunnels {
  readonly #counts = new Map<string, { count: number; last: number }>();
  readonly #now: () => number;

  /** @param now - seconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** @param site - a connected one, so that there are never more entries than connected sites */
  note(site: string): void {
    const { count } = this.#counts.get(site) ?? { count: 0 };
    this.#counts.set(site, { count: count + 1, last: this.#now() });
  }

  /** How often a site was asked for by a tunnel since the start, and when last, in seconds since 1970. */
  of(site: string): { readonly count: number; readonly last: number } | undefined {
    return this.#counts.get(site);
  }
}
