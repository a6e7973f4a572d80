/** A workspace whose parts come from different times or copies: output, index and key store, put back from elsewhere. */
import { cp, lstat, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { openBundle } from '../../core/keys/bundle.ts';
import { encodeEnvelope, openEnvelope } from '../../core/publication/envelope.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { parseConfiguration } from '../../publisher/configuration/read.ts';
import { rotatePublisherKey, rotateRole } from '../../publisher/keys/change-roles.ts';
import { planSite } from '../../publisher/protect/dry-run.ts';
import { protectSite } from '../../publisher/protect/protect.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { identityOf } from '../../publisher/site/walk.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import type { TrustedStore } from '../support/published.ts';
import { createWorkspace, PASSPHRASE, snapshot, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000 }); // each protects several times

const METADATA = METADATA_PATH.slice(1);
const GOLD = '<meta name="wispr-set" content="gold">';
const FILES = { 'a.html': '<p>a', 'b.html': '<p>b', 'c.css': 'c', 'd.txt': 'd' };
const recipient = xwingKeyPair(randomBytes(32));

let workspace: TestWorkspace;
let copy: string;
/** What a reader trusts, from one publication to the next. */
let store: TrustedStore;
beforeEach(async () => {
  await create();
});
afterEach(() => remove());

async function create(settings: Parameters<typeof createWorkspace>[1] = {}): Promise<void> {
  workspace = await createWorkspace(FILES, { public: ['*.css'], ...settings });
  copy = join(tmpdir(), `wispr-copy-${toBase64url(randomBytes(9))}`);
  store = new Map();
  await writeFile(join(workspace.directory, 'keyserver.pub'), toBase64url(recipient.publicKey));
}

async function remove(): Promise<void> {
  await workspace.remove();
  await rm(copy, { recursive: true, force: true });
}

const here = (name: string) => join(workspace.directory, name);
const changeIndex = (sql: string, ...values: string[]) => {
  using index = new DatabaseSync(here('publisher.index'));
  index.prepare(sql).run(...values);
};
const there = (name: string) => join(copy, name);
const NOW = nowInSeconds();
const everything = { recursive: true, preserveTimestamps: true };
const copyAll = () => cp(workspace.directory, copy, everything);
const protectCopy = (options = {}) =>
  protectSite({ configurationFile: there('wispr.json'), passphrase: PASSPHRASE, ...options });
const bundle = async () => openBundle(await readFile(here('keys.bundle')), recipient);
const findings = async () => (await verifyTree(workspace.out)).findings.map(({ path, code }) => `${path} ${code}`);
const dryRun = () => planSite({ configurationFile: workspace.configurationFile });

async function bring(...names: string[]): Promise<void> {
  for (const name of names) {
    await rm(here(name), { recursive: true, force: true });
    await cp(there(name), here(name), everything);
  }
}

/** What the index has of a publication that was shown. */
function markIn(timestamp: Buffer): string {
  const { version, hashes } = JSON.parse(String(timestamp)).signed.meta['snapshot.json'];
  return `${version} ${hashes.sha256}`;
}

/** Readers who have seen every publication so far find a whole one, which has what the site has. */
async function expectWhole(): Promise<void> {
  expect(await findings()).toEqual([]);
  const published = await workspace.published({ store });
  for (const path of published.paths) {
    await published.open(path);
    expect(String(await workspace.read(path))).toContain(String(await readFile(join(workspace.source, path))));
  }
}

