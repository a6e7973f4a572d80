/** A publication that more keys of `targets` have to sign than are on one machine: signatures are gathered by file. */
import { spawn } from 'node:child_process';
import { existsSync, watch } from 'node:fs';
import { copyFile, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keyIdOf } from '../../core/keys/key-id.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { addSigner } from '../../publisher/keys/change-roles.ts';
import {
  gatherIntoPublication,
  readWaitingFile,
  reviewForSigner,
  signPublicationFile,
} from '../../publisher/keys/gather-publication.ts';
import { openSigners } from '../../publisher/keys/open-signers.ts';
import { publicationChanges } from '../../publisher/keys/publication-changes.ts';
import { encodePublicationDraft, type PublicationDraft } from '../../publisher/keys/publication-draft.ts';
import { createSigner, readSigner } from '../../publisher/keys/signer-file.ts';
import { listFiles } from '../../publisher/list-files.ts';
import { runPythonTuf } from '../publication/peers/python-tuf.ts';
import { CHEAP } from '../support/cheap-keys.ts';
import { startContentHost } from '../support/content-host.ts';
import { ROOT } from '../support/programs.ts';
import { createWorkspace, PASSPHRASE, snapshot, type TestWorkspace } from '../support/workspace.ts';

const THEIRS = 'quite another passphrase';

vi.setConfig({ testTimeout: 300_000 }); // each protects several times

let workspace: TestWorkspace;
const at = (name: string) => join(workspace.directory, name);
const options = () => ({ configurationFile: workspace.configurationFile, passphrase: PASSPHRASE });

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a', 'b.html': 'b' }, { public: ['b.html'] });
  for (const name of ['ada', 'bea', 'stranger']) await createSigner(at(`${name}.key`), THEIRS, CHEAP);
});
afterEach(() => workspace.remove());

async function demand(threshold: number, ...names: string[]): Promise<void> {
  for (const [index, name] of names.entries()) {
    const last = index === names.length - 1;
    await addSigner(options(), 'targets', await readSigner(at(`${name}.key.pub`)), last ? threshold : undefined);
  }
}

async function readPublicationDraft(file: string): Promise<PublicationDraft> {
  const { kind, draft } = await readWaitingFile(file);
  if (kind !== 'publication') throw new Error('this is a root');
  return draft;
}

const leave = (version: number) => leaveAs(`publication.${version}.draft`);
async function leaveAs(name: string): Promise<string> {
  await expect(workspace.protect()).rejects.toMatchObject({ code: 'signatures-missing' });
  expect((await readdir(workspace.directory)).filter((file) => file.endsWith('.draft'))).toEqual([name]);
  return at(name);
}

async function sign(file: string, who: string) {
  const key = at(`${who}.key`);
  return signPublicationFile(file, await reviewForSigner(await readPublicationDraft(file), key), key, THEIRS);
}

/** A publication that both have signed, so that there is something to compare with. */
async function publishTogether(version: number): Promise<void> {
  await sign(await leave(version), 'ada');
  expect((await workspace.protect()).publication).toMatchObject({ version, isNew: true });
}

