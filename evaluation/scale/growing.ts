/** Tables of what grows with a number, and how. */
import { type Table, table } from '../results.ts';
import type { Published } from './documents.ts';
import type { Served } from './subscribers.ts';

/** A row: what it is called, and its value at each number. */
interface Growing<Of> {
  readonly what: string;
  readonly of: (each: Of) => number;
  /** Size of the unit that the row says. */
  readonly scale?: number;
}

export const PUBLISHING: readonly Growing<Published>[] = [
  { what: 'first run, s of a core', of: ({ firstProcessor }) => firstProcessor },
  { what: 'one changed, s of a core', of: ({ changedProcessor }) => changedProcessor },
  { what: 'one changed, KB written', of: ({ changedBytes }) => changedBytes, scale: 1e3 },
  { what: 'metadata, MB', of: ({ metadata }) => metadata, scale: 1e6 },
];

export const READING: readonly Growing<Published>[] = [
  { what: 'cold start, KB', of: ({ coldBytes }) => coldBytes, scale: 1e3 },
  { what: 'one look-up, KB', of: ({ lookUpBytes }) => lookUpBytes, scale: 1e3 },
];

export const SERVING: readonly Growing<Served>[] = [
  { what: 'import of the list, s', of: ({ list }) => list },
  { what: 'database with devices, MB', of: ({ withDevices }) => withDevices, scale: 1e6 },
  { what: 'a new day, ms', of: ({ newDay }) => newDay },
  { what: 'a key request, ms of a core', of: ({ processor }) => processor },
];

/** A column for each number, and the exponent of the power law between the last two, which no fixed cost flattens. */
export function growing<Of>(numbers: readonly number[], each: readonly Of[], rows: readonly Growing<Of>[]): Table {
  const lines = rows.map(({ what, of, scale = 1 }): [string, ...number[]] => {
    const costs = each.map((one) => of(one) / scale);
    const ratioOf = (values: readonly number[]) => Math.log((values.at(-1) ?? 0) / (values.at(-2) ?? 0));
    return [what, ...costs, Math.round((ratioOf(costs) / ratioOf(numbers)) * 100) / 100];
  });
  return table([...numbers.map(String), 'last exponent'], lines);
}
