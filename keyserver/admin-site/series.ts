/** Counts by hour, as series for plots and tables. */
import type { HourlyCount } from '../storage/counts.ts';
import { type PlotLine, plot } from './plot.ts';

const DAY = 86_400;

export interface Series {
  /** Beginnings of days or hours, in seconds since 1970. */
  readonly times: readonly number[];
  readonly given: readonly number[];
  readonly refused: readonly number[];
  readonly signIns: readonly number[];
  readonly failedSignIns: readonly number[];
  readonly bindings: readonly number[];
}

/** @param step - seconds: an hour or a day @param from - beginning of the first one */
export function seriesOf(counts: readonly HourlyCount[], from: number, to: number, step: number): Series {
  const times = Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
  const sums = (wanted: (what: string) => boolean) => {
    const values = times.map(() => 0);
    for (const { time, what, n } of counts) {
      const index = Math.floor((time - from) / step);
      if (wanted(what) && values[index] !== undefined) values[index] += n;
    }
    return values;
  };
  return {
    times,
    given: sums((what) => what === 'key-given'),
    refused: sums((what) => what.startsWith(REFUSED)),
    signIns: sums((what) => what === 'sign-in'),
    failedSignIns: sums((what) => what === 'sign-in-refused'),
    bindings: sums((what) => what === 'binding'),
  };
}

const REFUSED = 'key-refused ';

/** Counts keys that were refused, or events of Stripe that were not used, by reason, most first. */
export function refusalsOf(
  counts: readonly HourlyCount[],
  kind: 'key-refused ' | 'stripe-unused ' = REFUSED,
): { readonly reason: string; readonly n: number }[] {
  const sums = new Map<string, number>();
  for (const { what, n } of counts)
    if (what.startsWith(kind)) sums.set(what.slice(kind.length), (sums.get(what.slice(kind.length)) ?? 0) + n);
  return [...sums].map(([reason, n]) => ({ reason, n })).sort((a, b) => b.n - a.n);
}

/** The plot of keys given and refused, and its legend. */
export function keyPlot({ times, given, refused }: Series): {
  readonly svg: string;
  readonly lines: readonly PlotLine[];
} {
  const lines: PlotLine[] = [
    { kind: 'given', label: 'given', values: given },
    { kind: 'refused', label: 'refused', values: refused },
  ];
  return { svg: plot(times, lines, 'Keys given and refused over time'), lines };
}

/** The first second of a day in UTC. */
export function dayStart(time: number): number {
  return time - (time % DAY);
}
