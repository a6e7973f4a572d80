/**
 * What a signer is shown is what is signed: somebody who has `publisher.keys` tries to have something signed under lines that say less. The draft
 * is made by hand, as that somebody could make it.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { binFor, pathHashOf } from '../../core/publication/bins.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import type { SectionKeys } from '../../core/publication/writer.ts';
import { publicationChanges } from '../../publisher/keys/publication-changes.ts';
import type { PublicationDraft } from '../../publisher/keys/publication-draft.ts';
import { targetPatterns } from '../../publisher/site/sections.ts';
import { contentOf, later, otherwise, Signers, targetsOf } from '../support/signers.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 240_000 }); // each protects several times

let workspace: TestWorkspace;
let signers: Signers;

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a', 'b.html': 'b' }, { public: ['b.html'] });
  signers = await Signers.in(workspace, ['ada', 'bea']);
});
afterEach(() => workspace.remove());

const refused = { code: 'draft-malformed' };
const behind = { code: 'draft-rolled-back' };

const base = (name: string, version: number) => readFile(signers.metadata(`${version}.${name}.json`));

/** The bin of a target. */
async function binOf(target: string): Promise<string> {
  return binFor(await pathHashOf(target), { bits: 2, namePrefix: 'documents', keyids: [], threshold: 2 });
}

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
    for (const paths of wrong) await expect(withPaths(paths)).rejects.toMatchObject(refused);
    expect((await withPaths(many.slice(1))).version).toBe(1);

    const before = new Map([['targets', await signers.signedBy('ada', targetsIn(first))]]);
    const next = await signers.forge(first, { before, roles: otherwise(first, later(first, 2)) });
    const fewer = await publicationChanges(await withPaths(full.slice(0, -1), next));
    expect(fewer.sections.list).toMatchObject([{ is: 'changed' }]);
    expect((await publicationChanges(await withPaths(full, next))).sections.list).toMatchObject([{ is: 'as before' }]);
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
    const empty = await base(bin, 2);
    await workspace.write('a.html', 'again');
    expect(await signers.publish('ada')).toBe(3); // so publication 2 is the last of no list that was signed
    await rm(join(workspace.source, 'index.html'));
    const draft = await signers.leave();
    expect((await publicationChanges(draft)).removed.map(({ path }) => path)).toEqual(['/index.html']);
    expect((await signers.review(draft, 'ada')).review.overtaken).toEqual([]);
    const forged = await signers.forge(draft, { before: new Map([...draft.before, [other, empty]]) });
    expect((await publicationChanges(forged)).removed).toEqual([]); // so nothing would be shown
    await expect(signers.review(forged, 'ada')).rejects.toMatchObject(behind);
  });
});

function targetsIn({ roles }: PublicationDraft): TufObject {
  return contentOf(roles.at(-1)?.message ?? new Uint8Array(0));
}
