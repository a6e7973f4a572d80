/** `kill -9` at every step of a rotation, as the file system sees the steps. */
import { watch } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openKeyStore } from '../../../publisher/keys/key-store.ts';
import { verifyChain } from '../../../publisher/keys/roots.ts';
import { openSigningKeys } from '../../../publisher/keys/signing-keys.ts';
import { startProgram } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runWispr } from '../../support/wispr.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../../support/workspace.ts';

const FILES = ['wispr.json', 'publisher.keys', 'root.keys', 'passphrase'];

let origin: TestWorkspace;
beforeAll(async () => {
  origin = await createWorkspace();
  await writeFile(join(origin.directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
});
afterAll(() => origin.remove());

const ROTATE = (role: string) => ['keys', 'rotate', role, '--passphrase-file', 'passphrase', '--json'];

/** Starts a rotation, and kills it at the given change of its directory. Answers whether it was alive by then. */
async function killAt(cwd: string, role: string, change: number): Promise<boolean> {
  let seen = 0;
  const running = startProgram('bin/wispr.js', ROTATE(role), { cwd });
  const watcher = watch(cwd, () => {
    if (++seen === change) void running.stop('SIGKILL');
  });
  const { code } = await running.ended;
  watcher.close();
  return code === null;
}

/** Expects every key that the last root wants, and returns what the directory has. */
async function expectNothingLost(cwd: string) {
  const store = await openKeyStore(await readFile(join(cwd, 'publisher.keys')), PASSPHRASE);
  const rootKeys = await openSigningKeys(await readFile(join(cwd, 'root.keys')), PASSPHRASE, 'root.keys');
  const root = await verifyChain(store.roots);
  for (const role of ['targets', 'snapshot', 'timestamp'] as const)
    expect(root.roles[role].keyids).toEqual([store.signers[role].keyid]);
  expect(rootKeys.signers.map(({ keyid }) => keyid)).toEqual(expect.arrayContaining([...root.roles.root.keyids]));
  return { store, root, rootKeys };
}

it.each([
  ['root', [1, 3, 4, 5, 6, 7, 8, 10, 12, 14]],
  ['targets', [2, 4, 6, 8]],
] as const)(
  'attack 66: a rotation of %s that is killed leaves the old root or the new one, and the next run goes on',
  async (role, changes) => {
    const before = await expectNothingLost(origin.directory);
    let killed = 0;
    for (const change of changes) {
      const cwd = temporaryFolder();
      for (const file of FILES) await copyFile(join(origin.directory, file), join(cwd, file));
      if (await killAt(cwd, role, change)) killed++;
      const left = await expectNothingLost(cwd);
      expect(left.store.rootId).toBe(before.store.rootId);
      expect([1, 2]).toContain(left.root.version);
      const next = await runWispr(ROTATE(role), { cwd });
      expect(next).toMatchObject({ code: 0 });
      const done = await expectNothingLost(cwd);
      expect(done.rootKeys.seeds).toHaveLength(1);
      expect(done.root.version).toBe(left.root.version + 1);
    }
    expect(killed).toBeGreaterThan(changes.length / 2);
  },
  240_000,
);
