/** `npm run evaluate [-- FIGURE…]`: the figures of docs/evaluation.md. Each is measured whole, and written when it is done. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runCommand } from '../bench/measure.ts';
import { certificatesFigure } from './certificates/figure.ts';
import { costFigure } from './cost/figure.ts';
import { fillDocs } from './fill.ts';
import { pageFigure } from './page/figure.ts';
import { IS_QUICK } from './quick.ts';
import { readersFigure } from './readers/figure.ts';
import { type Measurement, writeResults } from './results.ts';
import { scaleFigure } from './scale/figure.ts';
import { screamFigure } from './scream/figure.ts';
import { sitesFigure } from './sites/figure.ts';

interface Evaluated {
  readonly what: string;
  /** @param report - says how far it is */
  readonly run: (report: (text: string) => void) => Promise<Measurement>;
}

const FIGURES: Readonly<Record<string, Evaluated>> = {
  page: { what: 'page load in Chromium, and bytes on the link, over narrow and fast links', run: pageFigure },
  certificates: {
    what: 'handshakes and key requests over six links: certificate substitution, TLS 1.3, HTTPCrypt',
    run: certificatesFigure,
  },
  scream: {
    what: 'sign-ins and bindings at one to eight key servers, with and without the dispatcher; batch RSA',
    run: screamFigure,
  },
  sites: {
    what: 'public sites with and without caches and compression in the path, over three links',
    run: sitesFigure,
  },
  scale: { what: 'documents and subscribers from a hundred to a million, and a model beyond', run: scaleFigure },
  readers: { what: 'what reaches the origin when 1 to 1,000 read, with caches small to large', run: readersFigure },
  cost: { what: 'what a byte and a document cost each part, beside ciphers, signatures and TLS', run: costFigure },
};

const WIDTH = Math.max(...Object.keys(FIGURES).map((name) => name.length));
const HELP = `npm run evaluate [-- FIGURE…]

measures the figures that are named, or all, writes their data into evaluation/results, and fills docs/evaluation.md
needs root and /dev/net/tun; scream also cgroup v1

  WISPR_EVALUATE=quick    fewer runs; data into .cache/evaluation

${Object.entries(FIGURES)
  .map(([name, { what }]) => `  ${name.padEnd(WIDTH)}  ${what}\n`)
  .join('')}`;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { help: { type: 'boolean' } }, allowPositionals: true });
  const unknown = positionals.filter((name) => !Object.hasOwn(FIGURES, name));
  if (unknown.length > 0) process.stderr.write(`evaluate: no such figure: ${unknown.join(', ')}\n`);
  if (unknown.length > 0) return 2;
  if (values.help) process.stdout.write(HELP);
  else await evaluate(positionals.length > 0 ? positionals : Object.keys(FIGURES));
  return 0;
}

async function evaluate(names: readonly string[]): Promise<void> {
  await runCommand('ip', ['link', 'set', 'lo', 'up']);
  for (const name of names) {
    const measurement = await FIGURES[name]?.run((text) => process.stderr.write(`${name}: ${text}\n`));
    if (measurement) process.stdout.write(`${fileURLToPath(await writeResults(name, measurement))}\n`);
  }
  if (!IS_QUICK) fillDocs();
}
