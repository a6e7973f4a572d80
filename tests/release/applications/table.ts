/** The table of docs/compatibility.md, from what the test has seen. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/programs.ts';

export interface Seen {
  /** Name of the row. */
  readonly kind: string;
  readonly name: string;
  /** Results of each way but the first: `yes`, or why not. */
  readonly cells: readonly string[];
}

const MARKED = /(<!-- table -->\n).*(<!-- \/table -->)/s;
export const PAGE = join(ROOT, 'docs/compatibility.md');

/** @returns the page with a table in which applications of a kind that do as well share a row */
export function pageWith(seen: readonly Seen[], head: readonly string[]): string {
  const rows = Map.groupBy(seen, ({ kind, cells }) => [kind, ...cells].join(' | '));
  const lines = [...rows].map(([key, those]) => {
    const [kind, ...cells] = key.split(' | ');
    return [`${kind}: ${those.map(({ name }) => name).join(', ')}`, ...cells];
  });
  const table = [['', ...head], ['---', ...head.map(() => '---')], ...lines];
  const text = table.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
  return readFileSync(PAGE, 'utf8').replace(MARKED, (_, begin: string, end: string) => begin + text + end);
}
