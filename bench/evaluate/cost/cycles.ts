/** How many cycles of a core there are in a nanosecond, as long as nothing else slows it down. */
import { readFileSync } from 'node:fs';

const ROUNDS = 100_000;
const RUNS = 400;
/** Each needs the result of the one before it: three cycles of multiplication and one of addition, on all processors of today's servers. */
const STEPS_A_ROUND = 8;
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
    chain(ROUNDS);
    least = Math.min(least, performance.now() - start);
  }
  const nanoseconds = least * 1e6;
  return {
    measured: (ROUNDS * STEPS_A_ROUND * CYCLES_A_STEP) / nanoseconds,
    told: Number(/^cpu MHz\s*:\s*([\d.]+)/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]) / 1000,
  };
}

function chain(rounds: number): number {
  let x = 1;
  for (let round = 0; round < rounds; round++) {
    x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
    x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
    x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
    x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
    x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
    x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
    x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
    x = (Math.imul(x, 0x41c64e6d) + 12345) | 0;
  }
  return x;
}
