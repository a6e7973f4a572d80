/** The HTTP caching tests through the proxy give, test for test, what they give without it: what passes through is not changed, and not kept. */
import { expect, it } from 'vitest';
import { forFile } from '../../../support/for-file.ts';
import { startCommand } from '../../../support/programs.ts';
import { startReaderRig } from '../../../support/reader-rig.ts';

const rig = forFile(startReaderRig);

/** Results by test: `true`, or what kept it from passing. */
type Results = Record<string, true | [kind: string, message: string]>;

async function results(...proxy: string[]): Promise<Results> {
  const { code, stdout, stderr } = await startCommand([
    process.execPath,
    'tests/release/caches/cache-tests/run.ts',
    ...proxy,
  ]).ended;
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Results;
}

/** Tests of header rewriting that no proxy does; they fail without the proxy too, since there is no cache. */
function isExplained(id: string, without: Results[string] | undefined): boolean {
  // The host closes without an answer: to the client itself that is an error of the connection, behind a proxy it is a 502.
  if (without !== true && without?.[1] === 'fetch failed') return true;
  // The host uses a transfer coding that was not offered, and the length of such an answer is unknown.
  return id === 'headers-store-Transfer-Encoding';
}

it('the HTTP caching tests give the same through the proxy as without it', async () => {
  const [without, through] = await Promise.all([results(), results(rig.proxy.url)]);
  const passed = (all: Results) => Object.keys(all).filter((id) => all[id] === true);
  expect(passed(without).length).toBeGreaterThan(100);
  expect(passed(through)).toEqual(passed(without));
  expect(Object.keys(through)).toEqual(Object.keys(without));
  const differences = Object.keys(without).filter((id) => JSON.stringify(without[id]) !== JSON.stringify(through[id]));
  const unexplained = differences.filter((id) => !isExplained(id, without[id]));
  expect(unexplained.map((id) => [id, without[id], through[id]])).toEqual([]);
  expect(differences.length).toBeLessThan(20);
}, 600_000);
