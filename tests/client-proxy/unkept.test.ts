/** What could not be written, and another process that has written meanwhile: nothing goes back, and what is written can be loaded. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { settleUnkept } from '../../client-proxy/store/settle-unkept.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { SitePublication, type SiteSource } from '../../core/publication/site-publication.ts';
import { inTurn } from '../../core/publication/sources.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type Filled, fillStore } from '../support/filled-store.ts';
import { type FullDisk, fillDisk } from '../support/full-disk.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';
import { TEST_SETTINGS, TestPublication } from '../support/test-publication.ts';

const SITE = 'news.example';
const cleanUp = new CleanUp();
let storage: ReturnType<typeof storageIn>;
let filled: Filled;
let disk: FullDisk | undefined;
beforeEach(async () => {
  storage = storageIn(await temporaryFolder(cleanUp));
  filled = await fillStore(storage, { site: SITE });
});
afterEach(async () => {
  disk?.makeRoom();
  await cleanUp.run();
});

const fill = () => {
  disk = fillDisk(storage.dataDirectory);
};
const openStore = async () => {
  const store = await ReaderStore.open(storeOptions(storage));
  cleanUp.add(async () => store.close());
  return store;
};
type Shown = ReadonlyMap<string, Uint8Array>;

/** By role: what happens to the other process right before or behind it. */
type Meanwhile = Readonly<Record<string, () => Promise<void>>>;

/** One process that reads the site, and what its content host shows to it. */
async function startReader(publication: TestPublication, meanwhile: Meanwhile = {}) {
  let shown: Shown = new Map();
  const get = async (path: string) => shown.get(path);
  const source: SiteSource = {
    metadata: (file) => get(METADATA_PATH + file),
    timestamps: (_, isEnough) => inTurn([() => get(`${METADATA_PATH}timestamp.json`)], isEnough),
    file: get,
  };
  const store = await openStore();
  const kept = store.publicationOf(SITE);
  const write = async (name: string, bytes: Uint8Array) => {
    const role = name.slice(name.indexOf(' ') + 1);
    await meanwhile[`before ${role}`]?.();
    await kept.write(name, bytes);
    await meanwhile[`behind ${role}`]?.();
  };
  const watched = { read: (name: string) => kept.read(name), write };
  const site = new SitePublication({ rootId: publication.rootId, source, store: watched });
  const refresh = (files: Shown) => {
    shown = files;
    return site.refresh(nowInSeconds() + 60);
  };
  /** As before every look. */
  const takeOver = async () => {
    kept.version();
    await site.reload();
  };
  return { store, kept, site, refresh, takeOver };
}

/** What a content host has now, but for some files. */
const filesOf = ({ files }: TestPublication, hidden?: RegExp) =>
  new Map([...files].filter(([path]) => hidden === undefined || !hidden.test(path)));
const NEW_ROOT = /2\.root\.json$/;

/** Seconds after the first timestamp. */
type Sign = (publication: TestPublication, begin: number) => Promise<Shown>;

/**
 * Two processes have publication 1, of second 10. This one verifies `ours` and cannot write it, the other one then `theirs`; and this one gets
 * to write. @returns what both have, and a process that starts then without any host
 */
async function meet(sign: { first: 'ours' | 'theirs'; ours: Sign; theirs: Sign }) {
  const { publication } = filled.publisher;
  const begin = nowInSeconds() - 3600;
  await publication.publish(begin + 10);
  const before = filesOf(publication);
  const [one, other] = [await startReader(publication), await startReader(publication)];
  await one.refresh(before);
  await other.takeOver();
  await other.refresh(before);
  one.kept.version();
  const shown: Record<string, Shown> = {};
  for (const who of sign.first === 'ours' ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const))
    shown[who] = await sign[who](publication, begin);
  fill();
  await one.refresh(shown.ours as Shown);
  expect(one.store.unkept?.code).toBe('disk-full');
  disk?.makeRoom();
  await other.refresh(shown.theirs as Shown);
  one.store.keepUnkept();
  expect(one.store.unkept).toBeUndefined();
  for (const reader of [one, other]) await reader.takeOver();
  const fresh = await startReader(publication);
  await fresh.site.load();
  const all = [one, other, fresh];
  const states = all.map(({ site: { state } }) => [
    state?.root.version,
    state && state.timestamp.version - begin,
    state?.snapshot.version,
  ]);
  const back = await Promise.all(all.map(({ refresh }) => refresh(before).then(() => 'accepted', codeOf)));
  return { states, back, all };
}

