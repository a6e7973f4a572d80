/** Protecting a site again: what did not change keeps its bytes, and what the index says is believed only where it is true. */
import { hash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { rotatePublisherKey, rotateRole } from '../../publisher/keys/change-roots.ts';
import type { Progress } from '../../publisher/protect/phases.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import type { TrustedStore } from '../support/published.ts';
import { createWorkspace, snapshot, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
afterEach(() => workspace.remove());

const NOW = Math.floor(Date.now() / 1000);
const DAY = 86_400;
const NOTHING = { added: 0, changed: 0, moved: 0, rekeyed: 0, removed: 0 };

/** Names and time stamps of all files of the output, but for the timestamp. */
async function times(): Promise<Map<string, number>> {
  const paths = [...(await snapshot(workspace.out)).keys()].filter((path) => !path.endsWith('timestamp.json'));
  return new Map(
    await Promise.all(paths.map(async (path) => [path, (await stat(join(workspace.out, path))).mtimeMs] as const)),
  );
}

const PAGE = '<title>A page</title><p data-wispr-excerpt>Teaser.</p><p>Rest';

it('an index that another program has written to makes nothing public', async () => {
  const changes = {
    '/a.html': `pageSet = 'public'`,
    '/b.html': `pageSet = 'public', setName = NULL, setId = NULL, head = ''`,
    '/c.html': `pageSet = NULL, setName = NULL, setId = NULL, form = 'copy', content = ''`,
  };
  const pages = Object.keys(changes).map((path) => [path, '<meta name="wispr-set" content="few"><p>secret']);
  workspace = await createWorkspace({ ...Object.fromEntries(pages), 'd.txt': 'd' }, { public: ['**'] });
  await workspace.protect({ now: NOW });
  const index = new DatabaseSync(join(workspace.directory, 'publisher.db'));
  for (const [path, change] of Object.entries(changes))
    index.exec(`UPDATE document SET ${change} WHERE path = '${path}'`);
  index.close();
  await workspace.protect({ now: NOW + 10 });
  for (const [path, bytes] of await snapshot(workspace.out))
    expect(Buffer.from(bytes, 'base64').includes('secret'), path).toBe(false);
  expect((await workspace.published({ now: NOW + 10 })).paths).toEqual([...Object.keys(changes), '/d.txt']);
});

describe('a second run', () => {
  it('keeps the bytes of everything that did not change, and of what was only touched', async () => {
    workspace = await createWorkspace(
      { 'a.html': PAGE, 'b.txt': 'b', 'c.css': 'c', 'd.txt': 'd' },
      { public: ['*.css'] },
    );
    const first = await workspace.protect({ now: NOW });
    expect(first).toMatchObject({ changes: { ...NOTHING, added: 4 }, publication: { version: 1, isNew: true } });
    const before = await times();
    for (const path of ['a.html', 'b.txt', 'c.css']) {
      await workspace.write(path, await readFile(join(workspace.source, path)));
      await utimes(join(workspace.source, path), NOW + 5, NOW + 5);
    }
    const touched = await workspace.protect({ now: NOW + 10 });
    const publication = { version: 1, isNew: false, signed: 1 };
    expect(touched).toMatchObject({ changes: { ...NOTHING, unchanged: 4 }, publication });
    expect(await times()).toEqual(before);
    await workspace.write('d.txt', 'other');
    const changed = await workspace.protect({ now: NOW + 20 });
    expect(changed).toMatchObject({
      changes: { ...NOTHING, changed: 1, unchanged: 3 },
      publication: { version: 2, signed: 3 }, // bin, snapshot, timestamp
    });
    const after = await times();
    const kept = [...before].filter(([path]) => after.get(path) === before.get(path)).map(([path]) => path);
    expect(kept).toHaveLength(before.size);
    expect((await workspace.read('/d.txt')).toString()).toBe('other');
  });

  it('says what was added, changed, moved and removed, and a dry run says it before', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', 'd.html': PAGE });
    await workspace.protect({ now: NOW });
    await workspace.write('b.txt', 'changed');
    await workspace.write('d.html', `<meta name="wispr-set" content="gold">${PAGE}`);
    await workspace.write('new.txt', 'new');
    await rm(join(workspace.source, 'c.txt'));
    const before = await snapshot(workspace.directory);
    const dry = await workspace.plan(NOW);
    expect(await snapshot(workspace.directory)).toEqual(before);
    const changes = { added: 1, changed: 1, moved: 1, rekeyed: 0, removed: 1, unchanged: 1 };
    expect(dry.changes).toEqual(changes);
    expect(dry.paths).toEqual({
      added: ['/new.txt'],
      changed: ['/b.txt'],
      moved: ['/d.html'],
      rekeyed: [],
      removed: ['/c.txt'],
    });
    expect((await workspace.protect({ now: NOW + 1 })).changes).toEqual(changes);
    const published = await workspace.published({ now: NOW + 1 });
    expect(published.paths).toEqual(['/a.txt', '/b.txt', '/d.html', '/new.txt']);
  });

  it('says why documents changed whose sources did not, and a dry run says it before', async () => {
    workspace = await createWorkspace({ 'a.html': PAGE, 'b.txt': 'b', 'c.txt': 'c' });
    await workspace.protect({ now: NOW });
    const look = () => workspace.plan(NOW + 1);
    expect(await look()).toMatchObject({ reasons: { remade: 0, restored: 0 }, settingsChanged: false });
    await workspace.write('c.txt', 'another');
    await rm(await workspace.objectFile('/a.html'));
    await workspace.configure({ headers: [{ path: 'b.txt', set: { 'Content-Language': 'de' } }] });
    const expected = { changes: { changed: 3 }, reasons: { remade: 1, restored: 1 } };
    expect(await look()).toMatchObject({ ...expected, settingsChanged: false });
    expect(await workspace.protect({ now: NOW + 1 })).toMatchObject(expected);
    await workspace.configure({ cleanUrls: true });
    expect(await look()).toMatchObject({ changes: { changed: 0 }, settingsChanged: true });
    const { publication } = await workspace.protect({ now: NOW + 2 });
    expect(publication).toMatchObject({ isNew: true, reasons: ['settings'] });
    expect(await look()).toMatchObject({ settingsChanged: false });
  });

  it('a dry run says that keys were changed, whose consequences it cannot know', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a' });
    const look = async () => (await workspace.plan(NOW)).keysChanged;
    expect(await look()).toBe(false);
    await workspace.protect({ now: NOW });
    expect(await look()).toBe(false);
    await rotatePublisherKey({ ...workspace.keyOptions, now: NOW });
    expect(await look()).toBe(true);
    expect((await workspace.protect({ now: NOW + 1 })).changes).toMatchObject({ changed: 1, unchanged: 0 });
    await rotateRole({ ...workspace.keyOptions, now: NOW }, 'targets');
    expect(await look()).toBe(true);
    expect((await workspace.protect({ now: NOW + 1 })).publication).toMatchObject({ isNew: true, reasons: ['keys'] });
    expect(await look()).toBe(false);
    await workspace.protect({ now: NOW + 2, rekey: ['subscribers'] });
    expect(await look()).toBe(false);
  });

  it('after the machine was started anew, writes again what a power cut left cut short', async () => {
    workspace = await createWorkspace(
      { 'a.html': PAGE, 'b.css': 'b', 'c.txt': 'c'.repeat(900) },
      { public: ['*.css'] },
    );
    await workspace.protect({ now: NOW });
    const restart = () => {
      using index = new DatabaseSync(join(workspace.directory, 'publisher.db'));
      index.exec("UPDATE fact SET value = 'another' WHERE name = 'boot'");
    };
    restart();
    expect((await workspace.protect({ now: NOW + 1 })).changes).toEqual({ ...NOTHING, unchanged: 3 });
    const metadata = join(workspace.out, '.well-known/wispr');
    await truncate(await workspace.objectFile('/c.txt'), 100);
    await truncate(join(workspace.out, 'a.html'), 0);
    await truncate(join(metadata, '1.documents.json'), 10);
    for (const name of await readdir(workspace.out)) if (name.endsWith('.b.css')) await rm(join(workspace.out, name));
    for (const name of await readdir(workspace.out)) if (name === 'b.css') await truncate(join(workspace.out, name), 0);
    restart();
    const { changes, publication } = await workspace.protect({ now: NOW + 2 });
    expect([changes, publication.version]).toEqual([{ ...NOTHING, changed: 2, unchanged: 1 }, 2]);
    expect(await readFile(join(workspace.out, 'a.html'), 'utf8')).toContain('Teaser.');
    expect(await readFile(join(workspace.out, 'b.css'), 'utf8')).toBe('b');
    expect((await workspace.published({ now: NOW + 2 })).paths).toHaveLength(3);
  });
});

