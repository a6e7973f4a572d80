/** Brings the values, tables and plots of docs/evaluation.md in line with evaluation/results: `node evaluation/fill.ts [--check]`. The words of the page are its own. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bars } from './plot.ts';
import { type Cell, cellOf, findResults } from './results.ts';
import { type DocPlot, type DocTable, PLOTS, TABLES } from './tables.ts';

const PAGE = new URL('../docs/evaluation.md', import.meta.url);
const MARKED = /(<!--\sfigure:\s([^>]+?)\s-->).*?(<!--\s\/figure\s-->)/gs;

/** Writes page and plots. */
export function fillDocs(): void {
  for (const [file, content] of outdated()) writeFileSync(file, content);
}

/** The files that differ from the results, with what they should be. */
function outdated(): (readonly [file: URL, content: string])[] {
  const plots = Object.entries(PLOTS).flatMap(([name, plot]) => {
    return findResults(plot.file) ? [[new URL(`results/${name}.svg`, import.meta.url), drawn(plot)] as const] : [];
  });
  const page = [PAGE, filled(readFileSync(PAGE, 'utf8'))] as const;
  return [page, ...plots].filter(([file, content]) => !existsSync(file) || readFileSync(file, 'utf8') !== content);
}

/** Fills marks with a table, or a value `result; table; row; column`; `column ÷ column` is a ratio. @throws Error */
function filled(page: string): string {
  return page.replace(MARKED, (_, begin: string, name: string, end: string) => {
    const table = TABLES[name];
    return begin + (table ? `\n${written(table)}\n` : namedValue(name.replaceAll(/\s+/g, ' '))) + end;
  });
}

function namedValue(name: string): string {
  const [file = '', table = '', row = '', column = ''] = name.split('; ');
  const [of = '', by] = column.split(' ÷ ');
  const value = cellOf(file, table, row, of);
  if (by === undefined || value === undefined) return shown(value);
  return shown(Number((Number(value) / Number(cellOf(file, table, row, by))).toPrecision(2)));
}

/** In Markdown; the first column is text. */
function written({ file, head, columns, rows = allRows(file, columns), remarks }: DocTable): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}/g, ' ');
  const more = remarks === undefined ? [] : [remarks];
  return [
    line([head, ...columns.map(([name]) => name), ...more]),
    `|${['---', ...columns.map(() => '--:'), ...more.map(() => '---')].join('|')}|`,
    ...rows.map(([name, row, group, remark = '']) => {
      const cells = columns.map(([, column, table]) => {
        const tableName = [group, table].filter((part) => part !== undefined).join(', ');
        return shown(cellOf(file, tableName, row, column));
      });
      return line([name, ...cells, ...more.map(() => remark)]);
    }),
  ].join('\n');
}

/** As the result names them. */
function allRows(file: string, columns: DocTable['columns']): NonNullable<DocTable['rows']> {
  const table = findResults(file)?.tables[columns[0]?.[2] ?? ''];
  return Object.keys(table?.rows ?? {}).map((name) => [name, name]);
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
  if (cell === undefined) return 'not measured yet';
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
