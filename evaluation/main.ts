/** `npm run evaluate -- FIGURE…`: the figures of docs/evaluation.md, one after the other, each in a process, a network and a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { NODE } from '../bench/processes.ts';
import { FIGURES } from './figures.ts';
import { fillDocs } from './fill.ts';
import { IS_QUICK } from './quick.ts';
import { isOfThisCode } from './results.ts';

const ISOLATED = fileURLToPath(new URL('../scripts/isolated.mjs', import.meta.url));
const ONE = fileURLToPath(new URL('one.ts', import.meta.url));
const LONGEST_MINUTES = 30;
const WIDTH = Math.max(...Object.keys(FIGURES).map((name) => name.length));
const LIST = Object.entries(FIGURES).map(([name, { what, minutes, needs }]) => {
  return `  ${name.padEnd(WIDTH)}  ${what}; ${minutes} minutes${needs ? `; ${needs}` : ''}\n`;
});
const HELP = `npm run evaluate -- --all | FIGURE…

measures figures, writes the data of each into evaluation/results as soon as it is there, and fills docs/evaluation.md and docs/figures.md

  --all      all figures
  --again    also those whose data was made by this code; else they are left as they are
  TMPDIR=/dev/shm         for scale, which makes millions of small files, where the disk is slow
  WISPR_EVALUATE=quick    fewer runs; data into .cache/evaluation, and none into the docs

needs root, for namespaces of network and processes, and Debian packages, which it installs; minutes are on two cores that do nothing
else, and a figure that takes ${LONGEST_MINUTES} is ended
exit status: 0 if the data of every figure is there, 1 if a figure failed or took too long, 3 if some cannot run here

${LIST.join('')}`;

let running: ChildProcess | undefined;
let isToldToEnd = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    isToldToEnd = true;
    running?.kill(signal);
  });
process.exitCode = await main();

async function main(): Promise<number> {
  const options = { all: { type: 'boolean' }, again: { type: 'boolean' }, help: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const names = values.all ? Object.keys(FIGURES) : positionals;
  const unknown = names.filter((name) => !Object.hasOwn(FIGURES, name));
  if (unknown.length > 0) process.stderr.write(`evaluate: no such figure: ${unknown.join(', ')}\n`);
  if (values.help || names.length === 0 || unknown.length > 0) {
    process.stdout.write(HELP);
    return values.help && unknown.length === 0 ? 0 : 2;
  }
  const statuses: number[] = [];
  for (const name of names) if (!isToldToEnd) statuses.push(await evaluate(name, values.again === true));
  return statuses.includes(1) || isToldToEnd ? 1 : Math.max(...statuses);
}

/** @returns the exit status, if there were no other figure */
async function evaluate(name: string, again: boolean): Promise<number> {
  const say = (text: string) => process.stderr.write(`evaluate: ${name} ${text}\n`);
  if (!again && isOfThisCode(name)) {
    say('has data of this code already: --again measures it anew');
    return 0;
  }
  const obstacle = obstacleTo(name);
  if (obstacle === undefined) return measure(name, say);
  say(`cannot run here: ${obstacle}`);
  return 3;
}

function obstacleTo(name: string): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root';
  const { needs } = FIGURES[name] ?? {};
  try {
    if (needs !== undefined) accessSync(needs, constants.W_OK);
    return undefined;
  } catch {
    return `${needs} cannot be written`;
  }
}

async function measure(name: string, say: (text: string) => void): Promise<number> {
  const begun = performance.now();
  running = spawn(NODE, [ISOLATED, NODE, ONE, name], { stdio: 'inherit', timeout: LONGEST_MINUTES * 60_000 });
  const [code] = await once(running, 'exit');
  const minutes = (performance.now() - begun) / 60_000;
  if (code === 0) say(`took ${minutes.toFixed(1)} minutes`);
  else if (isToldToEnd) say('was ended');
  else if (minutes >= LONGEST_MINUTES) say(`was ended after ${LONGEST_MINUTES} minutes`);
  else say('failed: the reason is above');
  if (code === 0 && !IS_QUICK) fillDocs();
  return code === 0 ? 0 : 1;
}
