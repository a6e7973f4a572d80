/** Publishing to another place than the last time: what the key server tells readers of is not where they are served from now. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { leftBehind } from '../../cli/left-behind.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { readLastPublished } from '../../publisher/last-published.ts';
import { TwoPlaces } from '../support/two-places.ts';
import { runOnTerminal, runWispr } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

const rig = new TwoPlaces();
beforeEach(async () => {
  await rig.alone();
  await rig.publish(rig.A);
});

const served = () => ({ out: rig.made.out, configuration: { publish: undefined }, configured: undefined });
/** @param where - `null`: the output itself */
const behind = async (where: string | null, protects: boolean, token: string | undefined = 'a token') => {
  const target = where === null ? undefined : await openTarget(where);
  return leftBehind(await readLastPublished(rig.workspace), { target, token, ...served() }, protects);
};

it('leaves the place before behind, unless that has the same', async () => {
  expect([await behind(rig.B, true), await behind(rig.B, false)]).toEqual([rig.A, undefined]);
  await rig.protectNext('<p>2');
  expect([await behind(rig.B, false), await behind(rig.A, true), await behind(null, false)]).toEqual([
    rig.A,
    undefined,
    rig.A,
  ]);
});

it('leaves nobody behind where no key server is told, nor where the output itself is what is served', async () => {
  await rig.protectNext('<p>2');
  const target = await openTarget(rig.B);
  const last = await readLastPublished(rig.workspace);
  expect(await leftBehind(last, { target, token: undefined, ...served() }, true)).toBeUndefined();
  const configured = { target, token: 'a token', ...served(), configuration: { publish: rig.B } };
  expect(await leftBehind(last, configured, true)).toBeUndefined(); // nobody has typed that by mistake
  await rig.publish(null);
  expect(await behind(rig.B, true)).toBeUndefined();
});

describe('wispr publish', () => {
  const token = () => ['--token-file', join(rig.made.directory, 'token')];
  const args = () => ['publish', rig.B, '-c', rig.made.configurationFile, ...token()];
  beforeEach(async () => {
    await rig.setToken(`wispr-publish-${'a'.repeat(43)}`);
    await writeFile(join(rig.made.directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  });

  it('refuses to, and says how to keep both', async () => {
    const refused = await runWispr([...args(), '--passphrase-file', join(rig.made.directory, 'passphrase')]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^wispr: the site is at .*, which is not brought this .*\nwispr: hint: add --yes .*two targets\n$/,
    );
  });

  it('asks on a terminal', async () => {
    await rig.protectNext('<p>2');
    const asked = await runOnTerminal([...args(), '--no-protect'], [['publish elsewhere all the same?', 'n\r']], {
      cwd: rig.made.directory,
    });
    expect(asked.code).toBe(2);
    expect(asked.shown).toContain('nothing was published');
  });
});
