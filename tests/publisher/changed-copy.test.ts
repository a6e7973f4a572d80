/** An output that is a copy of what somebody else serves, who has changed it, or who stole a key: what that claims is never signed. */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TufObject } from '../../core/publication/canonical.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { signMetadata } from '../../core/publication/writer.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { openIndex } from '../../publisher/index/open.ts';
import type { RoleRow } from '../../publisher/index/rows.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import type { OnlineRole } from '../../publisher/keys/key-store.ts';
import { planSite } from '../../publisher/protect/dry-run.ts';
import { placeInDirectory } from '../../publisher/publication/places.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { workspaceOf } from '../../publisher/workspace.ts';
import type { TrustedStore } from '../support/published.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 60_000 }); // each protects several times

const LARGEST = Number.MAX_SAFE_INTEGER - 1;
const MOST = 2 ** 48;
let made: TestWorkspace;
/** What a reader trusts, from one publication to the next. */
let store: TrustedStore;
beforeEach(async () => {
  made = await createWorkspace({ 'a.html': '<p>a', 'b.html': '<p>b' });
  await made.protect();
  store = new Map();
  await made.published({ store });
});
afterEach(() => made.remove());

const file = (name: string) => join(made.out, METADATA_PATH, name);
const here = (name: string) => join(made.directory, name);
const signedIn = async (name: string) => JSON.parse(await readFile(file(name), 'utf8')).signed as TufObject;
const rotate = (role: OnlineRole) =>
  rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, role);
const numbers = async () => [(await made.keyStore()).contents.publication, (await made.published({ store })).version];
const findings = async () => (await verifyTree(made.out)).findings.map(({ path, code }) => `${path} ${code}`);
const namesIn = async (version: number) =>
  Object.keys((await signedIn(`${version}.snapshot.json`)).meta as TufObject).sort();

/** As somebody signs who stole a key. */
async function steal(
  role: OnlineRole,
  name: string,
  changes: (signed: TufObject) => TufObject,
  as = name,
): Promise<void> {
  const { signers } = await made.keyStore();
  const signed = await signedIn(name);
  await writeFile(file(as), signMetadata({ ...signed, ...changes(signed) }, [signers[role]]));
}

/** As anybody can change a copy. */
async function edit(name: string, change: (signed: { meta: Record<string, unknown> }) => void): Promise<void> {
  const content = JSON.parse(await readFile(file(name), 'utf8'));
  change(content.signed);
  await writeFile(file(name), JSON.stringify(content));
}

const namedBy = (timestamp: TufObject, version: number) => {
  const meta = timestamp.meta as { [name: string]: TufObject };
  return {
    version: (timestamp.version as number) + 1,
    meta: { 'snapshot.json': { ...meta['snapshot.json'], version } },
  };
};
const claim = (version: number) => steal('timestamp', 'timestamp.json', (signed) => namedBy(signed, version));
const forge = (version: number) =>
  steal('snapshot', '1.snapshot.json', () => ({ version }), `${version}.snapshot.json`);

async function indexWith<Result>(work: (index: ReturnType<typeof openIndex>['index']) => Result): Promise<Result> {
  const { index } = openIndex(workspaceOf(made.configurationFile).index);
  using _closing = index;
  return work(index);
}

const rolesInIndex = () => indexWith((index) => [...index.roles().keys()].sort());

async function publish(target: string): Promise<number> {
  const opened = await openTarget(target);
  const workspace = workspaceOf(made.configurationFile);
  const { publication } = await publishSite({ workspace, out: made.out, target: opened, keysAreThere: true });
  opened.close();
  return publication;
}

