/** Brings docs/evaluation.md, docs/figures.md and the plots in line with the results: `node evaluation/fill.ts [--check]`. The words are the pages' own. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { benchTable } from '../bench/doc-tables.ts';
import { bars } from './plot.ts';
import { type Cell, cellOf, findResults } from './results.ts';
import { type DocPlot, type DocTable, GOALS, type Goal, PLOTS, TABLES } from './tables.ts';

const PAGES = ['evaluation', 'figures'].map((name) => new URL(`../docs/${name}.md`, import.meta.url));
const MARKED = /(<!--\sfigure:\s([^>]+?)\s-->).*?(<!--\s\/figure\s-->)/gs;
const MISSING = 'not measured yet';
/** Origin of values that nobody can measure again as they were: they show no goal to be reached. */
const UNKNOWN = 'commit unknown';
const COLUMNS = 100;
/** Time of processors that programs of the system take on an idle machine. */
const MOST_OTHER_CORES = 0.1;

/** Writes pages and plots. */
export function fillDocs(): void {
  for (const [file, content] of outdated()) writeFileSync(file, content);
}

/** The files that differ from the results, with what they should be. */
function outdated(): (readonly [file: URL, content: string])[] {
  const pages = PAGES.map((page) => [page, wrapped(filled(readFileSync(page, 'utf8')))] as const);
  const measured = Object.entries(PLOTS).filter(([, { file, table }]) => findResults(file)?.tables[table]);
  const plots = measured.map(([name, plot]) => [new URL(`results/${name}.svg`, import.meta.url), drawn(plot)] as const);
  return [...pages, ...plots].filter(([file, content]) => !existsSync(file) || readFileSync(file, 'utf8') !== content);
}

/**
 * Fills marks with a table, a list of goals, or a value: `result; table; row; column`, where `column ÷ column` is a ratio; `result; measured` is
 * the day and the commit of each file of the table `result`.
 */
function filled(page: string): string {
  return page.replace(MARKED, (_, begin: string, wrapped: string, end: string) => {
    const name = wrapped.replaceAll(/\s+/g, ' ');
    const goals = GOALS[name.replace(/, goals$/, '')];
    const block = TABLES[name] ? written(TABLES[name]) : (plotted(name) ?? benchTable(name, MISSING));
    if (block !== undefined) return `${begin}\n${block}\n${end}`;
    return begin + (goals && name.endsWith(', goals') ? goalsOf(goals) : namedValue(name)) + end;
  });
}