describe('old files', () => {
  const later = NOW + 60 * DAY;

  it('stay as long as a reader may hold the publication that names them, and go then', async () => {
    workspace = await createWorkspace({ 'a.txt': 'one', 'deep/b.txt': 'b', 'c.txt': 'c' });
    await workspace.protect({ now: NOW });
    const old = await workspace.objectFile('/a.txt');
    await workspace.write('a.txt', 'two');
    await rm(join(workspace.source, 'deep/b.txt'));
    expect(await workspace.protect({ now: NOW + 1 })).toMatchObject({ pruned: 0, waiting: 5 }); // two objects, two bins, a snapshot
    expect(await workspace.protect({ now: NOW + 16 * DAY })).toMatchObject({ pruned: 0 });
    expect(await readFile(old)).toBeDefined();
    expect((await workspace.protect({ now: later })).pruned).toBeGreaterThan(1);
    await expect(readFile(old)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await readdir(workspace.out)).not.toContain('deep');
    expect((await workspace.published({ now: later })).paths).toEqual(['/a.txt', '/c.txt']);
  });

  it('stay until the key server has confirmed what replaces them, where it is to', async () => {
    workspace = await createWorkspace({ 'a.txt': 'one' }, { keyServerTokenFile: 'token' });
    for (const [index, text] of ['one', 'two', 'three'].entries()) {
      await workspace.write('a.txt', text);
      expect(await workspace.protect({ now: NOW + index * 60 * DAY })).toMatchObject({ pruned: 0 });
    }
  });
});

