/** bench/results/bench.csv, of which evaluation/fill.ts makes the tables of docs/figures.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import type { Row } from './measure.ts';

const FILE = new URL('results/bench.csv', import.meta.url);
const COLUMNS = ['date', 'row', 'value', 'peer', 'peer value', 'ratio', 'command', 'bound'] as const;

/** A line: `value` with its unit. */
export type SavedRow = Readonly<Record<(typeof COLUMNS)[number], string>>;

export function savedRows(): SavedRow[] {
  return parse(readFileSync(FILE, 'utf8'), { columns: true });
}

/** Takes the rows of a command in place of those of the same names. */
export function saveRows(name: string, rows: readonly Row[]): void {
  const [date, command] = [new Date().toISOString().slice(0, 10), `npm run bench -- ${name}`];
  const saved = rows.map(({ row, value, unit, peer, peerValue, ratio, bound }) => {
    return { date, row, value: `${value} ${unit}`, peer, 'peer value': peerValue, ratio, command, bound };
  });
  const names = new Set(rows.map(({ row }) => row));
  const all = [...savedRows().filter(({ row }) => !names.has(row)), ...saved];
  const lines = all.map((each) => COLUMNS.map((column) => quoted(String(each[column]))).join(','));
  writeFileSync(FILE, [COLUMNS.join(','), ...lines, ''].join('\n'));
}

function quoted(cell: string): string {
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
