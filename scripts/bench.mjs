// `npm run bench`: what measuring needs, then the measuring. A user who asks for help gets that alone. Plain JavaScript, as set-up.mjs.
import { spawnSync } from 'node:child_process';

const given = process.argv.slice(2);
const steps = [
  ['scripts/set-up.mjs', ...(given.includes('--help') ? [] : ['--bench'])],
  ['bench/main.ts', ...given],
  ...(given.includes('--save') ? [['evaluation/fill.ts']] : []),
];
for (const step of steps) {
  const { status } = spawnSync('node', step, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
