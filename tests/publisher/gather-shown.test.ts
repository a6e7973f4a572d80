/**
 * What a signer is shown is what is signed: somebody who has `publisher.keys` tries to have something signed under lines that say less. The draft
 * is made by hand, as that somebody could make it.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { describeChanges } from '../../cli/publication-changes.ts';
import { binNames } from '../../core/publication/bins.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import { DESCRIPTOR_TARGET, SETTINGS_TARGET } from '../../core/publication/names.ts';
import { encodeSettings } from '../../core/publication/settings.ts';
import type { SectionKeys } from '../../core/publication/writer.ts';
import { readConfiguration } from '../../publisher/configuration/read.ts';
import { makeDescriptor } from '../../publisher/keys/hand-over.ts';
import { descriptorChanges } from '../../publisher/keys/own-file-changes.ts';
import { publicationChanges } from '../../publisher/keys/publication-changes.ts';
import type { DraftParts, PublicationDraft } from '../../publisher/keys/publication-draft.ts';
import { sectionPathsOf, targetPatterns } from '../../publisher/site/sections.ts';
import { BEHIND, binOf, contentOf, later, otherwise, REFUSED, Signers, targetsOf, toSign } from '../support/signers.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 240_000 }); // each protects several times

let workspace: TestWorkspace;
let signers: Signers;

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a', 'b.html': 'b' }, { public: ['b.html'] });
  signers = await Signers.in(workspace, ['ada', 'bea']);
});
afterEach(() => workspace.remove());

describe('sections', () => {
  it('attack 36: are of the patterns that are made of the paths that are shown', async () => {
    await signers.add('ada', 2);
    const draft = await signers.leave();
    const full = targetPatterns({ name: 'sports', paths: ['sports/**'] });
    const withPaths = async (paths: readonly string[], of = draft) => {
      const section: SectionKeys = {
        name: 'sports',
        paths,
        publicKeys: [(await signers.own()).publicKey],
        threshold: 1,
      };
      const content = await targetsOf(of, of.settings, [section]);
      return signers.forge(of, { roles: otherwise(of, { targets: () => content }) });
    };
    const first = await withPaths(full);
    expect((await publicationChanges(first)).sections.list).toMatchObject([{ paths: ['sports/**'], is: 'new' }]);
    const many = Array.from({ length: 129 }, (_, n) => `s${n}/*`);
    const wrong = [
      ['sports/**'],
      full.slice(0, -1).concat('sports/**'),
      ['sports/a.html'],
      ['sports/*', 'sports/*'],
      ['*'.repeat(2)],
      [`${'s'.repeat(300)}/*`],
      ['sports/../*'],
      [''],
      [],
      many,
    ];
    for (const paths of wrong) await expect(withPaths(paths)).rejects.toMatchObject(REFUSED);
    expect((await withPaths(many.slice(1))).version).toBe(1);

    const before = new Map([['targets', await signers.signedBy('ada', targetsIn(first))]]);
    const next = await signers.forge(first, { before, roles: otherwise(first, later(first, 2)) });
    const fewer = await publicationChanges(await withPaths(full.slice(0, -1), next));
    expect(fewer.sections.list).toMatchObject([{ is: 'changed' }]);
    expect((await publicationChanges(await withPaths(full, next))).sections.list).toMatchObject([{ is: 'as before' }]);
  });
});

describe('section paths', () => {
  it('come back from the patterns that are made of them', () => {
    const same = [
      ['a/**'],
      ['a/b.html'],
      ['*'],
      ['a/*', 'b/**', 'c.html'],
      ['a/b?/**', 'a/**'],
      ['a/*/**', 'a/**'],
      ['a/*/x'],
    ];
    for (const paths of same) expect(sectionPathsOf(targetPatterns({ name: '', paths }))).toEqual(paths);
    // What says the same in other words comes back in one of them, and makes the same patterns.
    for (const paths of [
      ['a/*', 'a/**'],
      ['a/*', 'b', 'a/**'],
      ['a/*/*', 'a/**'],
      ['a/**', 'a/*/**'],
      ['a/**', 'a/**'],
    ]) {
      const patterns = targetPatterns({ name: '', paths });
      expect(targetPatterns({ name: '', paths: sectionPathsOf(patterns) ?? [] })).toEqual(patterns);
    }
  });
});