describe('a number that', () => {
  it.each(['nothing', 'publisher.index'])('a timestamp claims is not used, where %s is lost', async (lost) => {
    await claim(LARGEST);
    await rm(here(lost), { force: true });
    expect((await made.protect()).publication.version).toBe(2);
    expect((await made.keyStore()).contents.publication).toBe(2);
    expect(await findings()).toEqual([]);
  });

  it('a timestamp claims is not used by an older key store either', async () => {
    await cp(here('publisher.keys'), here('older.keys'));
    await made.write('a.html', '<p>2');
    await made.protect();
    await cp(here('older.keys'), here('publisher.keys'));
    await claim(LARGEST);
    expect((await made.protect()).publication.version).toBe(3);
    expect((await made.keyStore()).contents.publication).toBe(3);
  });

  it.each([7, LARGEST, LARGEST + 1])('only the name of a file has is not used: %i', async (number) => {
    await cp(file('1.snapshot.json'), file(`${number}.snapshot.json`));
    await rm(here('publisher.index'));
    expect(await findings()).toEqual([`${METADATA_PATH}${number}.snapshot.json file-unsigned`]);
    await made.write('a.html', '<p>2');
    await made.protect();
    expect(await numbers()).toEqual([2, 2]);
  });

  it('a key of ours has signed is used, also one of before', async () => {
    await forge(6);
    await cp(file('1.snapshot.json'), file('9.snapshot.json')); // hides nothing
    await rotate('snapshot');
    await rm(here('publisher.index'));
    await made.protect();
    expect(await numbers()).toEqual([7, 7]);
  });

  it('nobody gets to by publishing is refused, until the key that signed it is none any more', async () => {
    await forge(MOST + 1);
    const refused = { code: 'number-out-of-bounds', hint: expect.stringContaining('wispr keys rotate snapshot') };
    for (const lost of ['nothing', 'publisher.index']) {
      await rm(here(lost), { force: true });
      await expect(made.protect()).rejects.toMatchObject(refused);
    }
    await rotate('snapshot');
    await made.protect();
    expect(await numbers()).toEqual([2, 2]);
  });

  it('is the highest that is taken over leaves as many again', async () => {
    await forge(MOST);
    for (const more of [1, 2]) {
      await made.write('a.html', `<p>${more}`);
      expect((await made.protect()).publication.version).toBe(MOST + more);
    }
    expect((await made.keyStore()).contents.publication).toBe(MOST + 2);
    await rm(here('publisher.index'));
    expect((await made.protect()).publication.version).toBe(MOST + 3);
  });

  it('has no next one is refused in plain words', async () => {
    const { seal, contents } = await made.keyStore();
    await writeFile(here('publisher.keys'), await seal({ ...contents, publication: LARGEST }));
    await expect(made.protect()).rejects.toMatchObject({ code: 'number-out-of-bounds' });
  });
});

