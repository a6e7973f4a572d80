/** A workspace whose parts come from different times or copies: output, database and key store, restored from elsewhere. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { verifyOwnSnapshot } from '../../core/publication/verify-roles.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { rotateRole } from '../../publisher/keys/change-roots.ts';
import { READER_OPTIONS, verifyChain } from '../../publisher/keys/roots.ts';
import { protectSite } from '../../publisher/protect/protect.ts';
import { publishedIn } from '../../publisher/protect/published.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import type { TrustedStore } from '../support/published.ts';
import { contentOf, createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const FILES = { 'a.html': '<p>a', 'b.html': '<p>b', 'c.css': 'c', 'd.txt': 'd' };

let workspace: TestWorkspace;
let copy: string;
/** Trust of a reader, from one publication to the next. */
let store: TrustedStore;

beforeEach(async () => {
  workspace = await createWorkspace(FILES, { public: ['*.css'] });
  copy = join(tmpdir(), `wispr-copy-${toBase64url(randomBytes(9))}`);
  store = new Map();
});
afterEach(async () => {
  await workspace.remove();
  await rm(copy, { recursive: true, force: true });
});

const here = (name: string) => join(workspace.directory, name);
const there = (name: string) => join(copy, name);
const metadata = (name: string) => join(workspace.out, METADATA_PATH, name);
const everything = { recursive: true, preserveTimestamps: true };
const copyAll = () => cp(workspace.directory, copy, everything);
const protectCopy = () => protectSite({ configurationFile: there('wispr.json'), passphrase: PASSPHRASE });

async function restore(...names: string[]): Promise<void> {
  for (const name of names) {
    await rm(here(name), { recursive: true, force: true });
    await cp(there(name), here(name), everything);
  }
}

/** Readers who have seen every publication so far find a whole one, which has what the site has. */
async function expectWhole(): Promise<void> {
  expect((await verifyTree(workspace.out)).findings).toEqual([]);
  const published = await workspace.published({ store });
  for (const path of published.paths) {
    const content = String(await contentOf(await published.open(path)));
    expect(content).toContain(String(await readFile(join(workspace.source, path))));
  }
}

describe('an output of another copy of the workspace', () => {
  it('is signed above, though its files have the same names', async () => {
    await workspace.protect();
    await copyAll();
    await writeFile(there('site/a.html'), '<p>theirs');
    await writeFile(there('site/c.css'), 'theirs');
    await protectCopy();
    await rm(join(workspace.source, 'd.txt'));
    await workspace.protect();
    await restore('protected');
    await workspace.published({ store });
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'workspace-behind' });
    const { publication } = await workspace.protect({ restored: true });
    expect(publication).toMatchObject({ version: 3, isNew: true });
    await expectWhole();
    expect(await workspace.protect()).toMatchObject({ publication: { isNew: false }, recovered: [] });
  });
});

describe('files of an earlier time', () => {
  it.each([['protected'], ['publisher.db'], ['protected', 'publisher.db'], ['protected', 'publisher.db', 'site']])(
    'are brought up to date: %s %s %s',
    async (...names) => {
      await workspace.protect();
      await copyAll();
      await workspace.write('a.html', '<p>later');
      await workspace.write('e.html', '<p>new');
      await workspace.protect();
      await workspace.published({ store });
      await restore(...names);
      const { publication } = await workspace.protect({ now: nowInSeconds() + 60 });
      expect(publication.version).toBe(3);
      await expectWhole();
    },
  );

  it('get a number above the publication that the authority has', async () => {
    await workspace.protect();
    await copyAll();
    for (const text of ['2', '3']) {
      await workspace.write('a.html', `<p>${text}`);
      await workspace.protect();
    }
    await workspace.published({ store });
    const above = await publishedIn(workspace.out, await verifyChain((await workspace.keyStore()).roots));
    await restore('protected', 'publisher.db', 'publisher.keys');
    const { publication, recovered } = await workspace.protect({ above, restored: true, now: nowInSeconds() + 60 });
    expect(publication).toMatchObject({ version: 4, isNew: true });
    expect(recovered).toEqual([expect.stringContaining('publisher.keys knew publication 1')]);
    await expectWhole();
  });

  it('are not taken for older keys after a closing publication, which has no lists of its own', async () => {
    await workspace.protect();
    const above = await publishedIn(workspace.out, await verifyChain((await workspace.keyStore()).roots));
    if (above === undefined) throw new Error('nothing is published');
    const closed = { snapshot: { ...above.snapshot, closed: true }, file: { ...above.file, version: 2 } };
    const summary = await workspace.protect({ above: closed });
    expect(summary).toMatchObject({ publication: { version: 3, isNew: true }, recovered: [] });
    expect(summary.changes).toMatchObject({ rekeyed: 0, unchanged: 4 });
  });
});

describe('a number', () => {
  it('that only a timestamp claims, or that a replaced key signed, is not used', async () => {
    await workspace.protect();
    const timestamp = JSON.parse(await readFile(metadata('timestamp.json'), 'utf8'));
    timestamp.signed.meta['snapshot.json'].version = 2 ** 50;
    await writeFile(metadata('timestamp.json'), JSON.stringify(timestamp));
    await workspace.write('a.html', '<p>2');
    expect((await workspace.protect()).publication.version).toBe(2);
    const replaced = await readFile(metadata('2.snapshot.json'));
    await rotateRole(workspace.keyOptions, 'snapshot');
    await workspace.protect();
    const root = await verifyChain((await workspace.keyStore()).roots);
    await expect(verifyOwnSnapshot(replaced, root, READER_OPTIONS)).rejects.toThrow();
    await expectWhole();
  });

  it('is never used twice, also where output and database are lost', async () => {
    await workspace.protect();
    await workspace.published({ store });
    await rm(workspace.out, { recursive: true });
    await rm(here('publisher.db'));
    expect((await workspace.protect({ now: nowInSeconds() + 60 })).publication.version).toBe(2);
    await expectWhole();
  });
});

describe('an older key store', () => {
  it('has every set encrypted under a new key, once', async () => {
    const [set] = (await workspace.protect()).sets;
    await copyAll();
    await workspace.protect({ rekey: [set?.name ?? ''] });
    await restore('publisher.keys');
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'workspace-behind' });
    const { recovered, sets, changes } = await workspace.protect({ restored: true });
    expect(recovered).toEqual([expect.stringContaining('publisher.keys knew publication 1')]);
    expect(sets).toEqual([expect.objectContaining({ isNew: true, isRekeyed: true })]);
    expect(changes.rekeyed).toBe(3);
    await expectWhole();
    expect(await workspace.protect()).toMatchObject({ recovered: [], changes: { rekeyed: 0 } });
  });

  it('from before a change of signing keys is refused', async () => {
    await workspace.protect();
    await copyAll();
    await rotateRole(workspace.keyOptions, 'targets');
    await workspace.protect();
    await restore('publisher.keys');
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'key-store-refused' });
    await restore('publisher.db');
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'key-store-refused' });
  });
});