describe('a publication that waits for signatures', () => {
  it.each([
    ['ada', 'bea'],
    ['bea', 'ada'],
  ])('is signed by %s and then %s, and python-tuf reads it', async (first, second) => {
    await demand(3, 'ada', 'bea');
    const file = await leave(1);
    expect(existsSync(join(workspace.out, METADATA_PATH, 'timestamp.json'))).toBe(false);
    expect(await sign(file, first)).toMatchObject({ keyids: [expect.any(String)], missing: 1 });
    await leave(1);
    expect(await sign(file, second)).toMatchObject({ keyids: [expect.any(String)], missing: 0 });
    expect(await sign(file, second)).toMatchObject({ keyids: [], missing: 0 });
    expect((await workspace.protect()).publication).toMatchObject({ version: 1, isNew: true });
    expect(existsSync(file)).toBe(false);
    expect(await workspace.published()).toMatchObject({ version: 1 });
    expect(await readWithPython(['index.html.protected', 'b.html', 'none.html.protected'])).toEqual({
      refresh: null,
      targets: {
        'index.html.protected': expect.objectContaining({ head: expect.any(String) }),
        'b.html': { sha256: expect.any(String) },
        'none.html.protected': null,
      },
    });
    expect((await workspace.protect()).publication).toMatchObject({ version: 1, isNew: false });
  });

  it('joins copies that were signed at the same time, and knows those of another publication', async () => {
    await demand(3, 'ada', 'bea');
    const file = await leave(1);
    for (const who of ['ada', 'bea']) {
      await copyFile(file, at(who));
      await sign(at(who), who);
    }
    const copies = [await readPublicationDraft(at('ada')), await readPublicationDraft(at('bea'))] as const;
    const gather = () => gatherIntoPublication(workspace.configurationFile, copies);
    expect(await gather()).toEqual({ file, version: 1, missing: 0 });
    expect(await gather()).toEqual({ file, version: 1, missing: 0 });
    await workspace.protect();
    await expect(gather()).rejects.toMatchObject({ code: 'draft-stale' });
  });

  it('shows a signer what changes, whatever else was published before', async () => {
    await demand(2, 'ada');
    const first = await publicationChanges(await readPublicationDraft(await leave(1)));
    const [key = new Uint8Array(0)] = (await workspace.keyStore()).contents.sets.values();
    const set = await keyIdOf('set', key);
    expect(first).toMatchObject({
      added: [
        { path: '/a.html', set },
        { path: '/b.html', set: 'public' },
        { path: '/index.html', set },
      ],
      public: ['/b.html'],
      comparedWith: [],
      uncompared: ['documents-0', 'documents-1', 'documents-2', 'documents-3', 'documents', 'targets'],
      descriptor: {
        compared: false,
        members: expect.arrayContaining([expect.objectContaining({ member: 'keyServer' })]),
      },
      settings: {
        compared: false,
        members: expect.arrayContaining([expect.objectContaining({ member: 'cleanUrls' })]),
      },
    });
    await sign(at('publication.1.draft'), 'ada');
    await workspace.protect();
    await workspace.write('a.html', 'another');
    await rm(join(workspace.source, 'b.html'));
    for (let n = 0; n < 12; n++) await workspace.write(`more/${n}.html`, String(n)); // more bins
    const draft = await readPublicationDraft(await leave(2));
    const more = Array.from({ length: 12 }, (_, n) => `/more/${n}.html`).sort();
    expect(await publicationChanges(draft)).toEqual({
      added: more.map((path) => ({ path, set })),
      moved: [],
      changed: [{ path: '/a.html', set }],
      removed: [{ path: '/b.html', set: 'public' }],
      public: [],
      lists: 10,
      bins: { before: 4, after: 8 },
      comparedWith: ['targets', 'documents', ...[0, 1, 2, 3].map((bin) => `documents-${bin}`)].map((list) => {
        return { list, publication: 1 };
      }),
      uncompared: [],
      sections: { list: [], removed: [], reordered: false },
      descriptor: undefined,
      settings: undefined,
    });
    await expect(sign(at('publication.2.draft'), 'stranger')).rejects.toMatchObject({ code: 'signer-unknown' });
  });

  it('leaves what readers and browsers find as it was, however often it is asked for', async () => {
    await demand(2, 'ada');
    await publishTogether(1);
    const before = await snapshot(workspace.out);
    await workspace.write('a.html', 'another');
    await workspace.write('b.html', 'another that everybody reads');
    await leave(2);
    const draft = await readFile(at('publication.2.draft'));
    await leave(2);
    expect(await readFile(at('publication.2.draft'))).toEqual(draft);
    const now = await snapshot(workspace.out);
    for (const [name, content] of before) expect([name, now.get(name)]).toEqual([name, content]);
    expect(await workspace.published()).toMatchObject({ version: 1 });
  });

  it('is overtaken when the site changes, and by whoever brings the keys', async () => {
    await demand(2, 'ada');
    await publishTogether(1);
    await workspace.write('a.html', 'another');
    await copyFile(await leave(2), at('late'));
    await sign(at('late'), 'ada');
    await workspace.write('a.html', 'yet another');
    await leave(3);
    const late = await readPublicationDraft(at('late'));
    await expect(gatherIntoPublication(workspace.configurationFile, [late])).rejects.toMatchObject({
      code: 'draft-stale',
    });
    await copyFile(at('late'), at('publication.3.draft')); // an old one under the new name
    await leave(4);
    const signers = await openSigners([at('ada.key')], async () => THEIRS);
    expect((await workspace.protect({ signers })).publication).toMatchObject({ version: 5 });
    expect(existsSync(at('publication.4.draft'))).toBe(false);
    await copyFile(at('late'), at('publication.5.draft')); // older than what is published
    await workspace.write('a.html', 'last');
    await leave(6);
    expect(await workspace.published()).toMatchObject({ version: 5 });
  });

  it('attack 34: one signature counted twice does not publish', async () => {
    await demand(2, 'ada');
    const file = await leave(1);
    const draft = await readPublicationDraft(file);
    const [other = ''] = draft.root.roles.targets.keyids.filter((keyid) => {
      return draft.roles[0]?.signatures.every((signature) => signature.keyid !== keyid);
    });
    const twice = draft.roles.map((role) => {
      const [own = { keyid: '', sig: '' }] = role.signatures;
      return { ...role, signatures: [own, { ...own, keyid: other }, { ...own, keyid: 'ab'.repeat(32) }] };
    });
    await writeFile(file, encodePublicationDraft({ ...draft, roles: twice }));
    expect((await readPublicationDraft(file)).roles[0]?.signatures).toHaveLength(1);
    await leave(1);
    const again = twice.map((role) => ({
      ...role,
      signatures: role.signatures.slice(0, 1).flatMap((one) => [one, one]),
    }));
    await writeFile(file, encodePublicationDraft({ ...draft, roles: again }));
    await expect(readPublicationDraft(file)).rejects.toMatchObject({ code: 'draft-malformed' });
    await leave(2);
  });

  it('attack 36: is refused if it says something else than a signer is shown', async () => {
    await demand(2, 'ada');
    const file = await leave(1);
    const draft = JSON.parse(await readFile(file, 'utf8'));
    type Role = { name: string; file: string };
    const altered = (name: RegExp, alter: (text: string) => string) => ({
      ...draft,
      roles: draft.roles.map((role: Role) => {
        if (!name.test(role.name)) return role;
        const text = alter(Buffer.from(role.file, 'base64url').toString());
        return { ...role, file: Buffer.from(text).toString('base64url') };
      }),
    });
    const wrong = [
      altered(/^targets$/, (text) => text.replace('"spec_version"', '"more":"unseen","spec_version"')),
      altered(/^targets$/, (text) => text.replace(/"threshold":2/, '"threshold":1')), // whoever signs alone then
      altered(/^documents$/, (text) => text.replace(/"public":"[0-9a-f]{64}"/, `"public":"${'ab'.repeat(32)}"`)),
      altered(/^documents-/, (text) => text.replace('"custom":{', '"custom":{"more":"unseen",')),
      altered(/^documents-/, (text) => text.replace('a.html.protected', 'z.html.protected')), // not of this bin, or absent
      altered(/^documents-0/, (text) => text.replace(/"version":1/, '"version":9')),
      { ...draft, settings: Buffer.from('{}').toString('base64url') },
      { ...draft, descriptor: Buffer.from('{}').toString('base64url') },
      { ...draft, roles: [...draft.roles, draft.roles[0]] },
      { ...draft, roles: [] },
      { ...draft, before: [{ name: 'targets', file: draft.roles[0].file }] }, // nobody has signed it yet
      { ...draft, chain: [] },
      { ...draft, more: 'unseen' },
    ];
    for (const [index, one] of wrong.entries()) {
      await writeFile(at('altered'), JSON.stringify(one));
      const reading = readPublicationDraft(at('altered')).then(
        () => 'read',
        ({ code }) => code,
      );
      const same = JSON.stringify(one) === JSON.stringify(draft);
      expect([index, same, await reading]).toEqual([index, false, 'draft-malformed']);
    }
    await writeFile(file, JSON.stringify(wrong[0])); // nor is it taken up
    await leave(2);
  });

  it('takes up what was signed after a run that died before anybody was sent to it', async () => {
    await demand(2, 'ada');
    await publishTogether(1);
    await workspace.write('a.html', 'another');
    await sign(await leave(2), 'ada');
    const timestamp = join(workspace.out, METADATA_PATH, 'timestamp.json');
    const kept = ['publisher.index', 'publication.2.draft'];
    for (const name of kept) await cp(at(name), at(`${name}.kept`));
    await cp(timestamp, at('timestamp.kept'));
    await workspace.protect();
    for (const name of kept) await cp(at(`${name}.kept`), at(name));
    await cp(at('timestamp.kept'), timestamp);
    expect((await workspace.protect()).publication).toMatchObject({ version: 2, isNew: true });
    expect(await workspace.published()).toMatchObject({ version: 2 });
  });

  it('attack 66: is one publication or the other, and asks nobody twice, however often the run that takes it up is killed', async () => {
    await demand(2, 'ada');
    await publishTogether(1);
    await writeFile(at('passphrase'), PASSPHRASE, { mode: 0o600 });
    await workspace.write('a.html', 'another');
    await sign(await leave(2), 'ada');
    for (const written of [/2\.documents-/, /2\.documents-/, /2\.snapshot/, /2\.snapshot/, /timestamp/]) {
      await protectAndKill(written);
      expect([1, 2]).toContain((await workspace.published()).version);
    }
    expect((await workspace.protect()).publication.version).toBe(2);
    expect((await workspace.read('/a.html')).toString()).toBe('another');
  }, 300_000);
});

