/** A root that more than one key has to sign: signatures are gathered by file. */
import { existsSync } from 'node:fs';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyNextRoot } from '../../core/publication/verify-roles.ts';
import { addSigner, finishDraft, renewRoot, rotateRole } from '../../publisher/keys/change-roots.ts';
import { readDraft, signDraftFile } from '../../publisher/keys/root-draft.ts';
import { describeChanges, READER_OPTIONS, verifyChain } from '../../publisher/keys/roots.ts';
import { createSigner, readSigner } from '../../publisher/keys/signing-keys.ts';
import { listKeys } from '../../publisher/publication/list-keys.ts';
import { CHEAP } from '../support/cheap-keys.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const SIGNER_PASSPHRASE = 'quite another passphrase';

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace();
});
afterEach(() => workspace.remove());

const at = (name: string) => join(workspace.directory, name);
const newSigner = (name: string) => createSigner(at(name), SIGNER_PASSPHRASE, CHEAP);
const sign = async (file: string, key: string) =>
  signDraftFile(at(file), await readDraft(at(file)), at(key), SIGNER_PASSPHRASE);
const versions = async () => (await workspace.keyStore()).roots.length;

/** A root that two of two have to sign. */
async function demandTwo(): Promise<void> {
  await newSigner('ada.key');
  const outcome = await addSigner(workspace.keyOptions, 'root', await readSigner(at('ada.key.pub')), 2);
  expect(outcome).toMatchObject({
    outcome: 'draft',
    version: 2,
    missing: { before: 0, after: 1 },
    file: at('root.2.json'),
  });
  expect(await versions()).toBe(1);
  expect(await sign('root.2.json', 'ada.key')).toMatchObject({
    keyids: [expect.any(String)],
    missing: { before: 0, after: 0 },
  });
  expect(await finishDraft(workspace.keyOptions, [at('root.2.json')])).toMatchObject({
    outcome: 'changed',
    version: 2,
  });
  expect(existsSync(at('root.2.json'))).toBe(false);
}

