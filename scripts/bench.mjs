// `npm run bench`: what measuring needs, then the measuring; help, or what is typed wrong, needs less. Plain JavaScript, as set-up.mjs.
import { spawnSync } from 'node:child_process';

const given = process.argv.slice(2);
const asksForHelp = given.includes('--help');
run(['scripts/set-up.mjs']);
run(['bench/main.ts', ...given, '--help'], asksForHelp ? 'inherit' : 'ignore');
if (!asksForHelp) {
  run(['scripts/set-up.mjs', '--bench']);
  run(['bench/main.ts', ...given]);
  if (given.includes('--save')) run(['evaluation/fill.ts']);
}

function run(step, stdout = 'inherit') {
  const { status } = spawnSync('node', step, { stdio: ['inherit', stdout, 'inherit'] });
  if (status !== 0) process.exit(status ?? 1);
}
