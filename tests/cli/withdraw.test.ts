/** `wispr withdraw` where not everybody can be told: what is urgent is done as far as it can be. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../../cache-config/child.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { runWispr } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
afterEach(() => workspace.remove());

it('signs, and says so, where the key server does not answer', async () => {
  const keyServer = `http://127.0.0.1:${await freePort()}`;
  workspace = await createWorkspace({ 'a.txt': 'a mistake' }, { keyServer, keyServerTokenFile: 'token' });
  const file = (name: string) => join(workspace.directory, name);
  await writeFile(file('token'), `wispr-publish-${'a'.repeat(43)}\n`, { mode: 0o600 });
  await writeFile(file('passphrase'), PASSPHRASE, { mode: 0o600 });
  await workspace.protect();
  const options = ['--yes', '--passphrase-file', 'passphrase'];
  const { code, stderr } = await runWispr(['withdraw', '1', ...options], { cwd: workspace.directory });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/it is signed, and at .*protected; but .*\[key-server-unreachable\]/),
  ]);
  const timestamp = JSON.parse(await readFile(join(workspace.out, METADATA_PATH, TIMESTAMP_FILE), 'utf8'));
  expect(timestamp.signed['x-wispr-withdrawn']).toEqual([1]);
});
