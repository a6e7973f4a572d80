/** New roots: readers of the old ones follow, whatever changes, and no key is lost. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { tufKeyId } from '../../core/publication/keys.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import {
  addSigner,
  removeSigner,
  renewRoot,
  rotatePublisherKey,
  rotateRole,
} from '../../publisher/keys/change-roots.ts';
import { ONLINE_ROLES } from '../../publisher/keys/key-store.ts';
import { TOP_LEVEL_ROLES, verifyChain } from '../../publisher/keys/roots.ts';
import { openSigningKeys } from '../../publisher/keys/signing-keys.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});
afterAll(() => workspace.remove());

const rootKeysFile = () => join(workspace.directory, 'root.keys');
const lastRoot = async (): Promise<RootMetadata> => verifyChain((await workspace.keyStore()).roots);
const rootKeys = async () => openSigningKeys(await readFile(rootKeysFile()), PASSPHRASE, 'root.keys');

/** Expects each private key that a root wants from here to be here. */
async function expectKeysFit(): Promise<void> {
  const { signers } = await workspace.keyStore();
  const root = await lastRoot();
  for (const role of ONLINE_ROLES) expect(root.roles[role].keyids).toContain(signers[role].keyid);
  const ours = (await rootKeys()).signers.map(({ keyid }) => keyid);
  expect(root.roles.root.keyids).toEqual(expect.arrayContaining(ours));
}

describe('changing roles', () => {
  it('begins with one key for each role, and the identity that stays', async () => {
    const { rootId, roots } = await workspace.keyStore();
    expect(roots).toHaveLength(1);
    expect(rootId).toMatch(/^[\w-]{43}$/);
    const root = await lastRoot();
    for (const role of TOP_LEVEL_ROLES)
      expect(root.roles[role]).toMatchObject({ threshold: 1, keyids: [expect.any(String)] });
    expect(new Set(TOP_LEVEL_ROLES.flatMap((role) => root.roles[role].keyids)).size).toBe(4);
    await expectKeysFit();
  });

  it.each(TOP_LEVEL_ROLES)(
    'attack 36: a new key for %s is one that readers of every older root follow',
    async (role) => {
      const before = await workspace.keyStore();
      const outcome = await rotateRole(workspace.keyOptions, role);
      expect(outcome).toMatchObject({ outcome: 'changed', version: before.roots.length + 1, rootId: before.rootId });
      const after = await workspace.keyStore();
      expect(after.rootId).toBe(before.rootId);
      expect(after.roots.slice(0, -1)).toEqual(before.roots);
      const changed = TOP_LEVEL_ROLES.filter((name) => {
        return String(outcome.before.roles[name].keyids) !== String(outcome.after.roles[name].keyids);
      });
      expect(changed).toEqual([role]);
      await expectKeysFit();
      expect((await rootKeys()).seeds).toHaveLength(1);
    },
  );

  it('renews a root: the same keys, and more time', async () => {
    const before = await lastRoot();
    const { after } = await renewRoot({ ...workspace.keyOptions, now: before.expires - 86_400 });
    expect(after.roles).toEqual(before.roles);
    expect(after.expires).toBe(before.expires + 729 * 86_400);
  });

  it('gives the publisher key a successor, and changes no root', async () => {
    const before = await workspace.keyStore();
    const changed = await rotatePublisherKey(workspace.keyOptions);
    const after = await workspace.keyStore();
    expect(changed).toEqual({ before: before.publisher.id, after: after.publisher.id });
    expect(after.publisher.id).not.toBe(before.publisher.id);
    expect(after.roots).toEqual(before.roots);
  });

  it('adds and removes a signer of a role, by the beginning of its key id', async () => {
    const { publicKey } = ed25519KeyPair(randomBytes(32));
    const keyid = await tufKeyId(publicKey);
    expect((await addSigner(workspace.keyOptions, 'timestamp', publicKey)).after.roles.timestamp.keyids).toContain(
      keyid,
    );
    await expect(addSigner(workspace.keyOptions, 'timestamp', publicKey)).rejects.toMatchObject({
      code: 'argument-invalid',
    });
    await expectKeysFit();
    const { after } = await removeSigner(workspace.keyOptions, 'timestamp', keyid.slice(0, 8));
    expect(after.roles.timestamp.keyids).not.toContain(keyid);
    await expectKeysFit();
  });

  it('refuses what would leave a role without enough keys, or this workspace without its own', async () => {
    const { signers, roots } = await workspace.keyStore();
    const { publicKey } = ed25519KeyPair(randomBytes(32));
    const [own = ''] = (await lastRoot()).roles.root.keyids;
    const attempts = [
      () => removeSigner(workspace.keyOptions, 'targets', signers.targets.keyid),
      () => removeSigner(workspace.keyOptions, 'targets', '00000000'),
      () => removeSigner(workspace.keyOptions, 'root', own),
      () => removeSigner(workspace.keyOptions, 'root', own.slice(0, 7)),
      () => addSigner(workspace.keyOptions, 'targets', publicKey, 3),
      () => addSigner(workspace.keyOptions, 'root', publicKey, 3),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: 'argument-invalid' });
    expect((await workspace.keyStore()).roots).toEqual(roots);
  });

  it('needs the root key for everything but the publisher key', async () => {
    const kept = await readFile(rootKeysFile());
    const elsewhere = join(workspace.directory, 'stick.keys');
    await writeFile(elsewhere, kept, { mode: 0o600 });
    const away = { ...workspace.keyOptions, rootKeys: join(workspace.directory, 'nowhere') };
    await expect(rotateRole(away, 'targets')).rejects.toMatchObject({ code: 'key-file-refused' });
    expect(await rotateRole({ ...workspace.keyOptions, rootKeys: elsewhere }, 'targets')).toMatchObject({
      outcome: 'changed',
    });
    expect(await rotatePublisherKey(away)).toMatchObject({ after: expect.any(String) });
  });
});