/** `kill -9` as soon as a file of metadata with such a name, or the file that becomes it, is seen. */
async function protectAndKill(written: RegExp): Promise<void> {
  const args = ['bin/wispr.js', 'protect', workspace.directory, '--passphrase-file', at('passphrase'), '-q'];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'ignore' });
  const gone = new Promise((resolve) => child.once('close', resolve));
  const watcher = watch(join(workspace.out, METADATA_PATH), (_event, name) => {
    if (written.test(name ?? '')) child.kill('SIGKILL');
  });
  await gone;
  watcher.close();
  expect(child.signalCode ?? child.exitCode).toBeOneOf(['SIGKILL', 0]); // where the machine is slow, it was done before
}

async function readWithPython(names: readonly string[]): Promise<unknown> {
  const host = await startContentHost();
  try {
    for (const entry of (await listFiles(workspace.out)).filter((one) => one.isFile())) {
      const file = join(entry.parentPath, entry.name);
      host.files.set(file.slice(workspace.out.length), await readFile(file));
    }
    const root = await readFile(join(workspace.out, METADATA_PATH, '1.root.json'), 'base64');
    const urls = { metadataUrl: `${host.origin}${METADATA_PATH}`, targetsUrl: `${host.origin}/` };
    return await runPythonTuf({ do: 'read', folder: workspace.directory, ...urls, root, names });
  } finally {
    await host.close();
  }
}
