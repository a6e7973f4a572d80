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

/** Keyed by {@link nameOf}. */
export type Rates = Map<string, Rate>;

export function rateOf(rates: Rates, what: Case): Rate {
  const found = rates.get(nameOf(what));
  if (!found) throw new Error(`${nameOf(what)} was not measured`);
  return found;
}

export function nameOf({ nodes, way, kind, balancer }: Case): string {
  return `${kind}, ${balancer} balancer, ${nodes} nodes, ${way}`;
}
