/**
 * Somebody who has `publisher.keys` sends a second signer a publication, and would like the signer to be shown less than is signed: a draft made
 * by hand, as that somebody could make it.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keyIdOf } from '../../core/keys/key-id.ts';
import { binFor, pathHashOf } from '../../core/publication/bins.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { SETTINGS_TARGET, targetFile } from '../../core/publication/names.ts';
import { encodeSettings } from '../../core/publication/settings.ts';
import { binMetadata, documentsMetadata, type SectionKeys } from '../../core/publication/writer.ts';
import { addSigner } from '../../publisher/keys/change-roles.ts';
import { publicationChanges } from '../../publisher/keys/publication-changes.ts';
import type { DraftParts, PublicationDraft } from '../../publisher/keys/publication-draft.ts';
import { rolesOf, verifyChain } from '../../publisher/keys/roots.ts';
import { readSigner } from '../../publisher/keys/signer-file.ts';
import { BEHIND, contentOf, later, otherwise, REFUSED, Signers, targetsOf, toSign } from '../support/signers.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 240_000 }); // each protects several times

let workspace: TestWorkspace;
let signers: Signers;

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a', 'b.html': 'b' }, { public: ['b.html'] });
  signers = await Signers.in(workspace, ['ada', 'bea']);
});
afterEach(() => workspace.remove());

/** The role `targets` of a draft, with these sections. */
async function withSections(draft: PublicationDraft, sections: readonly SectionKeys[]): Promise<PublicationDraft> {
  const content = await targetsOf(draft, draft.settings, sections);
  return signers.forge(draft, { roles: otherwise(draft, { targets: () => content }) });
}

async function section(name: string, ...paths: string[]): Promise<SectionKeys> {
  return { name, paths, publicKeys: [(await signers.own()).publicKey], threshold: 1 };
}

describe('sections', () => {
  it('are all shown, in their order: two of one name, foreign names and too many are refused', async () => {
    await signers.add('ada', 2);
    const draft = await signers.leave();
    const [all, sports] = [await section('all', '*', '*/*'), await section('sports', 'sports/*')];
    const shown = async (sections: SectionKeys[]) =>
      (await publicationChanges(await withSections(draft, sections))).sections.list.map(({ name, paths }) => [
        name,
        paths,
      ]);
    expect(await shown([all, sports])).toEqual([
      ['all', ['*', '*/*']],
      ['sports', ['sports/*']],
    ]);
    expect(await shown([sports, all])).toEqual([
      ['sports', ['sports/*']],
      ['all', ['*', '*/*']],
    ]);
    await expect(withSections(draft, [all, { ...sports, name: 'all' }])).rejects.toMatchObject(REFUSED);
    for (const name of ['documents-0', 'Sports', 'sports ', 'targets', '\u202e'])
      await expect(withSections(draft, [{ ...all, name }])).rejects.toMatchObject(REFUSED);
    const many = (count: number) => Array.from({ length: count }, (_, n) => ({ ...sports, name: `sports-${n}` }));
    expect(await shown(many(16))).toHaveLength(16);
    await expect(withSections(draft, many(17))).rejects.toMatchObject(REFUSED);
  });

  it('are listed in full where they stay, with what becomes of them', async () => {
    await signers.add('ada', 2);
    const first = await withSections(await signers.leave(), [
      await section('all', '*'),
      await section('sports', 'sports/*'),
      await section('gone', 'gone/*'),
    ]);
    const before = new Map([
      ['targets', await signers.signedBy('ada', contentOf(first.roles.at(-1)?.message ?? new Uint8Array()))],
    ]);
    const next = await signers.forge(first, { before, roles: otherwise(first, later(first, 2)) });
    const second = await withSections(next, [
      await section('sports', 'sports/*', 'more/*'),
      await section('all', '*'),
      await section('new', 'new/*'),
    ]);
    const { sections, comparedWith } = await publicationChanges(second);
    expect(sections.list.map(({ name, is }) => [name, is])).toEqual([
      ['sports', 'changed'],
      ['all', 'as before'],
      ['new', 'new'],
    ]);
    expect(sections).toMatchObject({ removed: ['gone'], reordered: true });
    expect(comparedWith).toEqual([{ list: 'targets', publication: 1 }]);
  });
});