describe('what it is compared with', () => {
  it('attack 36: is no list of another name, of whichever publication that was signed here', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    const [bin, other] = [await binOf('a.html.protected'), await binOf('index.html.protected')];
    expect(bin).not.toBe(other);
    await rm(join(workspace.source, 'a.html'));
    expect(await signers.publish('ada')).toBe(2);
    const empty = await signers.base(bin, 2);
    await workspace.write('a.html', 'again');
    expect(await signers.publish('ada')).toBe(3); // so publication 2 is the last of no list that was signed
    await rm(join(workspace.source, 'index.html'));
    const draft = await signers.leave();
    expect((await publicationChanges(draft)).removed.map(({ path }) => path)).toEqual(['/index.html']);
    expect((await signers.review(draft, 'ada')).review.overtaken).toEqual([]);
    const forged = await signers.forge(draft, { before: new Map([...draft.before, [other, empty]]) });
    expect((await publicationChanges(forged)).removed).toEqual([]); // so nothing would be shown
    await expect(signers.review(forged, 'ada')).rejects.toMatchObject(BEHIND);
  });
});

describe('settings and descriptor', () => {
  it('attack 36: are shown member by member, against those that were signed before', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    await workspace.write('a.html', 'v2');
    const draft = await signers.leave();
    const settings = (evil: boolean) => {
      const to = (n: number) => (evil && n === 1000 ? 'https://evil.example/' : `/new/${n}.html`);
      const redirects = Array.from({ length: 2000 }, (_, n) => ({ from: `/${n}`, status: 301 as const, to: to(n) }));
      return encodeSettings({ cleanUrls: true, grace: evil ? 60 : 61, redirects: redirects.slice(evil ? 0 : 1) });
    };
    const targets = (evil: boolean) => targetsOf(draft, settings(evil));
    const earlier = { ...(await targets(false)), version: 1 };
    const before = new Map([...draft.before, ['targets', await signers.signedBy('ada', earlier)]]);
    const parts = {
      settings: settings(true),
      before,
      filesBefore: new Map([[SETTINGS_TARGET, settings(false)]]),
      roles: [...draft.roles, toSign('targets', await targets(true))],
    };
    const changes = await publicationChanges(await signers.forge(draft, parts));
    expect(changes.settings).toEqual({
      compared: true,
      members: [
        { member: 'grace', before: '61', now: '60' },
        { member: 'redirect "/0"', before: undefined, now: '301 "/new/0.html"' },
        { member: 'redirect "/1000"', before: '301 "/new/1000.html"', now: '301 "https://evil.example/"' },
      ],
    });
    const lines = describeChanges(changes, 50);
    expect(lines.filter((line) => line.includes('redirect'))).toEqual([
      '  added: redirect "/0" 301 "/new/0.html"',
      '  changed: redirect "/1000" 301 "/new/1000.html" -> 301 "https://evil.example/"',
    ]);
    const bins = { before: 64, after: 128 };
    const uncompared = ['documents', 'targets', ...binNames(7)];
    const lists = (names: readonly string[]) =>
      describeChanges({ ...changes, bins, comparedWith: [], uncompared: names }, 200).filter((line) =>
        /^ {2}(?:documents|targets|all )/.test(line),
      );
    expect(lists(uncompared)).toEqual(['  all 128 lists of documents', '  documents', '  targets']);
    expect(lists(uncompared.slice(0, -1))).toHaveLength(129);
    const none = await publicationChanges(await signers.forge(draft, { ...parts, filesBefore: new Map() }));
    expect(none.settings).toMatchObject({ compared: false, members: { length: 2002 } });
    for (const wrong of [
      new Map([[SETTINGS_TARGET, settings(true)]]),
      new Map([[DESCRIPTOR_TARGET, settings(false)]]),
      new Map([['a.html', settings(false)]]),
    ])
      await expect(signers.forge(draft, { ...parts, filesBefore: wrong })).rejects.toMatchObject(REFUSED);
  });

  it('are sent along as they were', async () => {
    await signers.add('ada', 2);
    await signers.publish('ada');
    const text = await readFile(workspace.configurationFile, 'utf8');
    const more = { redirects: [{ from: '/old', to: '/a.html' }], name: 'Another name' };
    await writeFile(workspace.configurationFile, JSON.stringify({ ...parse(text), ...more }));
    const { settings, descriptor } = await publicationChanges(await signers.leave());
    expect(settings).toMatchObject({ compared: true, members: [{ member: 'redirect "/old"', before: undefined }] });
    expect(descriptor).toMatchObject({ compared: true });
    expect(descriptor?.members).toContainEqual(expect.objectContaining({ member: 'name', now: '"Another name"' }));
    // The publisher key is shown by its id, as everywhere else.
    const all = await descriptorChanges({ ...(await signers.leave()), earlier: new Map(), filesBefore: new Map() });
    const { id } = (await workspace.keyStore()).publisher;
    expect(all?.members).toContainEqual({ member: 'publisherKey', before: undefined, now: JSON.stringify(id) });
  });

  it('attack 36: are of no other publisher', async () => {
    await signers.add('ada', 2);
    const draft = await signers.leave();
    const { publisher } = await workspace.keyStore();
    const configuration = await readConfiguration(workspace.configurationFile);
    const describedAs = async (rootId: string) => {
      const descriptor = makeDescriptor(configuration, { publisher, rootId }, draft.expires - 400 * 86_400);
      const content = await targetsOf({ ...draft, descriptor }, draft.settings);
      return signers.forge(draft, { descriptor, roles: otherwise(draft, { targets: () => content }) });
    };
    expect((await describedAs(draft.rootId)).version).toBe(1);
    await expect(describedAs('A'.repeat(43))).rejects.toMatchObject(REFUSED);
  });
});