/** Paragraphs and lists in lines of 100 columns: values differ in length. */
function wrapped(page: string): string {
  return page
    .split('\n\n')
    .map((block) =>
      /^(?:[#|]|<!--[^;]*-->\n)/.test(block)
        ? block
        : block
            .split(/\n(?=- |\d\. )/)
            .map(item)
            .join('\n'),
    )
    .join('\n\n');
}

function item(text: string): string {
  const indent = ' '.repeat(/^(?:- |\d\. )?/.exec(text)?.[0].length ?? 0);
  const [first = '', ...words] = text.trimEnd().split(/\s+/);
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (longer.length <= COLUMNS) lines.splice(-1, 1, longer);
    else lines.push(indent + word);
  }
  return lines.join('\n') + (text.endsWith('\n') ? '\n' : '');
}

function namedValue(name: string): string {
  const [file = '', table = '', row = '', column = ''] = name.split('; ');
  return table === 'measured' ? madeAt(file) : shown(numberOrRatio(file, table, row, column));
}

/** Days and commits of all files that the table of this name has values of, or of the one that has this name. */
function madeAt(name: string): string {
  const { file = name, files = {}, columns = [] } = TABLES[name] ?? {};
  const all = new Set([file, ...Object.values(files), ...columns.flatMap(([, , , other]) => other ?? [])]);
  const results = [...all].flatMap((each) => findResults(each) ?? []);
  if (results.length < all.size) return MISSING;
  const made = new Set(results.map(({ measured, commit = UNKNOWN }) => `${measured}, ${commit}`));
  const wereBusy = results.some(
    ({ settings, otherCores = settings.busy }) => Number(otherCores ?? 0) > MOST_OTHER_CORES,
  );
  return [...made].join(' and ') + (wereBusy ? ', beside other programs' : '');
}

/** @param column - perhaps a ratio of two */
function numberOrRatio(file: string, table: string, row: string, column: string): Cell | undefined {
  const [of = '', by] = column.split(' ÷ ');
  const value = cellOf(file, table, row, of);
  if (by === undefined || value === undefined) return value;
  return Number((Number(value) / Number(cellOf(file, table, row, by))).toPrecision(2));
}

function goalsOf(goals: readonly Goal[]): string {
  const found = goals.map(({ name, file, table, row, column, ...bound }) => {
    const value = numberOrRatio(file, table, row, column);
    const isMet = Number(value) >= (bound.least ?? -Infinity) && Number(value) <= (bound.most ?? Infinity);
    return { text: `${name} ${shown(value)}`, isMet, value };
  });
  if (found.some(({ value }) => value === undefined)) return MISSING;
  if (goals.some(({ file }) => findResults(file)?.commit === undefined)) return `not judged, ${UNKNOWN}`;
  const listed = (isMet: boolean) => found.filter((goal) => goal.isMet === isMet).map(({ text }) => text);
  return [['Reached', listed(true)] as const, ['missed', listed(false)] as const]
    .filter(([, list]) => list.length > 0)
    .map(([what, list]) => `${what}: ${list.join(', ')}`)
    .join('; ');
}

/** The picture of a plot. */
function plotted(name: string): string | undefined {
  const plot = PLOTS[name];
  if (plot === undefined) return undefined;
  return findResults(plot.file)?.tables[plot.table] ? `![${name}](../evaluation/results/${name}.svg)` : MISSING;
}

function rowsOf(file: string, table = ''): (readonly [head: string, row: string])[] {
  return Object.keys(findResults(file)?.tables[table]?.rows ?? {}).map((name) => [name, name]);
}

/** Writes Markdown; the first column is text. */
function written({ file, files = {}, head, columns, remarks, rows = rowsOf(file, columns[0]?.[2]) }: DocTable): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}/g, ' ');
  const more = remarks === undefined ? [] : [remarks];
  const cellsOf = (row: string, group?: string) =>
    columns.map(([, column, table, other]) => {
      const tableName = [group, table].filter((part) => part !== undefined).join(', ');
      return numberOrRatio(other ?? files[group ?? ''] ?? file, tableName, row, column);
    });
  if (rows.every(([, row, group]) => cellsOf(row, group).every((cell) => cell === undefined))) return MISSING;
  return [
    line([head, ...columns.map(([name]) => name), ...more]),
    `|${['---', ...columns.map(() => '--:'), ...more.map(() => '---')].join('|')}|`,
    ...rows.map(([name, row, group, remark = '']) => {
      return line([name, ...cellsOf(row, group).map(shown), ...more.map(() => remark)]);
    }),
  ].join('\n');
}

/** The bars of a table: a group for each row, a colour for each column. */
function drawn({ file, table: name, columns, without = [], ...about }: DocPlot): string {
  const rows = Object.keys(findResults(file)?.tables[name]?.rows ?? {});
  const groups = rows.filter((row) => !without.includes(row));
  const series = columns.map((column) => ({
    name: column,
    values: groups.map((row) => Number(cellOf(file, name, row, column))),
  }));
  return bars({ ...about, groups, series });
}

function shown(cell: Cell | undefined): string {
  if (cell === undefined) return MISSING;
  return typeof cell === 'number'
    ? cell.toLocaleString('en', { maximumFractionDigits: 6 }).replace('-', '−')
    : (cell ?? '');
}

if (import.meta.main) {
  if (process.argv[2] !== '--check') fillDocs();
  for (const [file] of outdated()) {
    process.stderr.write(`evaluation: ${fileURLToPath(file)} differs from the results: run node evaluation/fill.ts\n`);
    process.exitCode = 1;
  }
}