describe('an output of another copy', () => {
  it.each(['beside', 'html'] as const)('is put right, though its files have the same names: %s', async (carrier) => {
    if (carrier === 'html') {
      await remove();
      await create({ carrier });
    }
    await workspace.protect();
    await copyAll();
    await writeFile(there('site/a.html'), '<p>theirs');
    await writeFile(there('site/c.css'), 'theirs');
    await rm(there('site/d.txt'));
    await protectCopy();
    await rm(join(workspace.source, 'd.txt'));
    expect((await workspace.protect()).publication.version).toBe(2);
    await bring('publisher.keys', 'protected');
    await workspace.published({ store });
    expect((await dryRun()).otherPublication).toBe(true);
    const { publication, recovered } = await workspace.protect();
    expect(publication).toMatchObject({ version: 3, reasons: ['missing'] });
    expect(recovered).toEqual([expect.stringContaining('another publication')]);
    await expectWhole();
    expect((await dryRun()).otherPublication).toBe(false);
    expect(await workspace.protect()).toMatchObject({ publication: { isNew: false }, recovered: [] });
  });

  it('is put right by the next run, if one was stopped on the way', async () => {
    await workspace.protect();
    await copyAll();
    await writeFile(there('site/c.css'), 'theirs');
    await protectCopy();
    await workspace.write('a.html', '<p>ours');
    await workspace.protect();
    await bring('publisher.keys', 'protected');
    const stop = () => {
      throw new Error('killed');
    };
    await expect(workspace.protect({ onProgress: ({ stage }) => stage === 'writing' && stop() })).rejects.toThrow();
    expect((await workspace.protect()).publication.reasons).toEqual(['missing']);
    await expectWhole();
  });

  it.each(['protected', 'publisher.index'])('of an earlier time is put right: %s', async (name) => {
    await workspace.protect({ now: NOW - 20 });
    await copyAll();
    await workspace.write('a.html', '<p>later');
    await workspace.write('c.css', 'later');
    await workspace.write('gold.html', `${GOLD}<p>gold`);
    await workspace.protect({ now: NOW - 10 });
    await workspace.published({ store });
    await bring(name);
    expect((await workspace.protect()).publication).toMatchObject({ version: 3 });
    await expectWhole();
  });

  it('of which nothing but the timestamp is later gets a number above what that names', async () => {
    await remove();
    await create({ public: ['**'] }); // no set has a new key then, and nothing else is to be signed
    await workspace.protect({ now: NOW - 20 });
    await copyAll();
    await workspace.write('a.html', '<p>later');
    await workspace.protect({ now: NOW - 10 });
    const timestamp = join(METADATA, 'timestamp.json');
    await cp(join(workspace.out, timestamp), join(there('protected'), timestamp));
    const source = await snapshot(workspace.source);
    await bring('protected', 'publisher.index');
    await rm(join(workspace.source, 'a.html'));
    await cp(there('site/a.html'), join(workspace.source, 'a.html'), everything);
    expect(await snapshot(workspace.source)).not.toEqual(source);
    const { publication } = await workspace.protect();
    expect(publication).toMatchObject({ version: 3, reasons: ['missing'] });
    await expectWhole();
  });

  it('keeps all names that readers have seen in a snapshot, also where those of an earlier index are fewer', async () => {
    await workspace.protect();
    await copyAll();
    for (let index = 0; index < 40; index++) await workspace.write(`${index}.txt`, String(index));
    await workspace.protect();
    const { files } = await workspace.published({ store });
    for (let index = 0; index < 40; index++) await rm(join(workspace.source, `${index}.txt`));
    await bring('publisher.index');
    await workspace.protect();
    expect((await workspace.published({ store })).files).toBe(files);
    await expectWhole();
  });
});

