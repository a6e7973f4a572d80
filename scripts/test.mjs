// `npm test`: every test, and beside them every check; Vitest's summary comes last. Arguments go to Vitest.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const check = spawn('npm', ['run', '--silent', 'check'], { stdio: ['ignore', 'pipe', 'pipe'] });
const checked = outputOf(check);
const vitest = spawn('vitest', ['run', ...process.argv.slice(2)], { stdio: 'inherit' });
const [[checkFailed, output], [testsFailed]] = await Promise.all([checked, once(vitest, 'close')]);
if (checkFailed) process.stderr.write(`\n${output}\nnpm run check failed: see above\n`);
process.exitCode = checkFailed || testsFailed ? 1 : 0;

/** @returns whether it failed, and everything that it printed */
async function outputOf(child) {
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
  const [code] = await once(child, 'close');
  return [code !== 0, Buffer.concat(chunks).toString()];
}
