/** `npm run evaluate` starts relays, servers and network namespaces: none of them outlives it. Needs root, as evaluating does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { ROOT } from '../support/programs.ts';

/** Leaves a server behind that no signal but one ends, and says where its files are. */
const PROGRAM = 'trap "" INT TERM; touch $TMPDIR/left; setsid sleep 1000 & echo $TMPDIR; ip -brief link | wc -l; wait';

function start(shell: string): ChildProcess {
  const script = `import { runIsolated } from '${ROOT}scripts/isolated.mjs'; process.exitCode = await runIsolated(['sh', '-c', process.argv[1]]);`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script, shell], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

const isRoot = process.getuid?.() === 0;

it.runIf(isRoot).each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends everything that an evaluation has started', async (signal, code) => {
  const evaluation = start(PROGRAM);
  const errors = text(evaluation.stderr ?? process.stdin);
  const lines = createInterface({ input: evaluation.stdout ?? process.stdin })[Symbol.asyncIterator]();
  const folder = String((await lines.next()).value);
  expect(Number((await lines.next()).value)).toBe(1); // a network of its own: nothing but a loopback
  expect(existsSync(`${folder}/left`)).toBe(true);
  evaluation.kill(signal);
  // The output is closed once no process holds it.
  expect(await once(evaluation, 'close')).toEqual([code, null]);
  expect([await errors, existsSync(folder)]).toEqual(['', false]);
});

it.runIf(isRoot)('an evaluation that ends by itself leaves nothing either, and its exit code counts', async () => {
  const evaluation = start('setsid sleep 1000 & echo said >&2; exit 3');
  const errors = text(evaluation.stderr ?? process.stdin);
  expect([await once(evaluation, 'close'), await errors]).toEqual([[3, null], 'said\n']);
});
