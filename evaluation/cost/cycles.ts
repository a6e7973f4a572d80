/** Number of cycles of a core in a nanosecond, as long as nothing else slows it down. */

const RUNS = 400;
const STEPS = 800_000;
/** A step needs the result of the one before it: three cycles of multiplication and one of addition, on all processors of today's servers. */
const CYCLES_A_STEP = 4;

/** Cycles in a nanosecond. */
export function gigahertz(): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now();
    chain();
    least = Math.min(least, performance.now() - start);
  }
  return (STEPS * CYCLES_A_STEP) / (least * 1e6);
}

function chain(): number {
  let x = 1;
  for (let step = 0; step < STEPS; step++) x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
  return x;
}