describe('a signed file', () => {
  const file = (name: string) => join(workspace.out, METADATA, name);
  const damage = async (name: string) => writeFile(file(name), (await readFile(file(name))).fill('x', 200, 201));

  it.each(['1.documents.json', '1.documents-0.json', '1.targets.json', '1.snapshot.json'])(
    'that is another of the same name and length is signed anew, and taken away: %s',
    async (name) => {
      await workspace.protect();
      await damage(name);
      expect((await workspace.protect()).publication).toMatchObject({ version: 2, reasons: ['missing'] });
      expect(await readdir(join(workspace.out, METADATA))).not.toContain(name);
      await expectWhole();
    },
  );

  it('that is another casts doubt on what lies at documents’ own names, which nothing signs', async () => {
    await workspace.protect();
    await damage('1.targets.json');
    await rm(join(workspace.out, 'c.css')); // it may be the same file as the content
    await writeFile(join(workspace.out, 'c.css'), 'x');
    await writeFile(join(workspace.out, 'a.html'), 'of another time');
    await workspace.protect();
    await expectWhole();
  });

  it('is looked at again after a start of the machine, though it is the very file that was good', async () => {
    await workspace.protect();
    await damage('1.targets.json');
    const identity = identityOf(await lstat(file('1.targets.json'), { bigint: true }));
    const sql = "UPDATE fact SET value = json_set(value, '$.\"1.targets.json\"', ?) WHERE name = 'signedFiles'";
    changeIndex(sql, identity); // as after a power cut, which leaves other bytes than were written
    expect((await workspace.protect()).publication.version).toBe(1);
    changeIndex("UPDATE fact SET value = 'another' WHERE name = 'boot'");
    expect((await workspace.protect()).publication).toMatchObject({ version: 2, reasons: ['missing'] });
    await expectWhole();
  });

  it('that is a root which others have signed as well stays good', async () => {
    const { configurationFile } = workspace;
    await rotateRole({ configurationFile, passphrase: PASSPHRASE }, 'targets');
    await workspace.protect();
    const { signatures, message } = openEnvelope(await readFile(file('2.root.json')), 'root');
    const another = { keyid: 'ab'.repeat(32), sig: 'cd'.repeat(64) };
    await writeFile(file('2.root.json'), encodeEnvelope([...signatures, another], message));
    expect(await workspace.protect()).toMatchObject({ publication: { version: 1 }, recovered: [] });
    await expectWhole();
  });

  it('that is copied is the same, and nothing is signed', async () => {
    await workspace.protect();
    await cp(workspace.out, copy, everything);
    await rm(workspace.out, { recursive: true });
    await cp(copy, workspace.out, everything);
    expect((await workspace.protect()).publication).toMatchObject({ version: 1, isNew: false });
  });

  it('that is a root is put back as the key store has it', async () => {
    await workspace.protect();
    const root = await readFile(file('1.root.json'));
    await writeFile(file('1.root.json'), 'x');
    await workspace.protect();
    expect(await readFile(file('1.root.json'))).toEqual(root);
    await expectWhole();
  });

  it('that no list leads to any more stays in the snapshot, and is there again', async () => {
    await remove();
    await create({ sections: [{ name: 'desk', paths: ['desk/**'] }] });
    await workspace.write('desk/a.txt', 'a');
    await workspace.protect();
    const settings = await readFile(workspace.configurationFile, 'utf8');
    const { sections: _, ...rest } = parseConfiguration(settings, 'wispr.json');
    await writeFile(workspace.configurationFile, JSON.stringify(rest));
    await workspace.protect();
    await workspace.published({ store });
    await rm(file('1.desk.json'));
    expect((await workspace.protect()).publication.reasons).toEqual(['missing']);
    await expectWhole();
    const target = await openTarget(copy);
    const about = { workspace: workspaceOf(workspace.configurationFile), out: workspace.out, keysAreThere: true };
    expect((await publishSite({ ...about, target })).publication).toBe(3);
    target.close();
    expect((await workspace.protect()).publication.isNew).toBe(false);
  });
});

