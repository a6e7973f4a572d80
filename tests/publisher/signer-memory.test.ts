/** What a signer's machine remembers beside the key, and how it reads and changes what somebody sent. */
import { execFileSync } from 'node:child_process';
import { copyFile, open, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { addSigner, renewRoot } from '../../publisher/keys/change-roles.ts';
import { readWaitingFile, signPublicationFile } from '../../publisher/keys/gather-publication.ts';
import { finishDraft, readDraft, reviewRoot, signDraftFile } from '../../publisher/keys/gather-signatures.ts';
import { encodePublicationDraft } from '../../publisher/keys/publication-draft.ts';
import { MAXIMUM_DRAFT_FILE, readDraftIfThere } from '../../publisher/keys/read-draft.ts';
import { readSigner } from '../../publisher/keys/signer-file.ts';
import { isIn, type Run, readMemory, withMemory, withNumber } from '../../publisher/keys/signer-memory.ts';
import { withLock, workspaceOf } from '../../publisher/workspace.ts';
import { Signers, THEIRS } from '../support/signers.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 240_000 });

let workspace: TestWorkspace;
let signers: Signers;
const options = () => ({ configurationFile: workspace.configurationFile, passphrase: PASSPHRASE });

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a' });
  signers = await Signers.in(workspace, ['ada', 'bea']);
});
afterEach(() => workspace.remove());