const codeOf = (error: unknown) => (error as { code?: string }).code;
/** Root, timestamp and publication, as all three have them. */
const everywhere = (...state: number[]) => [state, state, state];
const ROLLBACK = Array(3).fill('metadata-rollback');

const confirm =
  (second: number, hidden?: RegExp): Sign =>
  async (publication, begin) => {
    await publication.publishTimestamp(begin + second);
    return filesOf(publication, hidden);
  };
const publish =
  (second: number, hidden?: RegExp): Sign =>
  async (publication, begin) => {
    await publication.publish(begin + second);
    return filesOf(publication, hidden);
  };
const rotateAnd =
  (role: 'root' | 'timestamp' | 'snapshot' | 'targets', then: Sign): Sign =>
  async (publication, begin) => {
    await publication.rotate(role, begin + 20);
    return then(publication, begin);
  };
type Roles = TestPublication['roles'];
/** By the keys of before: the publisher knows no better, or a thief has them. */
const withKeys =
  (before: Roles, then: Sign): Sign =>
  async (publication, begin) => {
    const now = { ...publication.roles };
    Object.assign(publication.roles, before);
    publication.signAllAnew();
    const shown = await then(publication, begin);
    Object.assign(publication.roles, now);
    publication.signAllAnew();
    return shown;
  };
const keysNow = () => ({ ...filled.publisher.publication.roles });

describe('a state that another process is in the middle of writing', () => {
  it.each(['snapshot', 'targets', 'wispr:snapshot', 'wispr:targets', 'wispr:timestamp'])(
    'can be loaded where what waited is written right before its %s',
    async (role) => {
      const { publication } = filled.publisher;
      const begin = nowInSeconds() - 3600;
      await publication.publish(begin + 10);
      const one = await startReader(publication);
      await one.refresh(filesOf(publication));
      const theirs = await publish(30)(publication, begin);
      const ours = await confirm(40, /snapshot\.json$/)(publication, begin);
      const other = await startReader(publication, {
        'behind timestamp': async () => {
          await one.takeOver();
          fill();
          await expect(one.refresh(ours)).rejects.toMatchObject({ code: 'metadata-missing' });
          disk?.makeRoom();
        },
        [`before ${role}`]: async () => {
          one.kept.version(); // as with every request
        },
      });
      await other.refresh(theirs);
      one.store.keepUnkept();
      const fresh = await startReader(publication);
      await fresh.site.load();
      expect([fresh.site.state?.snapshot.version, fresh.site.freshness(nowInSeconds()).version]).toEqual([2, 2]);
    },
  );
});

