/** Rates that were measured, by cluster and by load. */
import { median } from '../../bench/measure.ts';
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

/** Rates of each round, keyed by {@link nameOf}. */
export type Rates = Map<string, readonly Flooded[]>;

export function addRate(rates: Rates, what: Case, rate: Flooded): void {
  rates.set(nameOf(what), [...(rates.get(nameOf(what)) ?? []), rate]);
}

/** The median of all rounds. */
export function rateOf(rates: Rates, what: Case): number {
  return median((rates.get(nameOf(what)) ?? []).map(({ rate }) => rate));
}

/** Divides redistributed by alone, in each round. */
export function gains(rates: Rates, what: Omit<Case, 'way'>): number[] {
  const [alone = [], redistributed = []] = WAYS.map((way) => rates.get(nameOf({ ...what, way })));
  return redistributed.map(({ rate }, round) => rate / (alone[round]?.rate ?? Number.NaN));
}

export function nameOf({ nodes, way, kind, balancer }: Case): string {
  return `${kind}, ${balancer} balancer, ${nodes} nodes, ${way}`;
}
