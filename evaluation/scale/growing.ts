/** Tables of what grows with a number, and how. */
import { table } from '../document.ts';
import type { Published } from './documents.ts';
import { exponentOf, lastExponent, type Point } from './power.ts';
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
  { what: 'of a core, s', of: ({ firstProcessor }) => firstProcessor },
  { what: 'its memory, MiB', of: ({ firstMemory }) => firstMemory },
  { what: 'one document changed, s', of: ({ changed }) => changed },
  { what: 'of a core, s', of: ({ changedProcessor }) => changedProcessor },
  { what: 'what that writes, KB', of: ({ changedBytes }) => changedBytes, scale: 1e3 },
  { what: 'one in a hundred more, s', of: ({ added }) => added },
  { what: 'of a core, s', of: ({ addedProcessor }) => addedProcessor },
  { what: 'its memory, MiB', of: ({ addedMemory }) => addedMemory },
  { what: 'what that writes, KB', of: ({ addedBytes }) => addedBytes, scale: 1e3 },
  { what: 'all output, MB', of: ({ output }) => output, scale: 1e6 },
  { what: 'metadata in it, MB', of: ({ metadata }) => metadata, scale: 1e6 },
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
  { what: 'its memory, MiB', of: ({ listMemory }) => listMemory },
  { what: 'database, MB', of: ({ database }) => database, scale: 1e6 },
  { what: 'with a device for each, MB', of: ({ withDevices }) => withDevices, scale: 1e6 },
  { what: 'import of a bundle, ms', of: ({ firstBundle }) => firstBundle },
  { what: 'a new day, ms', of: ({ newDay }) => newDay },
  { what: 'a new period, ms', of: ({ newPeriod }) => newPeriod },
  { what: 'start of the key server, s', of: ({ start }) => start },
  { what: 'its memory, MiB', of: ({ memory }) => memory },
  { what: 'key requests a second', of: ({ rate }) => rate },
  { what: 'a key request, ms of a core', of: ({ processor }) => processor },
];

/** @param of - what the numbers count */
export function growing<Of>(
  of: string,
  numbers: readonly number[],
  each: readonly Of[],
  rows: readonly Growing<Of>[],
): string {
  const lines = rows.map((row) => {
    const points = each.map((one, index): Point => [numbers[index] ?? Number.NaN, row.of(one) / (row.scale ?? 1)]);
    const exponents = [exponentOf(points), lastExponent(points)];
    return [
      row.what,
      ...points.map(([, cost]) => number(cost)),
      ...exponents.map((exponent) => exponent.toFixed(2).replace('-0.00', '0.00')),
    ];
  });
  return table([of, ...numbers.map((count) => count.toLocaleString('en')), 'exponent, all', 'last'], lines);
}

export function number(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3 });
}
