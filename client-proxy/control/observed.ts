/** What the Reader noticed on the side, for its first page: times by name, in memory only, bounded. */
import { LIMITS } from '../limits.ts';

export class Observed {
  /** By name, the latest last; seconds since 1970. */
  readonly #times = new Map<string, number>();

  note(name: string, time: number): void {
    const short = name.slice(0, LIMITS.observedName);
    this.#times.delete(short);
    this.#times.set(short, time);
    const [oldest] = this.#times.keys();
    if (this.#times.size > LIMITS.observed && oldest !== undefined) this.#times.delete(oldest);
  }

  /** When it was noticed last. */
  when(name: string): number | undefined {
    return this.#times.get(name.slice(0, LIMITS.observedName));
  }

  /** The latest first. */
  list(): { readonly name: string; readonly time: number }[] {
    return Array.from(this.#times, ([name, time]) => ({ name, time })).reverse();
  }

  forget(): void {
    this.#times.clear();
  }
}