describe('a snapshot key that was replaced', () => {
  /** What the root does not take away with the key, its thief has still. */
  let thief: RoleSigner;
  beforeEach(async () => {
    thief = (await made.keyStore()).signers.snapshot;
  });

  async function thiefSigns(number: number): Promise<void> {
    const { meta, ...rest } = await signedIn('1.snapshot.json');
    const lists = { ...(meta as TufObject), 'documents-fff.json': (meta as TufObject)['targets.json'] as TufObject };
    await writeFile(file(`${number}.snapshot.json`), signMetadata({ ...rest, meta: lists, version: number }, [thief]));
  }
  async function publishAnew(): Promise<void> {
    await cp(file('1.snapshot.json'), here('first'));
    await rotate('snapshot');
    await made.protect();
    await cp(here('first'), file('1.snapshot.json'));
    expect(await numbers()).toEqual([2, 2]);
  }

  it.each(['nothing', 'publisher.index'].flatMap((lost) => [50, MOST].map((number) => [lost, number] as const)))(
    'decides neither numbers nor lists, where %s is lost: %i',
    async (lost, number) => {
      await publishAnew();
      const before = await namesIn(2);
      await thiefSigns(number);
      await claim(number);
      await rm(here(lost), { force: true });
      for (const next of [3, 4]) {
        await made.write('a.html', `<p>${next}`);
        await made.protect();
        expect(await numbers()).toEqual([next, next]);
        expect(await namesIn(next)).toEqual(before);
      }
    },
  );

  it.each([
    ['no further than that', 65_539, 3],
    ['as far', 65_538, 65_539],
  ])('counts for little where nothing shows that it was: %s', async (_, number, next) => {
    await publishAnew();
    const before = await namesIn(2);
    await thiefSigns(number);
    await rm(file('2.snapshot.json')); // as a host shows it that has nothing of what was signed since
    await rm(here('publisher.index'));
    await made.protect();
    expect(await numbers()).toEqual([next, next]);
    expect(await namesIn(next)).toEqual(before);
  });

  it('counts for nothing where the index shows that it was', async () => {
    await publishAnew();
    await thiefSigns(50);
    await rm(file('2.snapshot.json'));
    await made.protect();
    expect(await numbers()).toEqual([3, 3]);
  });

  it('counts as much beyond what the index knows, where publisher.keys is older', async () => {
    await rotate('snapshot');
    await indexWith((index) => index.transaction(() => index.setFact('version', '10')));
    await thiefSigns(65_546);
    await made.protect();
    expect(await numbers()).toEqual([65_547, 65_547]);
  });

  it('leaves lists behind that are none any more, and readers take it', async () => {
    for (let index = 0; index < 40; index++) await made.write(`${index}.txt`, String(index));
    await made.protect();
    const { files } = await made.published({ store });
    for (let index = 0; index < 40; index++) await rm(join(made.source, `${index}.txt`));
    await rotate('snapshot');
    await rm(here('publisher.index'));
    await made.protect();
    expect(await numbers()).toEqual([3, 3]);
    expect((await made.published({ store })).files).toBeLessThan(files);
    expect(await findings()).toEqual([]);
  });
});

describe('files that are no snapshots', () => {
  it.each([
    [63, 7],
    [64, 2],
  ])('are looked into in no greater number than that: %i above ours', async (junk, next) => {
    await forge(6);
    for (let number = 1; number <= junk; number++) await writeFile(file(`${1000 + number}.snapshot.json`), 'x');
    await rm(here('publisher.index'));
    await made.protect();
    expect(await numbers()).toEqual([next, next]);
  });

  it('take no more memory than they have', async () => {
    await writeFile(file('1000.snapshot.json'), 'x');
    const read = (most: number) => placeInDirectory(made.out).read(`${METADATA_PATH}1000.snapshot.json`, most);
    expect((await read(16_777_216))?.buffer.byteLength).toBe(1);
    expect(await read(0)).toHaveLength(1); // one more shows that it is longer
  });
});

