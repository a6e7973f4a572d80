/** What waits until the disk has room: in which order it is written, how much of it, and what of it is nobody's any more. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { findPublisher } from '../../client-proxy/identity/manage.ts';
import { forgetPublisher, protectIdentity, type ReaderError } from '../../client-proxy/index.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import type { PublicationStore } from '../../client-proxy/store/publication-store.ts';
import { ReaderStore, type StoredBinding } from '../../client-proxy/store/store.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { keyIdOf } from '../../core/keys/key-id.ts';
import { type Filled, fillStore } from '../support/filled-store.ts';
import { type FullDisk, fillDisk } from '../support/full-disk.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';

const SITE = 'news.example';
const { unkeptKeys, publicationBytes } = LIMITS;
const cleanUp = new CleanUp();
let storage: ReturnType<typeof storageIn>;
let filled: Filled;
let store: ReaderStore;
let disk: FullDisk;
const told: (string | undefined)[] = [];
beforeEach(async () => {
  told.length = 0;
  storage = storageIn(await temporaryFolder(cleanUp));
  filled = await fillStore(storage, { site: SITE });
  store = await openStore();
  store.whenUnkept((problem: ReaderError | undefined) => told.push(problem?.code));
  disk = fillDisk(storage.dataDirectory);
});
afterEach(async () => {
  disk.makeRoom();
  Object.assign(LIMITS, { unkeptKeys, publicationBytes });
  await cleanUp.run();
});

const openStore = async () => {
  const opened = await ReaderStore.open(storeOptions(storage));
  cleanUp.add(async () => opened.close());
  return opened;
};
const bindingOf = async (one: ReaderStore) => (await one.bindings())[0] as StoredBinding;
/** What stands for a role's metadata where nobody verifies them. */
const role = (version: number) => Buffer.from(JSON.stringify({ signed: { version } }));
const textIn = async (kept: PublicationStore, name: string) => Buffer.from((await kept.read(name)) ?? []).toString();

/** Keys come, each with a request of its own. @returns their ids */
async function saveKeys(count: number) {
  const { id } = await bindingOf(store);
  const sets = await Promise.all(Array.from({ length: count }, createSetKey));
  for (const set of sets)
    await store.setKeys.save(id, new Map([[set.id, { key: set.key, notBefore: 0, notAfter: 2e9 }]]));
  return sets.map((set) => set.id);
}

/** As another process sees it, of the keys that {@link saveKeys} saved. */
async function keysInDatabase() {
  const other = await openStore();
  const { id } = await bindingOf(other);
  return other.setKeys.times(id).flatMap((key) => (key.notAfter === 2e9 ? [key.id] : []));
}

it('a publication and its withdrawals are written, however many keys wait; of those, the newest', async () => {
  Object.assign(LIMITS, { unkeptKeys: 3 });
  const ids = await saveKeys(5);
  const kept = store.publicationOf(SITE);
  await kept.write('id timestamp', role(9));
  await kept.write('id wispr:withdrawn', role(1));
  expect(told).toEqual(['disk-full']);
  disk.makeRoom();
  store.keepUnkept();
  expect(told).toEqual(['disk-full', undefined]);
  const other = (await openStore()).publicationOf(SITE);
  expect([await textIn(other, 'id timestamp'), await textIn(other, 'id wispr:withdrawn')]).toEqual(
    [role(9), role(1)].map(String),
  );
  expect((await keysInDatabase()).sort()).toEqual(ids.slice(-3).sort());
});

it('what keeps things from going back comes before keys, and it is over when all is written', async () => {
  const ids = await saveKeys(1);
  await store.publicationOf(SITE).write('id timestamp', role(9));
  disk.letThrough(1);
  store.keepUnkept();
  const other = (await openStore()).publicationOf(SITE);
  expect([await textIn(other, 'id timestamp'), await keysInDatabase()]).toEqual([String(role(9)), []]);
  expect([store.unkept?.code, told]).toEqual(['disk-full', ['disk-full']]);
  disk.makeRoom();
  store.keepUnkept();
  expect([store.unkept, told]).toEqual([undefined, ['disk-full', undefined]]);
  expect(await keysInDatabase()).toEqual(ids);
});

it('memory is bounded: what is too much to be held there is refused, and what was held stays', async () => {
  Object.assign(LIMITS, { publicationBytes: 1000 });
  const kept = store.publicationOf(SITE);
  await kept.write('id targets', new Uint8Array(900));
  await expect(kept.write('id snapshot', new Uint8Array(200))).rejects.toMatchObject({ code: 'disk-full' });
  await expect(kept.write('id targets', new Uint8Array(1001))).rejects.toMatchObject({ code: 'disk-full' });
  expect([(await kept.read('id targets'))?.length, await kept.read('id snapshot')]).toEqual([900, undefined]);
});

it('only what has changed is written: the rest takes no room', async () => {
  disk.makeRoom();
  const kept = store.publicationOf(SITE);
  for (const name of ['targets', 'timestamp']) await kept.write(`id ${name}`, role(1));
  const database = new DatabaseSync(join(storage.dataDirectory, 'reader.db'), { readOnly: true });
  const usedBy = (name: string) => database.prepare('SELECT used FROM publications WHERE name = ?').get(name)?.used;
  const before = usedBy('id targets');
  disk = fillDisk(storage.dataDirectory);
  await kept.write('id timestamp', role(2));
  disk.makeRoom();
  store.keepUnkept();
  expect(Number(usedBy('id timestamp'))).toBeGreaterThan(Number(before));
  expect(usedBy('id targets')).toBe(before);
  database.close();
});

