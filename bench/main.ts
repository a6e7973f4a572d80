/** `npm run bench [-- --json | --save] [ROW…]`: figures beside their peers, measured in the same run. */
import { parseArgs } from 'node:util';
import type { Row } from './measure.ts';
import { cacheParity } from './rows/cache-parity.ts';
import { keyRequests } from './rows/key-requests.ts';
import { protect1gib, protect10k } from './rows/protect.ts';
import { proxyRows } from './rows/proxy.ts';
import { publicationCheck } from './rows/publication.ts';
import { publishRows } from './rows/publish.ts';
import { webReaderPage, webReaderRate, webReaderSize } from './rows/web-reader.ts';
import { webReaderFirst } from './rows/web-reader-first.ts';
import { wrapsForAll } from './rows/wraps.ts';
import { saveRows } from './save.ts';

interface Measured {
  readonly what: string;
  readonly run: () => Promise<Row[]>;
}

const ROWS: Readonly<Record<string, Measured>> = {
  'protect-1gib': { what: 'wispr protect on one file of 1 GiB, beside cp and age', run: protect1gib },
  'protect-10k': { what: 'the same on 10,000 text files of 8 KiB; time, and bytes a document', run: protect10k },
  publish: { what: 'wispr publish over 100,000 pages: all, nothing, one, a day of them changed', run: publishRows },
  'publication-check': { what: 'a reader opens a publication and looks a document up', run: publicationCheck },
  'key-requests': {
    what: 'requests for keys to a key server: SQLite, PostgreSQL, two of them, latency, a TLS connection each',
    run: keyRequests,
  },
  'wraps-1m': { what: 'one key wrapped for 1,000,000 devices and stored, beside the paper', run: wrapsForAll },
  'proxy-1k': { what: 'requests for 1 KiB through the proxy, beside others', run: () => proxyRows('proxy-1k') },
  'proxy-64k': { what: 'the same for 64 KiB', run: () => proxyRows('proxy-64k') },
  'proxy-10m': { what: 'the same for 10 MiB', run: () => proxyRows('proxy-10m') },
  'web-reader-size': { what: 'bytes of the in-browser reader', run: webReaderSize },
  'web-reader-page': { what: 'a page and a film in the browser, beside the same in clear', run: webReaderPage },
  'web-reader-rate': { what: 'a large download in the browser, beside the same in clear', run: webReaderRate },
  'web-reader-first': {
    what: 'the first second of readers, over 150 ms and 1.6 Mbit/s, beside the same in clear',
    run: webReaderFirst,
  },
  'cache-parity': { what: 'protected objects from caches, beside plain files of their length', run: cacheParity },
};

const WIDTH = Math.max(...Object.keys(ROWS).map((name) => name.length));
const HELP = `npm run bench [-- [--json] [--save] [ROW…]]

measures the rows that are named, or all, one after the other; docs/figures.md explains what comes out
--save takes them into bench/results/bench.csv and docs/figures.md, each when it is there

${Object.entries(ROWS)
  .map(([name, { what }]) => `  ${name.padEnd(WIDTH)}  ${what}\n`)
  .join('')}`;

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const options = { json: { type: 'boolean' }, save: { type: 'boolean' }, help: { type: 'boolean' } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const unknown = positionals.filter((name) => !Object.hasOwn(ROWS, name));
    if (unknown.length > 0) throw new TypeError(`no such row: ${unknown.join(', ')}`);
    if (values.help) process.stdout.write(HELP);
    else await run(positionals.length > 0 ? positionals : Object.keys(ROWS), values);
    return 0;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // parseArgs throws these too
    process.stderr.write(`bench: ${error.message}\n${HELP}`);
    return 2;
  }
}

async function run(names: readonly string[], { json = false, save = false }): Promise<void> {
  if (!json) printTableLine(['row', 'value', 'unit', 'peer', 'peer value', 'ratio', 'runs', 'bound']);
  for (const name of names) {
    if (process.stderr.isTTY && json) process.stderr.write(`bench: ${name} …\n`);
    const rows = (await ROWS[name]?.run()) ?? [];
    if (save) saveRows(name, rows);
    for (const row of rows) {
      if (json) process.stdout.write(`${JSON.stringify(row)}\n`);
      else printTableLine([row.row, row.value, row.unit, row.peer, row.peerValue, row.ratio, row.runs, row.bound]);
    }
  }
}

function printTableLine(cells: readonly (string | number)[]): void {
  const widths = [32, 9, 11, 33, 11, 7, 5, 0];
  process.stdout.write(
    `${cells
      .map((cell, index) => String(cell).padEnd(widths[index] ?? 0))
      .join(' ')
      .trimEnd()}\n`,
  );
}
