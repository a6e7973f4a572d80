/** Power laws: how a cost grows with a number. */

/** A number and its cost. */
export type Point = readonly [number: number, cost: number];

/** The exponent in `cost = factor × number ^ exponent`, by least squares of the logarithms. Two points at least. */
export function exponentOf(points: readonly Point[]): number {
  const logarithms = points.map(([number, cost]) => [Math.log(number), Math.log(cost)] as const);
  const mean = (of: 0 | 1) => logarithms.reduce((sum, each) => sum + each[of], 0) / logarithms.length;
  const [x, y] = [mean(0), mean(1)];
  const along = logarithms.reduce((sum, each) => sum + (each[0] - x) * (each[1] - y), 0);
  return along / logarithms.reduce((sum, each) => sum + (each[0] - x) ** 2, 0);
}

/** From the next to last point to the last one: a fixed cost, such as the start of a program, flattens a fit of all, and hardly this. */
export function lastExponent(points: readonly Point[]): number {
  return exponentOf(points.slice(-2));
}
