// `npm test`: format, lint, types and structure, then every test that decides whether a change is right. With arguments, which go to Vitest: those tests alone.
// A whole run leaves its wall and processor time and its slowest files in .cache/test-times.json.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { runWhereOthersEnter } from './enterable.ts';

const TIMES = '.cache/test-times.json';
const chosen = process.argv.slice(2);
const start = performance.now();
if (chosen.length > 0) {
  process.exitCode = runWhereOthersEnter('vitest', ['run', ...chosen]);
} else {
  process.exitCode = spawnSync('npm', ['run', '--silent', 'check'], { stdio: 'inherit' }).status ?? 1;
  if (process.exitCode === 0) {
    process.exitCode = runWhereOthersEnter('vitest', ['run'], { ...process.env, WISPR_TEST_TIMES: TIMES });
    recordTimes();
  } else process.stderr.write('npm run check failed, see above: no test was run\n');
}

function recordTimes() {
  const wallSeconds = Math.round((performance.now() - start) / 1000);
  const times = { wallSeconds, processorSeconds: processorSeconds(), ...slowest() };
  writeFileSync(TIMES, `${JSON.stringify(times, undefined, 2)}\n`);
  process.stdout.write(`${wallSeconds} s, ${times.processorSeconds ?? '?'} s of processor time: ${TIMES}\n`);
}

/** Seconds of all processes that this one has waited for, and that those have, browsers and servers included; Linux alone says so. */
function processorSeconds() {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ');
    return Math.round((Number(fields[13]) + Number(fields[14])) / 100); // cutime and cstime of proc(5), in ticks
  } catch {
    return undefined;
  }
}

/** Vitest's own part: tests/support/suite.ts. */
function slowest() {
  try {
    return JSON.parse(readFileSync(TIMES, 'utf8'));
  } catch {
    return {}; // Vitest did not come to its end
  }
}