describe('where another process has written meanwhile', () => {
  it('attack 28: the newer publication stays, whoever has verified it', async () => {
    const met = await meet({ first: 'theirs', theirs: confirm(20), ours: publish(30) });
    expect(met).toMatchObject({ states: everywhere(1, 30, 2), back: ROLLBACK });
  });

  it('attack 28: the newer publication stays, also where it was written already', async () => {
    const met = await meet({ first: 'ours', ours: confirm(20), theirs: publish(30) });
    expect(met).toMatchObject({ states: everywhere(1, 30, 2), back: ROLLBACK });
  });

  it.each(['ours', 'theirs'] as const)(
    'attack 28: of one publication the later confirmation stays, %s',
    async (whose) => {
      const [earlier, later] = [confirm(20), confirm(30)];
      const met = await meet(
        whose === 'ours'
          ? { first: 'theirs', theirs: earlier, ours: later }
          : { first: 'ours', ours: earlier, theirs: later },
      );
      expect(met).toMatchObject({ states: everywhere(1, 30, 1), back: ROLLBACK });
    },
  );

  it.each(['ours', 'theirs'] as const)('attack 28: a newer root that keeps these keys lets %s count', async (whose) => {
    const root = rotateAnd('root', confirm(20));
    const later = publish(30, NEW_ROOT);
    const met = await meet(
      whose === 'ours' ? { first: 'theirs', theirs: root, ours: later } : { first: 'ours', ours: root, theirs: later },
    );
    expect(met).toMatchObject({ states: everywhere(2, 30, 2), back: ROLLBACK });
  });

  it.each(['ours', 'theirs'] as const)('what replaced timestamp keys signed for %s is forgotten', async (whose) => {
    const root = rotateAnd('timestamp', confirm(20));
    const later = withKeys(keysNow(), publish(30, NEW_ROOT));
    const met = await meet(
      whose === 'ours' ? { first: 'theirs', theirs: root, ours: later } : { first: 'ours', ours: root, theirs: later },
    );
    expect(met).toMatchObject({ states: everywhere(2, 20, 1), back: Array(3).fill('metadata-signature') });
  });

  it.each(['ours', 'theirs'] as const)('and so is a timestamp for %s that names a replaced snapshot', async (whose) => {
    const root = rotateAnd('snapshot', publish(20));
    const later = withKeys(keysNow(), publish(30, NEW_ROOT));
    const met = await meet(
      whose === 'ours' ? { first: 'theirs', theirs: root, ours: later } : { first: 'ours', ours: root, theirs: later },
    );
    expect(met.states).toEqual(everywhere(2, 20, 2));
    const { publication } = filled.publisher;
    await publication.publish(nowInSeconds() - 3575, { version: publication.timestampVersion - 5 });
    for (const { refresh, site } of met.all) {
      await refresh(filesOf(publication));
      expect(site.state?.snapshot.version).toBe(4);
    }
  });

  it('of two states, one is kept that the keys of today have signed', async () => {
    const ours = rotateAnd('targets', publish(20));
    const theirs = withKeys(keysNow(), publish(30, NEW_ROOT));
    const met = await meet({ first: 'ours', ours, theirs });
    expect(met).toMatchObject({ states: everywhere(2, 20, 2), back: ROLLBACK });
  });
});