describe('roots', () => {
  it('attack 36: a chain that ends where one signature is enough asks nobody for another', async () => {
    await signers.add('ada'); // root 2: one of two
    await signers.add('bea', 2); // root 3: two of three
    const draft = await signers.leave();
    expect(draft.root.roles.targets.threshold).toBe(2);
    const chain = draft.chain.slice(0, 2);
    await expect(underRootOf(draft, chain)).rejects.toMatchObject(REFUSED);
  });

  it('attack 36: a chain that is shorter than one that was seen is refused; without a memory its version is shown', async () => {
    await signers.add('ada', 2); // root 2: two of two
    await signers.add('bea', 3); // root 3: three of three
    const draft = await signers.leave();
    const forged = await underRootOf(draft, draft.chain.slice(0, 2));
    expect(forged.root).toMatchObject({ version: 2, roles: { targets: { threshold: 2 } } });
    expect((await signers.review(forged, 'ada')).review.signed).toBeUndefined();
    await signers.sign('publication.1.draft', 'ada');
    expect((await signers.review(draft, 'ada')).review.after.root.version).toBe(3);
    await workspace.write('a.html', 'v2');
    const next = await signers.leave();
    expect((await signers.review(next, 'ada')).review.after.signed?.version).toBe(2);
    const again = await underRootOf(next, next.chain.slice(0, 2));
    await expect(signers.review(again, 'ada')).rejects.toMatchObject(BEHIND);
  });

  it('attack 36: what documents and bins stand under has to be what the root says', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    await signers.add('bea'); // two of three now; what was signed before is still signed by two of them
    const draft = await signers.leave();
    expect(draft.earlier.get('documents')?.bins?.keyids).toHaveLength(2);
    const keeping = (...names: string[]) => draft.roles.filter(({ name }) => !names.includes(name));
    const bins = draft.roles.filter(({ name }) => name.startsWith('documents-'));
    expect((await signers.forge(draft, {})).root.version).toBe(3);
    await expect(signers.forge(draft, { roles: keeping('targets') })).rejects.toMatchObject(REFUSED);
    await expect(signers.forge(draft, { roles: keeping('documents') })).rejects.toMatchObject(REFUSED);
    await expect(signers.forge(draft, { roles: bins })).rejects.toMatchObject(REFUSED);
  });

  it('attack 36: a key that signs for one publisher signs for no other', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    const other = await createWorkspace({ 'index.html': 'other' });
    try {
      const theirs = await Signers.in(other, []);
      const options = { configurationFile: other.configurationFile, passphrase: PASSPHRASE };
      await addSigner(options, 'targets', await readSigner(`${signers.key('ada')}.pub`), 2);
      const draft = await theirs.leave();
      await expect(signers.review(draft, 'ada')).rejects.toMatchObject({ code: 'signer-bound' });
      expect((await signers.review(draft, 'bea')).review.signed).toBeUndefined();
    } finally {
      await other.remove();
    }
  });

  /** The same under another root: its keys and its threshold in `targets` and `documents`. */
  async function underRootOf(draft: PublicationDraft, chain: readonly Uint8Array[]): Promise<PublicationDraft> {
    const root = verifyChain(chain);
    const { version, expires } = draft;
    const bits = draft.roles.find(({ name }) => name === 'documents')?.after.bins?.bits ?? 0;
    const documents = await documentsMetadata({ version, expires }, bits, rolesOf(root).targets);
    const targets = await targetsOf({ ...draft, root }, draft.settings);
    const roles = otherwise(draft, { documents: () => documents, targets: () => targets });
    return signers.forge(draft, { chain, roles });
  }
});

