/** How many cycles of a core there are in a nanosecond, as long as nothing else slows it down. */
import { readFileSync } from 'node:fs';

const RUNS = 400;
const STEPS = 800_000;
/** Each needs the result of the one before it: three cycles of multiplication and one of addition, on all processors of today's servers. */
const CYCLES_A_STEP = 4;

export interface Clock {
  /** Gigahertz: cycles in a nanosecond. */
  readonly measured: number;
  /** The same as the system says it, without what the processor adds where it may. */
  readonly told: number;
}

export function clock(): Clock {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run++) {
    const start = performance.now();
    chain();
    least = Math.min(least, performance.now() - start);
  }
  const nanoseconds = least * 1e6;
  return {
    measured: (STEPS * CYCLES_A_STEP) / nanoseconds,
    told: Number(/^cpu MHz\s*:\s*([\d.]+)/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]) / 1000,
  };
}

function chain(): number {
  let x = 1;
  for (let step = 0; step < STEPS; step++) x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
  return x;
}