describe('of what two processes have, that is kept which', () => {
  /** All that a reader keeps of what it is shown, one after the other. */
  async function rowsOf(publication: TestPublication, ...shown: Shown[]) {
    const rows = new Map<string, Uint8Array>();
    const store = {
      read: async (name: string) => rows.get(name),
      write: async (name: string, bytes: Uint8Array) => void rows.set(name, bytes),
    };
    for (const files of shown) {
      const get = async (path: string) => files.get(path);
      const source: SiteSource = {
        metadata: (file) => get(METADATA_PATH + file),
        timestamps: (_, isEnough) => inTurn([() => get(`${METADATA_PATH}timestamp.json`)], isEnough),
        file: get,
      };
      await new SitePublication({ rootId: publication.rootId, source, store }).refresh(nowInSeconds());
    }
    return rows;
  }
  const isSame = (bytes: Uint8Array | undefined, other: Uint8Array | undefined) =>
    bytes !== undefined && other !== undefined && Buffer.from(bytes).equals(other);

  /** Publications 1 and 2 of a publisher. */
  async function twoOf(publication: TestPublication) {
    await publication.publish(nowInSeconds() - 3600);
    const first = filesOf(publication);
    publication.setSettings({ ...TEST_SETTINGS, cleanUrls: true });
    publication.signAllAnew();
    await publication.publish(nowInSeconds() - 1800);
    return { first: await rowsOf(publication, first), second: await rowsOf(publication, first, filesOf(publication)) };
  }

  it('is newer, of each publisher by itself', async () => {
    const publications = [await TestPublication.create(nowInSeconds()), await TestPublication.create(nowInSeconds())];
    const [a, b] = [await twoOf(publications[0] as TestPublication), await twoOf(publications[1] as TestPublication)];
    a.first.set(`${publications[0]?.rootId} documents`, new Uint8Array(1)); // which the other has not asked for yet
    const settled = settleUnkept(new Map([...a.second, ...b.first]), new Map([...a.first, ...b.second]));
    expect(settled.get(`${publications[0]?.rootId} documents`)).toHaveLength(1);
    for (const [name, bytes] of [...a.second, ...b.second])
      expect([name, isSame(settled.get(name), bytes)]).toEqual([name, true]);
  });

  it.each(['wispr:timestamp', 'wispr:snapshot', 'wispr:targets'])('is whole: not one with another %s', async (name) => {
    const { publication } = filled.publisher;
    const { first, second } = await twoOf(publication);
    publication.version = 1;
    publication.signAllAnew();
    await publication.publish(nowInSeconds() - 600);
    const row = `${publication.rootId} ${name}`; // of the same number, which an editor's other machine has signed
    const broken = new Map([
      ...second,
      [row, (await rowsOf(publication, filesOf(publication))).get(row) as Uint8Array],
    ]);
    for (const [ours, theirs] of [
      [first, broken],
      [broken, first],
    ] as const) {
      const settled = settleUnkept(ours, theirs);
      for (const part of ['timestamp', 'snapshot', 'targets']) {
        const used = settled.get(`${publication.rootId} wispr:${part}`);
        expect(isSame(used, first.get(`${publication.rootId} wispr:${part}`))).toBe(true);
        const newest = settled.get(`${publication.rootId} ${part}`);
        expect(isSame(newest, second.get(`${publication.rootId} ${part}`))).toBe(true);
      }
    }
  });

  it('is the later publication, though an earlier one was confirmed after it', async () => {
    const { publication } = filled.publisher;
    const now = nowInSeconds();
    await publication.publish(now - 3600);
    await publication.publishTimestamp(now, { version: now - 60 });
    const ours = await rowsOf(publication, filesOf(publication));
    await publication.publish(now, { version: now - 1800 });
    const theirs = await rowsOf(publication, filesOf(publication));
    const settled = settleUnkept(ours, theirs);
    const kept = (from: Shown, name: string) =>
      isSame(settled.get(`${publication.rootId} ${name}`), from.get(`${publication.rootId} ${name}`));
    expect(['wispr:timestamp', 'wispr:snapshot', 'snapshot'].map((name) => kept(theirs, name))).not.toContain(false);
    expect(kept(ours, 'timestamp')).toBe(true); // nothing goes back behind it
  });

  it('is not what was forgotten, though the other has it still', async () => {
    const { publication } = filled.publisher;
    const { second } = await twoOf(publication);
    await publication.rotate('timestamp', nowInSeconds());
    const root = `${publication.rootId} root`;
    const settled = settleUnkept(new Map([[root, publication.metadata('root', 2)]]), second);
    for (const name of ['timestamp', 'snapshot']) expect(settled.get(`${publication.rootId} ${name}`)).toHaveLength(0);
    expect(isSame(settled.get(root), publication.metadata('root', 2))).toBe(true);
  });

  it('is there: where the root of one is damaged, the other counts', async () => {
    const { publication } = filled.publisher;
    const { first, second } = await twoOf(publication);
    const damaged = new Map([...second, [`${publication.rootId} root`, new Uint8Array(3)]]);
    for (const settled of [settleUnkept(damaged, first), settleUnkept(first, damaged)])
      expect(isSame(settled.get(`${publication.rootId} root`), first.get(`${publication.rootId} root`))).toBe(true);
  });
});