describe('a new key for a set', () => {
  it('is made when it is asked for, and nothing else is written', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a', 'b.html': `<meta name="wispr-set" content="gold">${PAGE}` });
    const first = await workspace.protect({ now: NOW });
    const second = await workspace.protect({ now: NOW + 1, rekey: ['gold'] });
    expect(second.changes).toEqual({ ...NOTHING, rekeyed: 1, unchanged: 1 });
    expect(second.sets.map(({ isNew }) => isNew)).toEqual([true, false]);
    expect(second.sets[0]?.id).not.toBe(first.sets[0]?.id);
    expect((await workspace.published({ now: NOW + 1 })).paths).toHaveLength(2);
    await expect(workspace.protect({ rekey: ['silver'] })).rejects.toMatchObject({ code: 'argument-invalid' });
  });

  it('that a run made and then stopped is named by the next, which encrypts with it', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a', 'b.html': `<meta name="wispr-set" content="gold">${PAGE}` });
    await writeFile(join(workspace.directory, 'keyserver.pub'), toBase64url(xwingKeyPair(randomBytes(32)).publicKey));
    await workspace.protect();
    const onProgress = ({ stage }: Progress) => {
      if (stage === 'writing') throw new Error('stopped');
    };
    await expect(workspace.protect({ rekey: ['gold'], onProgress })).rejects.toThrow('stopped');
    expect(await workspace.protect()).toMatchObject({
      changes: { ...NOTHING, rekeyed: 1, unchanged: 1 },
      sets: [
        { name: 'gold', isNew: false, isRekeyed: true },
        { name: 'subscribers', isNew: false, isRekeyed: false },
      ],
    });
  });

  it('is made by itself on schedule', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a' }, { sets: [{ name: 'daily', path: '**', rekeyDays: 30 }] });
    await workspace.protect();
    const now = Math.floor(Date.now() / 1000);
    expect((await workspace.protect({ now: now + 29 * DAY })).changes.rekeyed).toBe(0);
    expect((await workspace.plan(now + 31 * DAY)).changes.rekeyed).toBe(1);
    expect((await workspace.protect({ now: now + 31 * DAY })).changes.rekeyed).toBe(1);
  });
});