describe('a list that a snapshot names without a signature of ours', () => {
  const LISTS = ['root', 'timestamp', 'wispr:x', 'documents-ffffffff', 'documents-fff', 'junk'];

  it.each(LISTS.flatMap((name) => ['nothing', 'publisher.index'].map((lost) => [name, lost] as const)))(
    'is not signed, nor remembered: %s, where %s is lost',
    async (name, lost) => {
      const before = await namesIn(1);
      await edit('1.snapshot.json', ({ meta }) => {
        meta[`${name}.json`] = { version: 5, length: 10, hashes: { sha256: '00'.repeat(32) } };
      });
      if (lost === 'nothing')
        await edit('timestamp.json', ({ meta }) => {
          meta['snapshot.json'] = { version: 1, length: 10, hashes: { sha256: '11'.repeat(32) } };
        });
      await rm(here(lost), { force: true });
      expect((await planSite({ configurationFile: made.configurationFile })).otherPublication).toBe(lost === 'nothing');
      expect((await made.protect()).publication.version).toBe(2);
      expect(await namesIn(2)).toEqual(before);
      expect(await rolesInIndex()).toEqual([...before.map((each) => each.slice(0, -5)), 'snapshot'].sort());
      // Of a file that the index knows nothing of nobody can tell here that it is not ours of before.
      const left = lost === 'nothing' ? [] : [`${METADATA_PATH}1.snapshot.json file-unsigned`];
      expect(await findings()).toEqual(left);
      expect(await made.protect()).toMatchObject({ publication: { isNew: false }, recovered: [] });
    },
  );

  it('keeps nobody from publishing where the copy was made', async () => {
    const target = here('www');
    await publish(target);
    await edit('1.snapshot.json', ({ meta }) => {
      meta['junk.json'] = { version: 1, length: 10, hashes: { sha256: '00'.repeat(32) } };
    });
    await rm(here('publisher.index'));
    await made.protect();
    expect(await publish(target)).toBe(2); // though the good one is still there
  });

  it('is not taken from one under which our signature is, where it can be none', async () => {
    await steal('snapshot', '1.snapshot.json', ({ meta }) => {
      const junk = { version: 1, length: 10, hashes: { sha256: '00'.repeat(32) } };
      return {
        meta: { ...(meta as TufObject), 'root.json': junk, 'wispr:x.json': junk, 'documents-10000.json': junk },
      };
    });
    await rm(here('publisher.index'));
    const before = (await namesIn(1)).filter((name) => !/root|wispr|10000/.test(name));
    await made.protect();
    expect(await namesIn(2)).toEqual(before);
  });

  it('does not hide what the newest of ours names', async () => {
    await made.write('c.html', '<p>c');
    for (let index = 0; index < 40; index++) await made.write(`${index}.txt`, String(index));
    await made.protect();
    for (let index = 0; index < 40; index++) await rm(join(made.source, `${index}.txt`));
    const { files } = await made.published({ store });
    await claim(9);
    await rm(here('publisher.index'));
    await made.protect();
    const names = await namesIn(3);
    expect(names.length).toBe(files);
  });
});

describe('an index that an earlier version of the program had filled from such a one', () => {
  const junk = (name: string, version = 1): RoleRow => ({
    name,
    version,
    length: 10,
    sha256: '00'.repeat(32),
    expires: 0,
  });
  async function poison(...rows: RoleRow[]): Promise<void> {
    await indexWith((index) => index.correctRoles(rows));
    const index = new DatabaseSync(here('publisher.index'));
    index.exec("DELETE FROM fact WHERE name = 'learned'");
    index.close();
  }

  it('is as it was: what was not signed is forgotten', async () => {
    const before = [await rolesInIndex(), await namesIn(1)];
    await poison(
      ...['documents-fff', 'documents-ffffffff', 'root', 'junk'].map((name) => junk(name)),
      junk('documents-0', 9),
    );
    await made.protect();
    expect([await rolesInIndex(), await namesIn(2)]).toEqual(before);
    expect(await findings()).toEqual([]);
    await made.published({ store });
  });

  it('and signed from is put right: no list lies where the next root will be', async () => {
    const { signers } = await made.keyStore();
    const list = { _type: 'targets', spec_version: '1.0.31', version: 2, expires: '2030-01-01T00:00:00Z', targets: {} };
    await writeFile(file('2.root.json'), signMetadata(list, [signers.snapshot]));
    await poison({ ...junk('root', 2), expires: 2_000_000_000 });
    await made.protect();
    expect(await readdir(join(made.out, METADATA_PATH))).not.toContain('2.root.json');
    expect(await rolesInIndex()).not.toContain('root');
    expect(await publish(here('www'))).toBe(1);
  });

  it.each(['once for all', 'where the output is gone'])('keeps what was learned of a signed one %s', async (when) => {
    await poison(junk('documents-00'));
    if (when === 'once for all') await indexWith((index) => index.setFact('learned', 'signed'));
    else await rm(made.out, { recursive: true });
    await made.protect();
    expect(await rolesInIndex()).toContain('documents-00');
  });
});
