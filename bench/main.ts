/** `npm run bench [-- --json] [ROW…]`: figures beside their peers, measured in the same run. */
import { parseArgs } from 'node:util';
import type { Row } from './measure.ts';
import { protect1gib, protect10k } from './rows/protect.ts';
import { protectMemory, republish100k } from './rows/protect-scale.ts';
import { passRows, proxyRows } from './rows/proxy.ts';
import { memoryRows, ttfbRows } from './rows/proxy-cost.ts';
import { publicationCheck } from './rows/publication.ts';
import { video10g } from './rows/video.ts';

const ROWS: Record<string, () => Promise<Row[]>> = {
  'protect-1gib': protect1gib,
  'protect-10k': protect10k,
  'republish-100k': republish100k,
  'protect-memory': protectMemory,
  'publication-check': publicationCheck,
  'proxy-1k': () => proxyRows('proxy-1k'),
  'proxy-64k': () => proxyRows('proxy-64k'),
  'proxy-10m': () => proxyRows('proxy-10m'),
  'proxy-pass': () => passRows('proxy-pass'),
  'proxy-ttfb': () => ttfbRows('proxy-ttfb'),
  'proxy-memory': () => memoryRows('proxy-memory'),
  'video-10g': video10g,
};

const HELP = `npm run bench [-- [--json] [ROW…]]\n\nrows: ${Object.keys(ROWS).join(', ')}; all, if none is named\n`;

process.exitCode = await main();

async function main(): Promise<number> {
  try {
    const options = { json: { type: 'boolean' }, help: { type: 'boolean' } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const unknown = positionals.filter((name) => !Object.hasOwn(ROWS, name));
    if (unknown.length > 0) throw new TypeError(`no such row: ${unknown.join(', ')}`);
    if (values.help) process.stdout.write(HELP);
    else await run(positionals.length > 0 ? positionals : Object.keys(ROWS), values.json === true);
    return 0;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // parseArgs throws these too
    process.stderr.write(`bench: ${error.message}\n${HELP}`);
    return 2;
  }
}

async function run(names: readonly string[], json: boolean): Promise<void> {
  if (!json) printTableLine(['row', 'value', 'unit', 'peer', 'peer value', 'ratio', 'runs', 'bound']);
  for (const name of names) {
    if (process.stderr.isTTY && json) process.stderr.write(`bench: ${name} …\n`);
    for (const row of (await ROWS[name]?.()) ?? []) {
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
