/** evaluation/results: a file of data for each experiment, of which fill.ts makes the tables and plots of docs/evaluation.md. */
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { IS_QUICK } from './quick.ts';

const RESULTS = new URL('results/', import.meta.url);
/** Values of a quick run are no results. */
const QUICK_RESULTS = new URL('../.cache/evaluation/', import.meta.url);

type Cell = number | string | null;

/** Rows and columns are found by their names, which say the unit. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: Readonly<Record<string, readonly Cell[]>>;
}

export interface Measurement {
  /** Number of runs, and whatever else was chosen. */
  readonly settings: Readonly<Record<string, number | string>>;
  readonly tables: Readonly<Record<string, Table>>;
}

export interface ResultFile extends Measurement {
  readonly measured: string;
}

/** Writes a measurement in place of the one before. @returns where */
export async function writeResults(name: string, measurement: Measurement): Promise<URL> {
  const folder = IS_QUICK ? QUICK_RESULTS : RESULTS;
  const content = {
    measured: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim()})`,
    node: process.versions.node,
    load: loadavg()[0],
    ...measurement,
  };
  const text = JSON.stringify(content, undefined, 2).replace(/\[\s+([^[\]{}]*?)\s+\]/g, (_, cells: string) => {
    return `[${cells.replace(/\s*\n\s*/g, ' ')}]`;
  });
  await mkdir(folder, { recursive: true });
  const file = new URL(`${name}.json`, folder);
  await writeFile(file, `${text}\n`);
  return file;
}

/** A result that is part of the project. */
export function readResults(name: string): ResultFile {
  return JSON.parse(readFileSync(new URL(`${name}.json`, RESULTS), 'utf8'));
}

/** @param rows - the name of each, and its cells; numbers are rounded to three digits, from 1,000 on to whole ones */
export function table(
  columns: readonly string[],
  rows: readonly (readonly [string, ...(Cell | undefined)[]])[],
): Table {
  return { columns, rows: Object.fromEntries(rows.map(([name, ...cells]) => [name, cells.map(rounded)])) };
}

function rounded(cell: Cell | undefined): Cell {
  if (typeof cell !== 'number') return cell ?? null;
  return Math.abs(cell) >= 1000 ? Math.round(cell) : Number(cell.toPrecision(3));
}

/** @throws Error where the result has no such table, row or column */
export function cellOf(file: string, name: string, row: string, column: string): Cell {
  const { tables } = readResults(file);
  const cell = tables[name]?.rows[row]?.[tables[name].columns.indexOf(column)];
  if (cell === undefined) throw new Error(`${file}.json has no value ${name} | ${row} | ${column}`);
  return cell;
}