it('what waits is written when the store is closed', async () => {
  const closed = await ReaderStore.open(storeOptions(storage));
  await closed.publicationOf(SITE).write('id timestamp', role(9));
  disk.makeRoom();
  closed.close();
  expect(await textIn((await openStore()).publicationOf(SITE), 'id timestamp')).toBe(String(role(9)));
});

it.each([
  ['later', 50, 'ours'],
  ['earlier', 200, 'theirs'],
] as const)(
  'of two descriptors, %s fetched here than by another process, the newer counts',
  async (_, theirs, whose) => {
    const { keyServer, publisher } = filled;
    const other = await openStore();
    const save = async (to: ReaderStore, name: string, fetched: number) => {
      const bytes = publisher.descriptor(keyServer, { name });
      to.saveDescriptor(await verifyDescriptor(bytes, 0), bytes, fetched);
    };
    await save(store, 'ours', 100);
    disk.makeRoom();
    await save(other, 'theirs', theirs);
    expect((await bindingOf(store)).descriptor.name).toBe(whose);
    store.keepUnkept();
    for (const one of [store, other]) expect((await bindingOf(one)).descriptor.name).toBe(whose);
  },
);

/** Connects with the same publisher, whether or not the device is connected already. */
async function connectAgain() {
  const { publisher, keyServer } = filled;
  const other = await openStore();
  const descriptorBytes = publisher.descriptor(keyServer);
  const descriptor = await verifyDescriptor(descriptorBytes, 0);
  const key = randomBytes(32);
  const deviceKey = { id: await keyIdOf('device', key), key };
  const sites = [{ site: SITE, label: 'news-example-x' }];
  const firstRoot = publisher.root.bytes;
  await other.saveBinding({ descriptor, descriptorBytes, deviceKey, sites, firstRoot }, 1);
}

it.each([[false], [true]])(
  'nothing of a publisher that was forgotten comes back, connected again: %s',
  async (again) => {
    const { id } = await bindingOf(store);
    await saveKeys(1);
    const kept = store.publicationOf(SITE);
    await kept.write('id timestamp', role(7));
    disk.makeRoom();
    await forgetPublisher(storage, await findPublisher(storage, SITE));
    if (again) {
      await connectAgain();
      expect((await bindingOf(store)).id).toBe(id);
    }
    expect(await textIn(store.publicationOf(SITE), 'id timestamp')).toBe('');
    store.keepUnkept();
    expect(store.unkept).toBeUndefined();
    const other = await openStore();
    expect([other.setKeys.times(id), await textIn(other.publicationOf(SITE), 'id timestamp')]).toEqual([[], '']);
  },
);

it('a publication that waits stays where the connection is merely renewed', async () => {
  await store.publicationOf(SITE).write('id timestamp', role(7));
  disk.makeRoom();
  await connectAgain();
  store.keepUnkept();
  expect(await textIn((await openStore()).publicationOf(SITE), 'id timestamp')).toBe(String(role(7)));
});

it('keys that wait are not written where all is sealed under another key meanwhile', async () => {
  await saveKeys(1);
  disk.makeRoom();
  await protectIdentity(storage, { kind: 'key-file' });
  await store.deviceSeed(); // this process has the new key
  store.keepUnkept();
  expect([store.unkept, await keysInDatabase()]).toEqual([undefined, []]);
  const [after] = await saveKeys(1);
  expect(await keysInDatabase()).toEqual([after]);
});

it('keys that come then wait without those of before', async () => {
  await saveKeys(1);
  disk.makeRoom();
  await protectIdentity(storage, { kind: 'key-file' });
  disk = fillDisk(storage.dataDirectory);
  const [after] = await saveKeys(1);
  disk.makeRoom();
  store.keepUnkept();
  expect(await keysInDatabase()).toEqual([after]);
});

it('where another process found room, what waits is written before anything is read', async () => {
  const kept = store.publicationOf(SITE);
  kept.version();
  await kept.write('id timestamp', role(9));
  disk.makeRoom();
  const other = (await openStore()).publicationOf(SITE);
  await other.write('id targets', role(1));
  await Promise.resolve(); // the number of changes is looked up once in a stretch of code
  kept.version();
  expect(await textIn(other, 'id timestamp')).toBe(String(role(9)));
});

it('what was written is not written again', async () => {
  const { keyServer, publisher } = filled;
  const save = async (to: ReaderStore, name: string, fetched: number) => {
    const bytes = publisher.descriptor(keyServer, { name });
    to.saveDescriptor(await verifyDescriptor(bytes, 0), bytes, fetched);
  };
  await save(store, 'before', 100);
  disk.makeRoom();
  store.keepUnkept();
  const other = await openStore();
  await save(other, 'after', 200);
  disk = fillDisk(storage.dataDirectory);
  await store.publicationOf(SITE).write('id timestamp', role(9));
  disk.makeRoom();
  store.keepUnkept();
  expect((await bindingOf(other)).descriptor.name).toBe('after');
});

it('keys that wait are nobody’s where the Reader is locked when there is room', async () => {
  await saveKeys(1);
  disk.makeRoom();
  store.lock();
  store.keepUnkept();
  expect(store.unkept).toBeUndefined();
  await store.unlock();
  disk = fillDisk(storage.dataDirectory);
  const [after] = await saveKeys(1);
  disk.makeRoom();
  store.keepUnkept();
  expect(await keysInDatabase()).toEqual([after]);
});
