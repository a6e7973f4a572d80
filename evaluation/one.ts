/** Measures one figure and writes its data: `node evaluation/one.ts FIGURE`, in namespaces of its own. */
import { fileURLToPath } from 'node:url';
import { runCommand } from '../bench/measure.ts';
import { FIGURES } from './figures.ts';
import { madeFrom, writeResults } from './results.ts';

const [name = ''] = process.argv.slice(2);
const made = await madeFrom();
await runCommand('ip', ['link', 'set', 'lo', 'up']);
const measurement = await FIGURES[name]?.run((text) => process.stderr.write(`${name}: ${text}\n`));
if (measurement === undefined) throw new Error(`no such figure: ${name}`);
process.stdout.write(`${fileURLToPath(await writeResults(name, made, measurement))}\n`);
process.exit();
