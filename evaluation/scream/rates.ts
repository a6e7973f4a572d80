/** What was measured, by cluster and by load. */
import type { Flooded } from './flood.ts';
import type { Kind } from './readers.ts';

export const WAYS = ['alone', 'redistributed'] as const;
export type ClusterWay = (typeof WAYS)[number];
export const BALANCERS = ['broken', 'random'] as const;
export type Balancer = (typeof BALANCERS)[number];

export interface Case {
  readonly nodes: number;
  readonly way: ClusterWay;
  readonly kind: Kind;
  readonly balancer: Balancer;
}

export interface Rate extends Flooded {
  /** Of processors, all nodes together. */
  readonly cores: number;
}

export class Rates {
  readonly #found = new Map<string, Rate>();
  readonly #report: (text: string) => void;

  constructor(report: (text: string) => void) {
    this.#report = report;
  }

  add(what: Case, rate: Rate): void {
    this.#found.set(nameOf(what), rate);
    const { refused, cores } = rate;
    this.#report(`${nameOf(what)}: ${rate.rate.toFixed(2)} a second, ${refused} refused, ${cores.toFixed(2)} cores`);
  }

  get(what: Case): Rate {
    const found = this.#found.get(nameOf(what));
    if (!found) throw new Error(`${nameOf(what)} was not measured`);
    return found;
  }
}

function nameOf({ nodes, way, kind, balancer }: Case): string {
  return `${kind}, ${balancer} balancer, ${nodes} nodes, ${way}`;
}
