import { median } from '../bench/measure.ts';
import type { Crossing } from './crossing.ts';
import type { LinkKind } from './link/narrow-link.ts';
import { type Table, table } from './results.ts';

export class Crossings {
  readonly #byName = new Map<string, Crossing[]>();
  readonly #pings: ReadonlyMap<LinkKind, number>;
  readonly #report: (text: string) => void;

  /** @param pings - milliseconds on each link, in the order of the tables */
  constructor(pings: ReadonlyMap<LinkKind, number>, report: (text: string) => void) {
    this.#pings = pings;
    this.#report = report;
  }

  add(kind: LinkKind, name: string, crossing: Crossing): void {
    const key = `${kind.name}: ${name}`;
    this.#byName.set(key, [...(this.#byName.get(key) ?? []), crossing]);
    this.#report(`${key}: ${(crossing.milliseconds / 1000).toFixed(3)} s, ${crossing.bytes} bytes`);
  }

  median(kind: LinkKind, name: string, of: 'seconds' | 'bytes'): number {
    const found = this.#byName.get(`${kind.name}: ${name}`) ?? [];
    return median(found.map(({ milliseconds, bytes }) => (of === 'bytes' ? bytes : milliseconds / 1000)));
  }

  /** A row for each link. @param names - what was measured, by column @param scale - of a unit in `of` */
  table(names: Readonly<Record<string, string>>, of: 'seconds' | 'bytes', scale = 1): Table {
    const rows = Array.from(this.#pings, ([kind, ping]): [string, ...number[]] => [
      kind.name,
      Math.round(ping),
      ...Object.values(names).map((name) => this.median(kind, name, of) / scale),
    ]);
    return table(['ping', ...Object.keys(names)], rows);
  }
}
