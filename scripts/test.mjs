// `npm test`: every check, then every test, and Vitest's summary last. Arguments go to Vitest.
import { spawnSync } from 'node:child_process';

const steps = [
  ['npm', ['run', '--silent', 'check']],
  ['vitest', ['run', ...process.argv.slice(2)]],
];
for (const [command, args] of steps) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