describe('an older key store', () => {
  const idOf = async (name = 'subscribers') => (await bundle()).sets.find((set) => set.name === name)?.id;

  it.each([
    ['nothing', []],
    ['publisher.index', ['publisher.index']],
  ])(
    'does not bring a replaced set key back, and hands a new one over above all others, where %s is lost too',
    async (_, lost) => {
      await workspace.protect();
      const first = await idOf();
      await copyAll();
      for (const now of [NOW - 20, NOW - 10]) await workspace.protect({ now, rekey: ['subscribers'] });
      const [second, { serial }] = [await idOf(), await bundle()];
      await bring('publisher.keys');
      for (const name of lost) await rm(here(name));
      expect((await dryRun()).keysChanged).toBe(lost.length === 0);
      const { recovered, sets, bundleIsNew, publication } = await workspace.protect();
      expect(recovered.at(-1)).toMatch(
        /publisher\.keys is older than the last publication, 3\b.* 1\. subscribers has a new key/,
      );
      expect([sets.map(({ isNew }) => isNew), bundleIsNew, publication.version]).toEqual([[true], true, 4]);
      expect([first, second]).not.toContain(await idOf());
      expect((await bundle()).serial).toBeGreaterThan(serial);
      expect((await bundle()).serial).toBeGreaterThan(nowInSeconds() - 60);
      await expectWhole();
      expect(await workspace.protect()).toMatchObject({ recovered: [], bundleIsNew: false, changes: { unchanged: 4 } });
    },
  );

  it('leaves no document under a key that nobody holds, and keys that were not replaced as they are', async () => {
    await workspace.protect();
    const before = await idOf();
    await copyAll();
    await workspace.write('b.html', `${GOLD}<p>b`);
    await workspace.protect();
    const gold = await idOf('gold');
    await bring('publisher.keys');
    expect((await workspace.protect()).changes).toMatchObject({ rekeyed: 1, unchanged: 3 });
    expect([await idOf(), (await idOf('gold')) === gold]).toEqual([before, false]);
    await expectWhole();
  });

  it('is noticed by the output where the index is as old, and then all sets have new keys', async () => {
    await workspace.protect();
    const before = await idOf();
    await copyAll();
    await workspace.protect({ rekey: ['subscribers'] });
    await bring('publisher.keys', 'publisher.index');
    expect((await workspace.protect()).sets[0]).toMatchObject({ isNew: true });
    expect(await idOf()).not.toBe(before);
    await expectWhole();
  });

  it('gives a set a new key also where only some of its documents are under another', async () => {
    await workspace.protect();
    await copyAll();
    await workspace.write('b.html', '<p>b, later');
    await workspace.protect();
    const before = await idOf();
    changeIndex("UPDATE document SET set_id = 'another' WHERE path = '/b.html'"); // as where a section was held back
    await bring('publisher.keys');
    await workspace.protect();
    expect(await idOf()).not.toBe(before);
    await expectWhole();
  });

  it('gives all sets new keys where the index is older than the output', async () => {
    await workspace.protect();
    await copyAll();
    await workspace.protect({ now: NOW - 20, rekey: ['subscribers'] });
    await workspace.write('a.html', '<p>later');
    await workspace.protect({ now: NOW - 10 });
    const before = await idOf();
    const last = await readFile(join(workspace.out, METADATA, 'timestamp.json'));
    await bring('publisher.keys', 'publisher.index');
    changeIndex("UPDATE fact SET value = ? WHERE name = 'shown'", markIn(last)); // so that nothing but the number tells
    expect((await workspace.protect()).sets[0]).toMatchObject({ isNew: true });
    expect(await idOf()).not.toBe(before);
    await expectWhole();
  });

  it('whose publisher key is another than that of the last run is said to be so', async () => {
    await workspace.protect();
    await copyAll();
    await rotatePublisherKey({ configurationFile: workspace.configurationFile, passphrase: PASSPHRASE });
    await workspace.protect({ now: NOW - 10 });
    await bring('publisher.keys');
    expect((await workspace.protect()).recovered.at(-1)).toContain(
      'its publisher key is another than that of the last publication',
    );
    await expectWhole();
  });

  it('does not count as one because of a root of its number that does not follow', async () => {
    const { configurationFile } = workspace;
    await rotateRole({ configurationFile, passphrase: PASSPHRASE }, 'targets');
    await workspace.protect();
    const root = await readFile(join(workspace.out, METADATA, '2.root.json'));
    await cp(join(workspace.out, METADATA, '1.root.json'), join(workspace.out, METADATA, '2.root.json'));
    expect(await workspace.protect()).toMatchObject({ recovered: [] });
    expect(await readFile(join(workspace.out, METADATA, '2.root.json'))).toEqual(root);
  });

  it('that has used the same numbers is not believed to be the last one where a list is not there to tell', async () => {
    await workspace.protect();
    await copyAll();
    await protectCopy({ rekey: ['subscribers'] });
    await workspace.write('a.html', '<p>ours');
    const { sets } = await workspace.protect();
    await bring('protected');
    const lists = (await readdir(join(workspace.out, METADATA))).filter((name) => /^2\.documents-/.test(name));
    for (const name of lists) await rm(join(workspace.out, METADATA, name));
    expect((await workspace.protect()).sets[0]?.id).not.toBe(sets[0]?.id);
    await expectWhole();
  });

  it('that has used the same numbers is noticed by what it cannot open', async () => {
    await workspace.protect();
    await copyAll();
    await protectCopy({ rekey: ['subscribers'] });
    await workspace.write('a.html', '<p>ours');
    const { sets } = await workspace.protect();
    await bring('protected'); // and not its publisher.keys
    const after = await workspace.protect();
    expect(after.recovered.at(-1)).toContain('publisher.keys may be older');
    expect(after.sets[0]?.id).not.toBe(sets[0]?.id);
    await expectWhole();
  });

  it('is put right by the next run, if one was stopped on the way', async () => {
    await workspace.protect();
    await copyAll();
    await workspace.protect({ now: NOW - 10, rekey: ['subscribers'] });
    const { serial } = await bundle();
    await bring('publisher.keys');
    const killed = workspace.protect({
      handOverKeys: async () => {
        throw new Error('killed');
      },
    });
    await expect(killed).rejects.toThrow('killed');
    const key = await idOf();
    expect((await workspace.protect()).changes).toMatchObject({ rekeyed: 3 });
    expect([await idOf(), (await bundle()).serial > serial]).toEqual([key, true]);
    await expectWhole();
  });

  it('of before a change of signing keys is refused', async () => {
    await workspace.protect();
    await copyAll();
    const { configurationFile } = workspace;
    for (let version = 2; version <= 3; version++)
      await rotateRole({ configurationFile, passphrase: PASSPHRASE }, 'targets');
    await workspace.protect();
    await bring('publisher.keys');
    const before = await snapshot(workspace.out);
    await expect(workspace.protect()).rejects.toMatchObject({
      code: 'key-store-older',
      message: `${workspace.out} has root 3, and publisher.keys knows none after 1`,
    });
    await rotateRole({ configurationFile, passphrase: PASSPHRASE }, 'targets');
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'key-store-older' });
    expect(await snapshot(workspace.out)).toEqual(before);
  });
});