describe('what it is compared with', () => {
  it('attack 36: is shown, and refused where it goes behind what was seen as published', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    await workspace.write('a.html', 'v2');
    await signers.publish('ada');
    await workspace.write('a.html', 'v3');
    const draft = await signers.leave();
    const [bin = ''] = draft.roles.map(({ name }) => name);
    expect(draft.roles.map(({ name }) => name)).toEqual([bin]);
    const honest = await signers.review(draft, 'ada');
    expect(honest.review).toMatchObject({ signed: 2, overtaken: [] });
    expect((await publicationChanges(draft)).comparedWith).toContainEqual({ list: bin, publication: 2 });

    const old = new Map([...draft.before, [bin, await signers.base(bin, 1)]]);
    const forged = await signers.forge(draft, { before: old });
    expect((await publicationChanges(forged)).comparedWith[0]).toMatchObject({ publication: 1 });
    // Publication 2 was signed, and nothing says that it was published: so the signer is told.
    expect((await signers.review(forged, 'ada')).review.overtaken).toEqual([{ list: bin, known: 2, comparedWith: 1 }]);
    const none = await signers.forge(draft, { before: new Map([...draft.before].filter(([name]) => name !== bin)) });
    expect((await signers.review(none, 'ada')).review.overtaken).toEqual([
      { list: bin, known: 2, comparedWith: undefined },
    ]);
    expect((await publicationChanges(none)).uncompared).toEqual([bin]);

    await signers.sign('publication.3.draft', 'ada'); // now it has been seen as published
    await workspace.protect();
    await workspace.write('a.html', 'v4');
    const next = await signers.leave();
    for (const version of [1, 2]) {
      const before = new Map([...next.before, [bin, await signers.base(bin, version)]]);
      const again = await signers.forge(next, { before });
      if (version === 1) await expect(signers.review(again, 'ada')).rejects.toMatchObject(BEHIND);
      else expect((await signers.review(again, 'ada')).review.overtaken).toHaveLength(1);
    }
  });

  it('attack 36: cannot be targets of before a change of the settings, once that was published', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    const settings = await publishedSettings(1);
    await configure({ redirects: [{ from: '/old', to: '/a.html' }] });
    await signers.publish('ada');
    await workspace.write('a.html', 'v3');
    const draft = await signers.leave();
    expect(draft.earlier.get('targets')?.version).toBe(2);
    const targets = await targetsOf(draft, settings);
    const before = new Map([...draft.before, ['targets', await signers.base('targets', 1)]]);
    const forged = await signers.forge(draft, {
      settings,
      before,
      roles: [...draft.roles, toSign('targets', targets)],
    });
    const changes = await publicationChanges(forged);
    expect(changes.settings).toBeUndefined(); // as they were in publication 1
    expect(changes.comparedWith).toContainEqual({ list: 'targets', publication: 1 });
    expect((await signers.review(forged, 'ada')).review.overtaken).toEqual([
      { list: 'targets', known: 2, comparedWith: 1 },
    ]);
    await signers.sign('publication.3.draft', 'ada');
    await expect(signers.review(forged, 'ada')).rejects.toMatchObject(BEHIND);
  });

  it('attack 36: is the list of that bin, and of no other', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    await workspace.write('a.html', 'v2');
    const draft = await signers.leave();
    const [bin = ''] = draft.roles.map(({ name }) => name);
    const others = [0, 1, 2, 3].map((number) => `documents-${number}`).filter((name) => name !== bin);
    for (const other of others) {
      const bytes = await signers.base(other, 1);
      const misnamed = signers.forge(draft, { before: new Map([...draft.before, [bin, bytes]]) });
      const paths = Object.keys(((contentOf(bytes).signed as TufObject).targets ?? {}) as TufObject);
      if (paths.length > 0) await expect(misnamed).rejects.toMatchObject(REFUSED);
      const beside = signers.forge(draft, { before: new Map([...draft.before, [other, bytes]]) });
      await expect(beside).rejects.toMatchObject(REFUSED);
    }
    // What both have signed for some other purpose, with the paths of what is new here.
    const added = await workspace.write('new.html', 'new').then(() => signers.leave());
    const path = 'new.html.protected';
    const place = binFor(await pathHashOf(path), { bits: 2, namePrefix: 'documents', keyids: [], threshold: 2 });
    const list = added.roles.find(({ name }) => name === place);
    const entry = ((contentOf(list?.message ?? new Uint8Array()).targets ?? {}) as TufObject)[path] as TufObject;
    const [elsewhere = ''] = [0, 1, 2, 3].map((number) => `documents-${number}`).filter((name) => name !== place);
    const polluted = await signers.signedBy(
      'ada',
      binMetadata({ version: 1, expires: added.expires }, [[path, entry]]),
    );
    expect((await publicationChanges(added)).added.map((one) => one.path)).toEqual(['/new.html']);
    for (const name of [elsewhere, 'sports', `${place}0`])
      await expect(
        signers.forge(added, { before: new Map([...added.before, [name, polluted]]) }),
      ).rejects.toMatchObject(REFUSED);
  });
});

