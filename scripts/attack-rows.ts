/** Holds that every row of the attacks in docs/threat-model.md has a test in `npm test` with `attack N` in its title, and that no title names another row. Part of `npm run check`. */
import { globSync, readFileSync } from 'node:fs';

const CATALOGUE = 'docs/threat-model.md';

/** Rows whose tests run in the release tier alone do not count as covered. @param sources - of the tests of `npm test` */
export function rowFaults(catalogue: string, sources: readonly string[]): string[] {
  const [, table = ''] = catalogue.split('## Attacks');
  const rows = new Set(Array.from(table.matchAll(/^\| (\d+) \|/gm), ([, row]) => Number(row)));
  const named = new Set(sources.flatMap(rowsIn));
  return [
    ...[...rows].filter((row) => !named.has(row)).map((row) => `attack ${row} has no test in npm test`),
    ...[...named].filter((row) => !rows.has(row)).map((row) => `attack ${row} is no row of ${CATALOGUE}`),
  ];
}

/** Finds rows in titles, which stand outside of comments. */
function rowsIn(source: string): number[] {
  const lines = source.split('\n').filter((line) => !/^\s*(?:\*|\/[*/])/.test(line));
  return lines.flatMap((line) => Array.from(line.matchAll(/\battack (\d+)\b/g), ([, row]) => Number(row)));
}

if (import.meta.main) {
  const files = globSync('tests/{**/*.test.ts,**/*.txt,reading/*-cases.ts}', {
    exclude: ['tests/release/**', 'tests/browsers/**'],
  });
  const faults = rowFaults(
    readFileSync(CATALOGUE, 'utf8'),
    files.map((file) => readFileSync(file, 'utf8')),
  );
  for (const fault of faults) process.stderr.write(`attack-rows: ${fault}\n`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
