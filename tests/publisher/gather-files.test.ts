/** Copies and key files that are not those they are taken for. */
import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { addSigner } from '../../publisher/keys/change-roles.ts';
import { exportTimestampKey } from '../../publisher/keys/export-key.ts';
import { gatherIntoPublication, signPublicationFile } from '../../publisher/keys/gather-publication.ts';
import { encodePublicationDraft, parsePublicationDraft } from '../../publisher/keys/publication-draft.ts';
import { readSigner } from '../../publisher/keys/signer-file.ts';
import { otherwise, Signers, THEIRS } from '../support/signers.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 240_000 }); // each protects several times

let workspace: TestWorkspace;
let signers: Signers;

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a' });
  signers = await Signers.in(workspace, ['ada', 'bea']);
});
afterEach(() => workspace.remove());

it('attack 36: signatures of another publication of the same number are not joined to the one that waits', async () => {
  await signers.add('ada', 2);
  const draft = await signers.leave();
  const [first] = draft.roles;
  const end = (content: TufObject) => ({ ...content, expires: '2027-01-01T00:00:00Z' });
  const others = Object.fromEntries(draft.roles.map(({ name }) => [name, end]));
  const copy = await parsePublicationDraft(encodePublicationDraft({ ...draft, roles: otherwise(draft, others) }));
  expect([copy.version, copy.roles.length, first?.name]).toEqual([
    draft.version,
    draft.roles.length,
    copy.roles[0]?.name,
  ]);
  const gather = (one: typeof draft) => gatherIntoPublication(workspace.configurationFile, [one]);
  expect(await gather(draft)).toMatchObject({ version: draft.version });
  await expect(gather(copy)).rejects.toMatchObject({ code: 'draft-stale' });
});

it('attack 36: a key file that is kept for one publisher signs for no other who has its key among theirs', async () => {
  const other = await createWorkspace();
  const [theirs, own] = [signers.at('theirs.key'), signers.at('own.key')];
  await exportTimestampKey(other.configurationFile, PASSPHRASE, theirs, THEIRS);
  await exportTimestampKey(workspace.configurationFile, PASSPHRASE, own, THEIRS);
  const options = { configurationFile: workspace.configurationFile, passphrase: PASSPHRASE };
  for (const each of [other, workspace]) {
    const { publicKey } = (await each.keyStore()).signers.timestamp;
    await writeFile(signers.at('some.pub'), toBase64url(publicKey));
    await addSigner(options, 'targets', await readSigner(signers.at('some.pub')), 2);
  }
  const { version } = await signers.leave();
  const file = `publication.${version}.draft`;
  const signWith = async (key: string) => {
    const shown = {
      draft: await signers.read(file),
      review: (await signers.review(await signers.read(file), 'bea')).review,
    };
    return signPublicationFile(signers.at(file), shown, key, THEIRS);
  };
  await expect(signWith(theirs)).rejects.toMatchObject({ code: 'signer-unknown' });
  expect(await signWith(own)).toMatchObject({ missing: 0 });
  await other.remove();
});
