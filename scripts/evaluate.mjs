// `npm run evaluate`: what evaluating needs, then the figures, in a network of their own. Plain JavaScript, as set-up.mjs.
import { spawnSync } from 'node:child_process';
import { runIsolated } from './isolated.mjs';

const given = process.argv.slice(2);
const main = ['node', 'evaluation/main.ts', ...given];
process.exitCode = given.includes('--help')
  ? run(main)
  : run(['node', 'scripts/set-up.mjs', '--tests', '--bench']) || (await runIsolated(main));

function run([command, ...args]) {
  return spawnSync(command, args, { stdio: 'inherit' }).status ?? 1;
}