describe('an older index', () => {
  it('that is lost leaves nothing of a file that was cut short', async () => {
    await workspace.protect();
    const content = (await readdir(workspace.out)).find((name) => /^[0-9a-f]{64}\.c\.css$/.test(name)) ?? '';
    await truncate(join(workspace.out, content), 0);
    await workspace.write('c.css', 'another'); // so that nobody writes it again
    await rm(here('publisher.index'));
    await workspace.protect();
    expect(await readdir(workspace.out)).not.toContain(content);
    await expectWhole();
  });

  it('makes no key new that was published before', async () => {
    await workspace.protect();
    await copyAll();
    await workspace.protect({ now: NOW - 10, rekey: ['subscribers'] });
    await bring('publisher.index');
    const { sets, changes } = await workspace.protect();
    expect(changes.rekeyed).toBe(3);
    expect(sets[0]).toMatchObject({ isNew: false, isRekeyed: false });
    await expectWhole();
  });
});

describe('where the disk is gone, and a copy of publisher.keys is left', () => {
  it.each([
    ['current', []],
    ['older', ['subscribers']],
  ])('what is served takes the place of the output: %s keys', async (_, rekey) => {
    const served = `${copy}-served`;
    const target = await openTarget(served);
    const publish = () =>
      publishSite({
        workspace: workspaceOf(workspace.configurationFile),
        out: workspace.out,
        target,
        keysAreThere: true,
      });
    await workspace.protect();
    await copyAll();
    if (rekey.length > 0) await workspace.protect({ rekey });
    await publish();
    await workspace.published({ store });
    for (const name of ['protected', 'publisher.index', 'publisher.last'])
      await rm(here(name), { recursive: true, force: true });
    await bring('publisher.keys');
    await cp(served, workspace.out, everything);
    const { sets } = await workspace.protect();
    expect(sets[0]?.isNew).toBe(rekey.length > 0);
    await expectWhole();
    expect((await publish()).publication).toBe(rekey.length > 0 ? 3 : 2);
    expect((await verifyTree(served)).findings).toEqual([]);
    target.close();
    await rm(served, { recursive: true });
  });
});