describe('gathering signatures', () => {
  it('lets a threshold above one hold from the root on that both have signed', async () => {
    const old = await verifyChain((await workspace.keyStore()).roots);
    await demandTwo();
    const [, second = new Uint8Array(0)] = (await workspace.keyStore()).roots;
    expect((await verifyNextRoot(second, old, READER_OPTIONS)).roles.root).toMatchObject({ threshold: 2 });
  });

  it('keeps the keys that a change made until all have signed it, and takes them into use then', async () => {
    await demandTwo();
    const before = (await workspace.keyStore()).signers.targets.keyid;
    const { missing, after } = await rotateRole(workspace.keyOptions, 'targets');
    expect(missing).toEqual({ before: 1, after: 1 });
    expect((await workspace.keyStore()).signers.targets.keyid).toBe(before);
    expect((await workspace.keyStore()).contents.pending).toHaveLength(1);
    await writeFile(at('root.2.json'), 'of before');
    expect((await listKeys(workspace.configurationFile, PASSPHRASE)).waiting).toEqual(['root.3.json']);
    await sign('root.3.json', 'ada.key');
    await finishDraft(workspace.keyOptions, [at('root.3.json')]);
    const now = await workspace.keyStore();
    expect(after.roles.targets.keyids).toEqual([now.signers.targets.keyid]);
    expect(now.contents.pending).toEqual([]);
    expect((await listKeys(workspace.configurationFile, PASSPHRASE)).waiting).toEqual([]);
    expect(await rotateRole(workspace.keyOptions, 'root')).toMatchObject({ outcome: 'draft' });
    await sign('root.4.json', 'ada.key');
    expect(await finishDraft(workspace.keyOptions, [at('root.4.json')])).toMatchObject({
      outcome: 'changed',
      version: 4,
    });
    expect(await renewRoot(workspace.keyOptions)).toMatchObject({ outcome: 'draft', missing: { before: 1, after: 1 } });
  });

  it('says how many are missing, keeps what was gathered, and joins copies', async () => {
    await demandTwo();
    await newSigner('bea.key');
    await addSigner(workspace.keyOptions, 'root', await readSigner(at('bea.key.pub')), 3);
    for (const name of ['for-ada', 'for-bea']) await copyFile(at('root.3.json'), at(name));
    await sign('for-ada', 'ada.key');
    await sign('for-bea', 'bea.key');
    await expect(finishDraft(workspace.keyOptions, [at('for-ada')])).rejects.toMatchObject({
      code: 'signatures-missing',
    });
    expect((await readDraft(at('root.3.json'))).signatures).toHaveLength(2);
    await expect(renewRoot(workspace.keyOptions)).rejects.toMatchObject({ code: 'draft-refused' });
    const done = await finishDraft(workspace.keyOptions, [at('root.3.json'), at('for-bea')]);
    expect(done).toMatchObject({ outcome: 'changed', version: 3 });
    await expect(finishDraft(workspace.keyOptions, [at('for-bea')])).rejects.toMatchObject({ code: 'draft-refused' });
    expect(await versions()).toBe(3);
  });

  it('shows a signer what changes, and signs only what its key may sign', async () => {
    await newSigner('ada.key');
    await newSigner('stranger.key');
    await addSigner(workspace.keyOptions, 'root', await readSigner(at('ada.key.pub')), 2);
    const draft = await readDraft(at('root.2.json'));
    expect(describeChanges(draft.before, draft.after)).toEqual([
      expect.stringMatching(/^root: the key [0-9a-f]{32} may sign from now on$/),
      'root: 2 of 2 keys have to sign (before: 1)',
      expect.stringMatching(/^good until /),
    ]);
    await expect(sign('root.2.json', 'stranger.key')).rejects.toMatchObject({ code: 'signatures-missing' });
  });

  it('attack 36: refuses a draft that says something else than what a signer is shown', async () => {
    await newSigner('ada.key');
    await addSigner(workspace.keyOptions, 'root', await readSigner(at('ada.key.pub')), 2);
    const draft = JSON.parse(await readFile(at('root.2.json'), 'utf8'));
    const [targets] = draft.signed.roles.targets.keyids;
    const [ada] = draft.signed.roles.root.keyids.slice(-1);
    const stolen = { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: 'ab'.repeat(32) } };
    for (const altered of [
      { keys: { ...draft.signed.keys, [targets]: stolen } }, // the key id stays, and the key is another
      { keys: { ...draft.signed.keys, [ada]: stolen } },
      { consistent_snapshot: false },
      { more: 'that is not shown' },
    ]) {
      await writeFile(at('altered.json'), JSON.stringify({ ...draft, signed: { ...draft.signed, ...altered } }));
      await expect(sign('altered.json', 'ada.key')).rejects.toMatchObject({ code: 'draft-refused' });
    }
    await sign('root.2.json', 'ada.key');
  });

  it('refuses drafts that were altered, or overtaken', async () => {
    await newSigner('ada.key');
    await addSigner(workspace.keyOptions, 'root', await readSigner(at('ada.key.pub')), 2);
    const text = await readFile(at('root.2.json'), 'utf8');
    for (const bad of [
      text.replace('"chain":["', '"chain":["AAAA'),
      text.replace('"version":2', '"version":3'),
      '{}',
      '[]',
      '',
    ]) {
      await writeFile(at('bad'), bad);
      await expect(readDraft(at('bad'))).rejects.toMatchObject({ code: 'draft-refused' });
    }
    // A draft with another threshold is another root, which is not signed.
    await writeFile(at('bad'), text.replace('"threshold":2', '"threshold":1'));
    expect((await readDraft(at('bad'))).signatures).toEqual([]);
    await copyFile(at('root.2.json'), at('late'));
    await rm(at('root.2.json'));
    await renewRoot(workspace.keyOptions);
    await sign('late', 'ada.key');
    await expect(finishDraft(workspace.keyOptions, [at('late')])).rejects.toMatchObject({ code: 'draft-refused' });
  });
});