describe('the index', () => {
  const lose = () => rm(join(workspace.directory, 'publisher.db'));

  it('attack 84: a document edited after it was lost is encrypted under another salt', async () => {
    const text = 'It was a dark and stormy night. '.repeat(10);
    workspace = await createWorkspace({ 'a.bin': text, 'b.bin': text });
    const salts = new Set<string>();
    const collect = async () => {
      for (const path of ['/a.bin', '/b.bin']) {
        const file = await workspace.objectFile(path);
        const { reader } = await workspace.open(path);
        salts.add((await readFile(file)).subarray(reader.head.length, reader.head.length + 24).toString('hex'));
      }
    };
    await workspace.protect();
    await collect();
    expect(salts.size).toBe(2);
    await lose();
    await workspace.write('a.bin', text.replace('dark', 'mild'));
    await workspace.protect();
    await collect();
    await lose();
    await workspace.write('a.bin', text);
    await workspace.protect();
    await collect();
    expect(salts.size).toBe(6);
  });

  it('that was lost takes nothing from readers, and the old files go in time', async () => {
    workspace = await createWorkspace({ 'a.html': PAGE, 'b.css': 'b' }, { public: ['*.css'] });
    const store: TrustedStore = new Map();
    await workspace.protect({ now: NOW });
    await workspace.published({ now: NOW, store });
    const old = await workspace.objectFile('/a.html');
    expect((await workspace.plan(NOW)).indexLost).toBeUndefined();
    await lose();
    expect(await workspace.plan(NOW + 1)).toMatchObject({ indexLost: 'missing', changes: { ...NOTHING, added: 2 } });
    expect(await workspace.protect({ now: NOW + 1 })).toMatchObject({
      ...{ publication: { version: 2 }, pruned: 0 },
      recovered: [expect.stringContaining('publisher.db knows of no finished run')],
    });
    expect(await readFile(old)).toBeDefined();
    expect((await workspace.published({ now: NOW + 1, store })).version).toBe(2);
    expect((await workspace.protect({ now: NOW + 60 * DAY })).pruned).toBeGreaterThan(0);
    await expect(readFile(old)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('that was lost together with the object of a page does not make its fallback page a stranger', async () => {
    workspace = await createWorkspace({ 'a.html': PAGE });
    await workspace.protect({ now: NOW });
    await rm(await workspace.objectFile('/a.html'));
    await lose();
    await workspace.protect({ now: NOW + 1 });
    expect((await workspace.published({ now: NOW + 1 })).paths).toEqual(['/a.html']);
    await rm(await workspace.objectFile('/a.html'));
    await lose();
    await writeFile(join(workspace.out, 'a.html'), '<title>A page</title>Another program made this');
    await expect(workspace.protect({ now: NOW + 2 })).rejects.toMatchObject({ code: 'output-foreign' });
  });

  it('does not know files that a killed run had just begun: they are ours, and no others with such names', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a' });
    await workspace.protect({ now: NOW });
    const begun = { 'b.txt.protected': '', 'c.txt.protected': 'wispr', 'd.css': 'h1 {', 'd.css.protected': 'wis' };
    for (const [name, text] of Object.entries(begun))
      await writeFile(join(workspace.out, `${'0'.repeat(64)}.${name}`), text);
    await workspace.protect({ now: NOW + 1 });
    await workspace.protect({ now: NOW + 60 * DAY });
    expect((await readdir(workspace.out)).filter((name) => name.startsWith('0000'))).toEqual([]);
    await writeFile(join(workspace.out, `${'0'.repeat(64)}.e.txt.protected`), 'wisp of hay');
    await expect(workspace.protect({ now: NOW + 60 * DAY })).rejects.toMatchObject({ code: 'output-foreign' });
  });

  it('does not know files that a killed run had not begun to write: they are taken away at once', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a', 'b.css': 'b' }, { public: ['*.css'] });
    await workspace.protect({ now: NOW });
    const begun = { 'a.txt.protected': '', 'b.css.protected': 'wis', 'b.css': '', 'new/c.txt.protected': '' };
    await mkdir(join(workspace.out, 'new'));
    const put = async (hash: string) => {
      for (const [name, text] of Object.entries(begun))
        await writeFile(join(workspace.out, dirname(name), `${hash}.${basename(name)}`), text);
    };
    await put('0'.repeat(64));
    expect((await verifyTree(workspace.out)).findings).toHaveLength(4);
    await workspace.protect({ now: NOW + 1 });
    expect((await verifyTree(workspace.out)).findings).toEqual([]);
    await put('0'.repeat(64));
    await lose();
    await workspace.protect({ now: NOW + 2 });
    expect((await verifyTree(workspace.out)).findings).toEqual([]);
    await writeFile(join(workspace.out, `${hash('sha256', '')}.b.css`), ''); // the file is whole, and may be of an earlier publication
    await workspace.protect({ now: NOW + 3 });
    expect(await readdir(workspace.out)).toContain(`${hash('sha256', '')}.b.css`);
  });

  it('that is damaged is made anew, and said to be', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a' });
    expect([(await workspace.plan(NOW)).indexLost, (await workspace.protect()).recovered]).toEqual([undefined, []]); // the first run has none to miss
    await writeFile(join(workspace.directory, 'publisher.db'), randomBytes(8192));
    expect(await workspace.plan(NOW)).toMatchObject({ indexLost: 'damaged', changes: { ...NOTHING, added: 1 } });
    const { recovered, publication } = await workspace.protect();
    expect(recovered).toEqual([expect.stringContaining('publisher.db is damaged')]);
    expect(publication.version).toBe(2);
    await truncate(join(workspace.directory, 'publisher.db'), 5000);
    expect((await workspace.protect()).recovered).toHaveLength(1);
  });

  it.each([
    ['PRAGMA user_version = 99', 'output-foreign'],
    ['PRAGMA application_id = 1', 'output-foreign'],
  ])('that is not ours or newer is left alone: %s', async (sql, code) => {
    workspace = await createWorkspace({ 'a.txt': 'a' });
    await workspace.protect();
    const database = new DatabaseSync(join(workspace.directory, 'publisher.db'));
    database.exec(sql);
    database.close();
    await expect(workspace.protect()).rejects.toMatchObject({ code });
  });
});