describe('a list under the name of another', () => {
  it('attack 36: is refused where what was seen or signed here says so', async () => {
    await signers.add('ada', 2);
    const { expires } = await signers.leave();
    await signers.publish('ada');
    const home = async (path: string) =>
      binFor(await pathHashOf(`${path}.protected`), { bits: 2, namePrefix: 'documents', keyids: [], threshold: 2 });
    const bin = await home('a.html');
    await rm(join(workspace.source, 'a.html'));
    const draft = await signers.leave();
    const empty = async (version: number) => signers.signedBy('ada', binMetadata({ version, expires }, []));
    const comparedWith = async (version: number, of = draft) =>
      signers.forge(of, { before: new Map([...of.before, [bin, await empty(version)]]) });
    expect((await publicationChanges(draft)).removed.map(({ path }) => path)).toEqual(['/a.html']);
    const first = await comparedWith(1);
    expect((await publicationChanges(first)).removed).toEqual([]); // so nothing would be shown
    await expect(signers.review(first, 'ada')).rejects.toMatchObject(BEHIND); // as it was signed here
    await workspace.write('a.html', 'a');
    const last = await signers.publish('ada');
    await workspace.write('index.html', 'another');
    expect(await home('index.html')).not.toBe(bin);
    const version = await signers.publish('ada'); // without that list
    await rm(join(workspace.source, 'a.html'));
    const next = await signers.leave();
    expect(next.earlier.get(bin)?.version).toBe(last);
    await expect(signers.review(await comparedWith(version, next), 'ada')).rejects.toMatchObject(BEHIND);
    await expect(signers.review(await comparedWith(last, next), 'ada')).rejects.toMatchObject(BEHIND);
    expect((await signers.review(next, 'ada')).review.overtaken).toEqual([]);
  });
});

describe('bins', () => {
  it('attack 36: do not become fewer, and are all there where their number is signed', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    for (let n = 0; n < 12; n++) await workspace.write(`more/${n}.html`, String(n));
    await signers.publish('ada');
    await workspace.write('a.html', 'changed');
    const draft = await signers.leave();
    expect(draft.earlier.get('documents')?.bins?.bits).toBe(3);
    const { version, expires, root } = draft;
    const about = { version, expires };
    const documents = (bits: number) => documentsMetadata(about, bits, rolesOf(root).targets);
    const empty = (count: number) =>
      Array.from({ length: count }, (_, n) => toSign(`documents-${n}`, binMetadata(about, [])));
    const only = async (bits: number, bins: number) => [...empty(bins), toSign('documents', await documents(bits))];
    const own = new Map([...draft.before].filter(([name]) => !name.startsWith('documents-')));
    await expect(signers.forge(draft, { roles: await only(2, 4), before: own })).rejects.toMatchObject(REFUSED);
    await expect(signers.forge(draft, { roles: await only(3, 7), before: own })).rejects.toMatchObject(REFUSED);
    const whole = await signers.forge(draft, { roles: await only(3, 8), before: own });
    expect((await publicationChanges(whole)).uncompared).toHaveLength(8);
    // Compared with the fewer bins of before: the machine has seen more of them.
    const before = new Map([...own, ['documents', await signers.base('documents', 1)]]);
    const fewer = await signers.forge(draft, { roles: await only(2, 4), before });
    expect((await signers.review(fewer, 'bea')).review.signed).toBeUndefined();
    await expect(signers.review(fewer, 'ada')).rejects.toMatchObject(BEHIND); // targets is of publication 2, so that was published
    // Compared with none: what was seen counts.
    before.delete('documents');
    const none = await signers.forge(draft, { roles: await only(2, 4), before });
    expect((await signers.review(none, 'ada')).review.overtaken).toContainEqual({ list: 'documents', known: 2 });
    await signers.sign(`publication.${version}.draft`, 'ada');
    await workspace.protect();
    await workspace.write('a.html', 'changed again');
    const next = await signers.leave();
    const again = (roles: DraftParts['roles']) =>
      roles.map(({ name, message }) => toSign(name, { ...contentOf(message), version: next.version }));
    const forge = async (bits: number) =>
      signers.forge(next, { roles: again(await only(bits, 2 ** bits)), before: new Map([['targets', targets]]) });
    const targets = next.before.get('targets') ?? new Uint8Array(0);
    await expect(signers.review(await forge(2), 'ada')).rejects.toMatchObject(BEHIND);
    expect((await signers.review(await forge(3), 'ada')).review.overtaken).not.toEqual([]);
  });
});

