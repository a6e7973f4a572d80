/** All that the figure is made of. Times are nanoseconds of processors. */
import type { Clock } from './cycles.ts';
import type { Primitives } from './primitives.ts';
import type { Cost } from './programs.ts';
import type { Serving } from './tls.ts';

export interface Measured {
  readonly clock: Clock;
  readonly primitives: Primitives;
  readonly costs: readonly Cost[];
  readonly serving: readonly Serving[];
}
