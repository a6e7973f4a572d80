// `npm run evaluate`: what evaluating needs, then the figures. Plain JavaScript, as set-up.mjs.
import { spawnSync } from 'node:child_process';

const asksForHelp = process.argv.length < 3 || process.argv.includes('--help');
const setUp = ['scripts/set-up.mjs', '--tests', '--bench'];
const status = asksForHelp ? 0 : spawnSync('node', setUp, { stdio: 'inherit' }).status;
if (status === 0) await import('../evaluation/main.ts');
else process.exitCode = status ?? 1;
