/** evaluation/results: a file of data for each experiment, of which fill.ts makes the tables and plots of docs/evaluation.md. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { IS_QUICK } from './quick.ts';

const ROOT = new URL('../', import.meta.url);
const RESULTS = new URL('evaluation/results/', ROOT);
const LOOK_FOR = 5000;
/** Values of a quick run are no results. */
const FOLDER = IS_QUICK ? new URL('.cache/evaluation/', ROOT) : RESULTS;

export type Cell = number | string | null;

/** Rows and columns are found by their names, which say the unit. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: Readonly<Record<string, readonly Cell[]>>;
}

export interface Measurement {
  /** Number of runs, and whatever else was chosen. */
  readonly settings: Readonly<Record<string, number | string | boolean>>;
  readonly tables: Readonly<Record<string, Table>>;
}

/** Origin of a result: its day, its code, and what else the machine did then. */
export interface Made {
  readonly measured: string;
  /** Commit, absent where there is no Git; with a remark where files differ from it. */
  readonly commit: string | undefined;
  readonly machine: string;
  readonly node: string;
  /** Cores that other programs took in the seconds before. */
  readonly otherCores?: number;
}

export type ResultFile = Measurement & Pick<Made, 'measured' | 'commit' | 'otherCores'>;

/** Looks before the measurement, which takes all cores. */
export async function madeFrom(): Promise<Made> {
  const commit = git('rev-parse', '--short=8', 'HEAD');
  return {
    measured: new Date().toISOString().slice(0, 10),
    commit: commit && (isSameCode(commit) ? commit : `${commit}, with changes`),
    machine: `${cpus().length} cores (${cpus()[0]?.model.trim()})`,
    node: process.versions.node,
    otherCores: await otherCores(),
  };
}

async function otherCores(): Promise<number> {
  const busy = () => cpus().reduce((sum, { times: { user, sys, nice } }) => sum + user + sys + nice, 0);
  const before = busy();
  await pause(LOOK_FOR);
  return Math.round(((busy() - before) / LOOK_FOR) * 100) / 100;
}

/** Tells whether a result is there that was made by this code, quick or whole as this run is. */
export function isOfThisCode(name: string): boolean {
  const commit = findResults(name, FOLDER)?.commit;
  return commit !== undefined && isSameCode(commit);
}

/** Documents, tests and results may differ. */
function isSameCode(commit: string): boolean {
  return (
    git('diff', '--quiet', commit, '--', '.', ':!*.md', ':!*.test.ts', ':!evaluation/results', ':!bench/results') !==
    undefined
  );
}

/** @returns what it says, where it succeeds */
function git(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** Writes a measurement in place of the one before. @returns where */
export async function writeResults(name: string, made: Made, measurement: Measurement): Promise<URL> {
  const text = JSON.stringify({ ...made, ...measurement }, undefined, 2).replace(
    /\[\s+([^[\]{}]*?)\s+\]/g,
    (_, cells: string) => `[${cells.replace(/\s*\n\s*/g, ' ')}]`,
  );
  await mkdir(FOLDER, { recursive: true });
  const file = new URL(`${name}.json`, FOLDER);
  await writeFile(file, `${text}\n`);
  return file;
}

/** A result that is part of the project; `undefined` where it is not measured yet. */
export function findResults(name: string, folder = RESULTS): ResultFile | undefined {
  const file = new URL(`${name}.json`, folder);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
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

/** @returns `undefined` for what is not measured yet */
export function cellOf(file: string, name: string, row: string, column: string): Cell | undefined {
  const { columns, rows } = findResults(file)?.tables[name] ?? {};
  return rows?.[row]?.[columns?.indexOf(column) ?? -1];
}