describe('bins', () => {
  it('attack 83: become more, never fewer, and readers go on', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a' });
    const store: TrustedStore = new Map();
    await workspace.protect({ now: NOW });
    const small = await workspace.published({ now: NOW, store });
    for (let index = 0; index < 40; index++) await workspace.write(`${index}.txt`, String(index));
    await workspace.protect({ now: NOW + 1 });
    const large = await workspace.published({ now: NOW + 1, store });
    expect([small.paths.length, large.paths.length]).toEqual([1, 41]);
    expect(large.files).toBeGreaterThan(small.files);
    for (let index = 0; index < 40; index++) await rm(join(workspace.source, `${index}.txt`));
    await rm(join(workspace.directory, 'publisher.db'));
    await workspace.protect({ now: NOW + 2 });
    const again = await workspace.published({ now: NOW + 2, store });
    expect([again.paths, again.files]).toEqual([['/a.txt'], large.files]);
  });

  it('and all roles are signed again in time', async () => {
    workspace = await createWorkspace({ 'a.txt': 'a' });
    await workspace.protect({ now: NOW });
    expect((await workspace.protect({ now: NOW + 300 * DAY })).publication).toMatchObject({ version: 1, signed: 1 });
    const { publication } = await workspace.protect({ now: NOW + 320 * DAY });
    expect(publication.version).toBe(2);
    expect(publication.reasons).toEqual(['settings', 'expiry']); // the descriptor ends too
    for (const { role, expires } of publication.expires) {
      if (!['root', 'timestamp'].includes(role)) expect([role, expires]).toEqual([role, NOW + 720 * DAY]);
    }
  });
});