describe('what is remembered', () => {
  it('is for its owner alone, follows the key through links, and is not begun anew where it is damaged', async () => {
    await signers.add('ada', 2);
    const draft = await signers.leave();
    await symlink(signers.key('ada'), signers.key('linked'));
    await signers.sign('publication.1.draft', 'linked');
    expect(await readMemory(signers.key('ada'))).toMatchObject({
      publisher: draft.rootId,
      root: { version: 2 },
      signed: { version: 1 },
    });
    const file = `${signers.key('ada')}.seen`;
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const bytes = await readFile(file, 'utf8');
    const damaged = [
      '',
      '{}',
      bytes.slice(0, -3),
      bytes.replace('memory 1', 'memory 2'),
      bytes.replace(/"bits":\d+/, '"bits":-1'),
      bytes.replace(/"publisher":"../, '"publisher":"'),
      bytes.replace('"lists":[{"name"', '"lists":[{"more"'),
      bytes.replace(/"digest":"../, '"digest":"'),
      bytes.replace('"publications":[[1,1]],', ''),
      ...[
        '[1]',
        '[2,1]',
        '[0,1]',
        '[1,2],[2,3]',
        Array.from({ length: 1025 }, (_, n) => `[${2 * n + 1},${2 * n + 1}]`),
      ].map((runs) => bytes.replace('"publications":[[1,1]]', `"publications":[${runs}]`)),
    ];
    for (const text of damaged) {
      expect(text).not.toBe(bytes);
      await writeFile(file, text);
      await expect(signers.review(draft, 'ada')).rejects.toMatchObject({ code: 'key-store-damaged' });
    }
    await rm(file);
    expect((await signers.review(draft, 'ada')).review.signed).toBeUndefined();
  });

  it('lets the same be signed again, and no other of that number, nor an earlier one', async () => {
    await signers.add('ada', 2);
    const first = await signers.leave();
    await copyFile(signers.at('publication.1.draft'), signers.at('first'));
    await workspace.write('a.html', 'b');
    await signers.leave();
    await signers.sign('publication.2.draft', 'ada');
    expect(await signers.sign('publication.2.draft', 'ada')).toMatchObject({ keyids: [] });
    await expect(signers.sign('first', 'ada')).rejects.toMatchObject({ code: 'draft-rolled-back' });
    const memory = await readMemory(signers.key('ada'));
    const digest = 'ab'.repeat(32);
    const second = await signers.read('publication.2.draft');
    await withMemory(signers.key('ada'), async (_, remember) => {
      if (memory) await remember({ ...memory, signed: { version: 2, digest } });
    });
    await expect(signers.review(second, 'ada')).rejects.toMatchObject({ code: 'draft-rolled-back' });
    expect(first.version).toBe(1);
  });

  it('is of roots as well, whoever asks for a signature', async () => {
    await addSigner(options(), 'root', await readSigner(`${signers.key('ada')}.pub`), 2);
    const sign = async (name: string) =>
      signDraftFile(signers.at(name), await readDraft(signers.at(name)), signers.key('ada'), THEIRS);
    expect(await sign('root.2.json')).toMatchObject({ keyids: [expect.any(String)] });
    const second = await readDraft(signers.at('root.2.json'));
    expect(await readMemory(signers.key('ada'))).toMatchObject({ root: { version: 1 }, signed: undefined });
    await finishDraft(options(), [signers.at('root.2.json')]);
    await renewRoot(options());
    await sign('root.3.json');
    expect(await readMemory(signers.key('ada'))).toMatchObject({ root: { version: 2 } });
    await expect(reviewRoot(second, signers.key('ada'))).rejects.toMatchObject({ code: 'draft-rolled-back' });
  });
});

describe('runs of numbers', () => {
  it('are joined, bounded, and never forget', () => {
    const with_ = (...numbers: number[]) => numbers.reduce<readonly Run[]>(withNumber, []);
    expect(with_(1, 2, 2, 3, 5, 6, 9)).toEqual([
      [1, 3],
      [5, 6],
      [9, 9],
    ]);
    const odd = Array.from({ length: 3000 }, (_, n) => 2 * n + 1);
    const runs = with_(...odd);
    expect(runs).toHaveLength(1024);
    expect(odd.every((number) => isIn(runs, number))).toBe(true);
    expect([isIn(runs, 5998), isIn(runs, 6000), isIn(runs, 0)]).toEqual([false, false, false]);
  });
});

describe('signing', () => {
  it('keeps others away from memory and workspace', async () => {
    await signers.add('ada', 2);
    await signers.leave();
    const busy = { code: 'workspace-busy' };
    await withMemory(signers.key('ada'), async () => {
      await expect(signers.sign('publication.1.draft', 'ada')).rejects.toMatchObject(busy);
    });
    await withLock(workspaceOf(workspace.configurationFile), async () => {
      await expect(signers.sign('publication.1.draft', 'ada')).rejects.toMatchObject(busy);
    });
    expect(await signers.sign('publication.1.draft', 'ada')).toMatchObject({ missing: 0 });
  });

  it('signs what was shown, with the signatures that came meanwhile, or nothing', async () => {
    await signers.add('ada');
    await signers.add('bea', 3);
    const draft = await signers.leave();
    const file = signers.at('publication.1.draft');
    const shown = await signers.review(draft, 'ada');
    await signers.sign('publication.1.draft', 'bea');
    expect(await signPublicationFile(file, shown, signers.key('ada'), THEIRS)).toMatchObject({ missing: 0 });

    await workspace.write('a.html', 'b');
    await signers.leave();
    const later = await signers.review(await signers.read('publication.2.draft'), 'ada');
    await workspace.write('a.html', 'c');
    await signers.leave();
    await copyFile(signers.at('publication.3.draft'), file);
    const bytes = await readFile(file);
    const wrong = signPublicationFile(file, later, signers.key('ada'), THEIRS);
    await expect(wrong).rejects.toMatchObject({ code: 'draft-stale' });
    expect(await readFile(file)).toEqual(bytes);
    // Another publication was signed while somebody looked: what is known has changed.
    const third = await signers.review(await signers.read('publication.3.draft'), 'ada');
    await writeFile(signers.at('second'), encodePublicationDraft(later.draft));
    await signPublicationFile(signers.at('second'), later, signers.key('ada'), THEIRS);
    const behind = signPublicationFile(file, third, signers.key('ada'), THEIRS);
    await expect(behind).rejects.toMatchObject({ code: 'draft-stale' });
  });
});

describe('a file that somebody sent', () => {
  it('is read to a bound, and is a file', async () => {
    const refused = { code: 'draft-malformed' };
    const long = await open(signers.at('long'), 'w');
    await long.truncate(MAXIMUM_DRAFT_FILE + 1);
    await long.close();
    execFileSync('mkfifo', [signers.at('pipe')]);
    for (const name of ['long', 'pipe', '.', 'none', 'wispr.json']) {
      await expect(readWaitingFile(signers.at(name))).rejects.toMatchObject(refused);
      await expect(readDraft(signers.at(name))).rejects.toMatchObject(refused);
    }
    // Before anything of them is read, not only because nobody can parse them.
    for (const name of ['long', 'pipe', '.'])
      await expect(readDraftIfThere(signers.at(name))).rejects.toMatchObject(refused);
    expect(await readDraftIfThere(signers.at('none'))).toBeUndefined();
  }, 20_000);
});
