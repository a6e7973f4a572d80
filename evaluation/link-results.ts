import { median } from '../bench/measure.ts';
import type { Crossing } from './crossing.ts';
import type { LinkKind } from './link/narrow-link.ts';

/** All that was measured, by link and by name. */
export class Results {
  readonly #found = new Map<string, Crossing[]>();
  readonly #say: (text: string) => void;

  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  add(kind: LinkKind, name: string, crossing: Crossing): void {
    const place = `${kind.name}: ${name}`;
    this.#found.set(place, [...(this.#found.get(place) ?? []), crossing]);
    this.#say(`${place}: ${(crossing.milliseconds / 1000).toFixed(3)} s, ${crossing.bytes} bytes`);
  }

  /** The median. */
  seconds(kind: LinkKind, name: string): number {
    return this.#median(kind, name, 'milliseconds') / 1000;
  }

  /** The median. */
  bytes(kind: LinkKind, name: string): number {
    return this.#median(kind, name, 'bytes');
  }

  #median(kind: LinkKind, name: string, of: keyof Crossing): number {
    return median((this.#found.get(`${kind.name}: ${name}`) ?? []).map((crossing) => crossing[of]));
  }
}
