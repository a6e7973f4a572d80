// `npm run evaluate`: what evaluating needs, then the figures; help, or what is typed wrong, needs less. Plain JavaScript, as set-up.mjs.
import { spawnSync } from 'node:child_process';

const given = process.argv.slice(2);
const asksForHelp = given.length === 0 || given.includes('--help');
run(['scripts/set-up.mjs']);
run(['evaluation/main.ts', ...given, '--help'], asksForHelp ? 'inherit' : 'ignore');
if (!asksForHelp) {
  run(['scripts/set-up.mjs', '--tests', '--bench']);
  run(['evaluation/main.ts', ...given]);
}

function run(step, stdout = 'inherit') {
  const { status } = spawnSync('node', step, { stdio: ['inherit', stdout, 'inherit'] });
  if (status !== 0) process.exit(status ?? 1);
}
