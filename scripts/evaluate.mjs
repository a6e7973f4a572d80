// `npm run evaluate`: what evaluating needs, then the figures; nothing is set up for help or a wrong name. Plain JavaScript, as set-up.mjs.
import { spawnSync } from 'node:child_process';
import { FIGURES } from '../evaluation/figures.ts';

const given = process.argv.slice(2);
const isUnknown = (word) => !word.startsWith('-') && !Object.hasOwn(FIGURES, word);
const asksForHelp = given.length === 0 || given.includes('--help');
const setUp = ['scripts/set-up.mjs', '--tests', '--bench'];
const status = asksForHelp || given.some(isUnknown) ? 0 : spawnSync('node', setUp, { stdio: 'inherit' }).status;
if (status === 0) await import('../evaluation/main.ts');
else process.exitCode = status ?? 1;