describe('numbers', () => {
  it('attack 36: leave room for later ones, and end when publications do', async () => {
    await signers.add('ada', 2);
    const first = await signers.leave();
    const outside = { code: 'draft-out-of-bounds' };
    const numbered = async (draft: PublicationDraft, more: TufObject, who = 'ada') => {
      const alter = (content: TufObject) => ({ ...content, ...more });
      const all = Object.fromEntries(draft.roles.map(({ name }) => [name, alter]));
      return signers.review(await signers.forge(draft, { roles: otherwise(draft, all) }), who);
    };
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().replace(/\.\d+/, '');
    await expect(numbered(first, { version: 2 ** 53 - 1 })).rejects.toMatchObject(outside);
    expect((await numbered(first, { version: 5000 })).review.signed).toBeUndefined();
    await signers.publish('ada');
    await workspace.write('a.html', 'v2');
    const draft = await signers.leave();
    for (const wrong of [{ version: 10_002 }, { expires: inDays(403) }, { expires: inDays(-1) }])
      await expect(numbered(draft, wrong)).rejects.toMatchObject(outside);
    for (const good of [{ version: 10_001 }, { expires: inDays(399) }])
      expect((await numbered(draft, good)).review.signed).toBe(1);
    // Who remembers nothing goes by the lists that it is compared with.
    await expect(numbered(draft, { version: 10_002 }, 'bea')).rejects.toMatchObject(outside);
    expect((await numbered(draft, { version: 10_001 }, 'bea')).review.signed).toBeUndefined();
  });
});

describe('paths', () => {
  it('attack 36: are those of documents', async () => {
    await signers.add('ada', 2);
    const draft = await signers.leave();
    const sha256 = 'ab'.repeat(32);
    const withTarget = async (roles: DraftParts['roles'], path: string, target: TufObject) => {
      const name = await binOf(path);
      const alter = (content: TufObject) => ({
        ...content,
        targets: { ...(content.targets as TufObject), [path]: target },
      });
      return otherwise({ ...draft, roles: roles as PublicationDraft['roles'] }, { [name]: alter });
    };
    const withPath = async (path: string) => {
      const entry = { head: sha256, headLength: 5, set: undefined, content: sha256, inPage: false };
      const roles = await withTarget(draft.roles, `${path}.protected`, encodeDocumentTarget(entry));
      return signers.forge(draft, { roles: await withTarget(roles, path, { hashes: { sha256 }, length: 3 }) });
    };
    const added = { path: '/c.html', set: 'public' };
    expect((await publicationChanges(await withPath('c.html'))).added).toContainEqual(added);
    const wrong = ['../../etc/passwd', '', 'a//b', '..//q.protected', 'sign this? [y/N] y\r\n', 'x'.repeat(10_000)];
    for (const path of [...wrong, '.well-known/wispr-provider', '.well-known/wispr-settings', '.well-known/wispr/x'])
      await expect(withPath(path)).rejects.toMatchObject(REFUSED);
  });
});

function targetsIn({ roles }: PublicationDraft): TufObject {
  return contentOf(roles.at(-1)?.message ?? new Uint8Array(0));
}
