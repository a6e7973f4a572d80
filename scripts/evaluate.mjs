// `npm run evaluate`: what evaluating needs, then the figures, in a network of their own. Plain JavaScript, as set-up.mjs.
import { spawnSync } from 'node:child_process';

const given = process.argv.slice(2);
const isolated = ['unshare', '--net', 'node'];
const steps = given.includes('--help')
  ? [['node', 'bench/evaluate/main.ts', ...given]]
  : [
      ['node', 'scripts/set-up.mjs', '--tests', '--bench'],
      [...isolated, 'bench/evaluate/main.ts', ...given],
    ];
for (const [command, ...args] of steps) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