describe('documents', () => {
  it('are shown with their sets, before and after', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    const page = (set: string) => `<!doctype html><head><meta name="wispr-set" content="${set}"></head>a`;
    await workspace.write('a.html', page('board'));
    await workspace.write('index.html', page('public'));
    const changes = await publicationChanges(await signers.leave());
    const [one, board] = [...(await workspace.keyStore()).contents.sets.keys()];
    expect([one, board]).toEqual([expect.any(String), 'board']);
    const [before, after] = await Promise.all(
      [...(await workspace.keyStore()).contents.sets.values()].map((key) => keyIdOf('set', key)),
    );
    expect(changes).toMatchObject({ added: [], changed: [], removed: [], public: ['/index.html'] });
    expect(changes.moved).toEqual([
      { path: '/a.html', before, set: after },
      { path: '/index.html', before, set: 'public' },
    ]);
  });

  it('have the settings that readers take', async () => {
    await signers.add('ada', 2);
    const draft = await signers.leave();
    const withSettings = async (settings: Uint8Array) => {
      const content = await targetsOf(draft, settings);
      return signers.forge(draft, { settings, roles: otherwise(draft, { targets: () => content }) });
    };
    const good = encodeSettings({ cleanUrls: true, grace: 60, redirects: [] });
    expect((await publicationChanges(await withSettings(good))).settings).toMatchObject({
      members: expect.arrayContaining([{ member: 'grace', before: undefined, now: '60' }]),
    });
    for (const wrong of ['{}', Buffer.from(good).toString().replace('60', '99999999999'), `${Buffer.from(good)} `])
      await expect(withSettings(Buffer.from(wrong))).rejects.toMatchObject(REFUSED);
  });

  it('attack 36: name no other content for programs that know TUF alone', async () => {
    await signers.add('ada', 2);
    const draft = await signers.leave();
    const name = draft.roles.find(({ message }) => 'b.html' in (contentOf(message).targets as TufObject))?.name ?? '';
    const altered = (content: TufObject): TufObject => {
      const targets = content.targets as TufObject;
      return { ...content, targets: { ...targets, 'b.html': { hashes: { sha256: 'ab'.repeat(32) }, length: 3 } } };
    };
    await expect(signers.forge(draft, { roles: otherwise(draft, { [name]: altered }) })).rejects.toMatchObject(REFUSED);
  });
});

/** Changes wispr.json. */
async function configure(more: object): Promise<void> {
  const text = await readFile(workspace.configurationFile, 'utf8');
  await writeFile(workspace.configurationFile, JSON.stringify({ ...parse(text), ...more }));
}

/** The settings of a publication. */
async function publishedSettings(version: number): Promise<Uint8Array> {
  const targets = JSON.parse(await readFile(signers.metadata(`${version}.targets.json`), 'utf8')).signed.targets;
  return readFile(join(workspace.out, targetFile(SETTINGS_TARGET, targets[SETTINGS_TARGET].hashes.sha256)));
}
