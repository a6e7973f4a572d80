/** What a signer is shown of documents is all that becomes of them: no content hides behind what is said of its document. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TufObject } from '../../core/publication/canonical.ts';
import { encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import { parseTargets, type TargetsMetadata } from '../../core/publication/metadata.ts';
import { contentTargetOf, headTargetOf } from '../../core/publication/names.ts';
import { binMetadata } from '../../core/publication/writer.ts';
import { documentChanges, publicationChanges, type Readers } from '../../publisher/keys/publication-changes.ts';
import type { PublicationDraft } from '../../publisher/keys/publication-draft.ts';
import { binOf, contentOf, otherwise, REFUSED, Signers, toSign } from '../support/signers.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 240_000 }); // each protects several times

const SETS = ['A', 'E'].map((letter) => letter.repeat(43));
const HASHES = ['aa', 'bb'].map((byte) => byte.repeat(32));

/** What a list says of one document, if anything. */
interface Said {
  readonly head: { readonly hash: string; readonly set: string | undefined } | undefined;
  readonly content: string | undefined;
}

const saying = fc.record({
  head: fc.option(
    fc.record({ hash: fc.constantFrom(...HASHES), set: fc.option(fc.constantFrom(...SETS), { nil: undefined }) }),
    { nil: undefined },
  ),
  content: fc.option(fc.constantFrom(...HASHES), { nil: undefined }),
});
const site = fc.dictionary(fc.constantFrom('/a.html', '/b.html', '/c/d.html', '/c/e.txt'), saying);

/** Heads in one list, contents in another, as they may well be. */
function listsOf(said: Readonly<Record<string, Said>>): TargetsMetadata[] {
  const [heads, contents]: [string, TufObject][][] = [[], []];
  for (const [path, { head, content }] of Object.entries(said)) {
    const entry = head && { head: head.hash, headLength: 5, set: head.set as never, inPage: false };
    const other = head && head.set === undefined ? (content ?? HASHES[0]) : undefined;
    if (entry) heads?.push([headTargetOf(path), encodeDocumentTarget({ ...entry, content: other })]);
    if (content) contents?.push([contentTargetOf(path), { hashes: { sha256: content }, length: 3 }]);
  }
  return [heads, contents].map((targets) =>
    parseTargets(binMetadata({ version: 1, expires: 9e9 }, targets ?? []), 'x'),
  );
}

/** Who reads what, by what is said. */
function readersIn(said: Readonly<Record<string, Said>>): Map<string, Readers> {
  const there = Object.entries(said).filter(([, { head, content }]) => head !== undefined || content !== undefined);
  return new Map(there.map(([path, { head }]) => [path, head ? (head.set ?? 'public') : null]));
}

describe('what becomes of documents', () => {
  it('leads from the lists of before to those that are signed, and leaves out nothing', () => {
    fc.assert(
      fc.property(site, site, (before, after) => {
        const { added, moved, changed, removed, public: opened } = documentChanges(listsOf(before), listsOf(after));
        const readers = readersIn(before);
        for (const { path, set } of removed) {
          expect(readers.get(path)).toBe(set);
          readers.delete(path);
        }
        for (const { path, set, before: from } of moved) {
          expect(readers.get(path)).toBe(from);
          readers.set(path, set);
        }
        for (const { path, set } of changed) expect(readers.get(path)).toBe(set);
        for (const { path, set } of added) {
          expect(readers.get(path) ?? null).toBeNull();
          readers.set(path, set);
        }
        expect(readers).toEqual(readersIn(after));
        const named = [...added, ...moved, ...changed, ...removed].map(({ path }) => path);
        expect(new Set(named).size).toBe(named.length);
        const none: Said = { head: undefined, content: undefined };
        for (const path of new Set([...Object.keys(before), ...Object.keys(after)]))
          if (!named.includes(path)) expect(after[path] ?? none).toEqual(before[path] ?? none);
        const isOpen = (set: Readers | undefined) => set === 'public' || set === null;
        const [old, now] = [readersIn(before), readersIn(after)];
        for (const [path, set] of now) if (isOpen(set) && !isOpen(old.get(path))) expect(opened).toContain(path);
        for (const path of opened) expect(isOpen(now.get(path))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a document that is removed', () => {
  let workspace: TestWorkspace;
  let signers: Signers;
  beforeEach(async () => {
    workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a', 'b.html': 'b' }, { public: ['b.html'] });
    signers = await Signers.in(workspace, ['ada', 'bea']);
    await signers.add('ada', 2);
    await signers.publish('ada');
  });
  afterEach(() => workspace.remove());

  /** The draft, with another content under a document's name. */
  async function withContent(draft: PublicationDraft, path: string, sha256: string): Promise<PublicationDraft> {
    const bin = await binOf(contentTargetOf(path));
    const alter = (content: TufObject): TufObject => {
      const evil = { hashes: { sha256 }, length: 666 };
      return { ...content, targets: { ...(content.targets as TufObject), [contentTargetOf(path)]: evil } };
    };
    if (draft.roles.some(({ name }) => name === bin))
      return signers.forge(draft, { roles: otherwise(draft, { [bin]: alter }) });
    const base = await signers.base(bin, 1);
    const { version, expires } = contentOf(draft.roles[0]?.message ?? base);
    const role = toSign(bin, alter({ ...(contentOf(base).signed as TufObject), version, expires } as TufObject));
    return signers.forge(draft, { roles: [...draft.roles, role], before: new Map([...draft.before, [bin, base]]) });
  }

  it.each(['/b.html', '/a.html'])('attack 36: leaves no content under its name: %s', async (path) => {
    await rm(join(workspace.source, path));
    const draft = await signers.leave();
    expect((await publicationChanges(draft)).removed.map((one) => one.path)).toEqual([path]);
    await expect(withContent(draft, path, 'ee'.repeat(32))).rejects.toMatchObject(REFUSED);
  });

  it('attack 36: and nothing comes under a name that never was one', async () => {
    await workspace.write('a.html', 'v2');
    const draft = await signers.leave();
    const signed = new Set(draft.roles.map(({ name }) => name));
    const names = Array.from({ length: 64 }, (_, number) => `/new/${number}.html`);
    const isSeen = async (path: string) => {
      const bin = await binOf(headTargetOf(path));
      return signed.has(bin) || bin === (await binOf(contentTargetOf(path)));
    };
    const areSeen = await Promise.all(names.map(isSeen));
    const [seen = '', unseen = ''] = [true, false].map((is) => names[areSeen.indexOf(is)]);
    await expect(withContent(draft, seen, 'ee'.repeat(32))).rejects.toMatchObject(REFUSED);
    // Where the list of its head is not among those that are signed, it is shown for what it is.
    const changes = await publicationChanges(await withContent(draft, unseen, 'ee'.repeat(32)));
    expect(changes).toMatchObject({ added: [{ path: unseen, set: null }], public: [unseen] });
  });
});
