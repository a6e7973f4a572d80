/** Tables of what grows with a number, and how. */
import { type Table, table } from '../results.ts';
import type { Published } from './documents.ts';
import type { Served } from './subscribers.ts';

/** A row: what it is called, and its value at each number. */
interface Growing<Of> {
  readonly what: string;
  readonly of: (each: Of) => number;
  /** In the unit that the row says. */
  readonly scale?: number;
}

export const PUBLISHING: readonly Growing<Published>[] = [
  { what: 'first run, s', of: ({ first }) => first },
  { what: 'first run, s of a core', of: ({ firstProcessor }) => firstProcessor },
  { what: 'first run, MiB of memory', of: ({ firstMemory }) => firstMemory },
  { what: 'one changed, s', of: ({ changed }) => changed },
  { what: 'one changed, s of a core', of: ({ changedProcessor }) => changedProcessor },
  { what: 'one changed, KB written', of: ({ changedBytes }) => changedBytes, scale: 1e3 },
  { what: 'one in a hundred added, s', of: ({ added }) => added },
  { what: 'one in a hundred added, s of a core', of: ({ addedProcessor }) => addedProcessor },
  { what: 'one in a hundred added, MiB of memory', of: ({ addedMemory }) => addedMemory },
  { what: 'one in a hundred added, KB written', of: ({ addedBytes }) => addedBytes, scale: 1e3 },
  { what: 'output, MB', of: ({ output }) => output, scale: 1e6 },
  { what: 'metadata, MB', of: ({ metadata }) => metadata, scale: 1e6 },
];

export const READING: readonly Growing<Published>[] = [
  { what: 'snapshot, KB', of: ({ snapshot }) => snapshot, scale: 1e3 },
  { what: 'cold start, KB', of: ({ coldBytes }) => coldBytes, scale: 1e3 },
  { what: 'cold start, ms', of: ({ cold }) => cold },
  { what: 'one look-up, KB', of: ({ lookUpBytes }) => lookUpBytes, scale: 1e3 },
  { what: 'one look-up, ms', of: ({ lookUp }) => lookUp },
  { what: 'memory, MiB', of: ({ readerMemory }) => readerMemory },
];

export const SERVING: readonly Growing<Served>[] = [
  { what: 'import of the list, s', of: ({ list }) => list },
  { what: 'import of the list, MiB of memory', of: ({ listMemory }) => listMemory },
  { what: 'database, MB', of: ({ database }) => database, scale: 1e6 },
  { what: 'database with devices, MB', of: ({ withDevices }) => withDevices, scale: 1e6 },
  { what: 'import of a bundle, ms', of: ({ firstBundle }) => firstBundle },
  { what: 'a new day, ms', of: ({ newDay }) => newDay },
  { what: 'a new period, ms', of: ({ newPeriod }) => newPeriod },
  { what: 'start, s', of: ({ start }) => start },
  { what: 'memory, MiB', of: ({ memory }) => memory },
  { what: 'key requests a second', of: ({ rate }) => rate },
  { what: 'a key request, ms of a core', of: ({ processor }) => processor },
];

/** A column for each number, and two exponents of the power law: of all numbers, and of the last two, which no fixed cost flattens. */
export function growing<Of>(numbers: readonly number[], each: readonly Of[], rows: readonly Growing<Of>[]): Table {
  const lines = rows.map(({ what, of, scale = 1 }): [string, ...number[]] => {
    const points = each.map((one, index): Point => [numbers[index] ?? Number.NaN, of(one) / scale]);
    return [what, ...points.map(([, cost]) => cost), exponentOf(points), exponentOf(points.slice(-2))];
  });
  return table([...numbers.map(String), 'exponent', 'last exponent'], lines);
}

/** A number and its cost. */
type Point = readonly [number: number, cost: number];

/** In `cost = factor × number ^ exponent`, by least squares of the logarithms, to two decimals. Two points at least. */
function exponentOf(points: readonly Point[]): number {
  const logarithms = points.map(([number, cost]) => [Math.log(number), Math.log(cost)] as const);
  const mean = (of: 0 | 1) => logarithms.reduce((sum, each) => sum + each[of], 0) / logarithms.length;
  const [x, y] = [mean(0), mean(1)];
  const along = logarithms.reduce((sum, each) => sum + (each[0] - x) * (each[1] - y), 0);
  const exponent = along / logarithms.reduce((sum, each) => sum + (each[0] - x) ** 2, 0);
  return Math.round(exponent * 100) / 100;
}
