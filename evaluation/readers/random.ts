/** Numbers that are the same in every run: a seeded generator, and what is drawn by it. */

/** Draws from 0 to 1, exclusive (mulberry32). */
export type Random = () => number;

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns an order that `random` chooses. */
export function shuffled<Thing>(things: readonly Thing[], random: Random): Thing[] {
  const result = [...things];
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [result[last], result[other]] = [result[other] as Thing, result[last] as Thing];
  }
  return result;
}

/** Draws places from 0 on: place `n` as often as `1 / (n + 1) ** exponent` says. */
export function zipf(count: number, exponent: number, random: Random): () => number {
  const upTo: number[] = [];
  let sum = 0;
  for (let place = 0; place < count; place++) {
    sum += (place + 1) ** -exponent;
    upTo.push(sum);
  }
  return () => {
    const drawn = random() * sum;
    return upTo.findIndex((end) => drawn < end);
  };
}
