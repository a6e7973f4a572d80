/** Locking while something else is under way: whatever began before ends in nothing, at whichever moment the lock comes. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { BoundSites } from '../../client-proxy/bound-sites.ts';
import { HostHealth } from '../../client-proxy/content/host-health.ts';
import { Upstream } from '../../client-proxy/content/upstream.ts';
import { ReaderLock } from '../../client-proxy/identity/lock.ts';
import { RunMemory } from '../../client-proxy/opening/run-memory.ts';
import { changeProtection } from '../../client-proxy/store/change-protection.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { newKeyFileKey } from '../../client-proxy/store/storage-key.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type ReaderRig, startReaderRig } from '../support/reader-rig.ts';

let rig: ReaderRig;
beforeAll(async () => {
  rig = await startReaderRig();
  await rig.proxy.close();
});
afterAll(() => rig.close());

let store: ReaderStore;
let sites: BoundSites;
let lock: ReaderLock;
let upstream: Upstream;
beforeEach(async () => {
  store = await ReaderStore.open(storeOptions(rig.storage));
  upstream = new Upstream();
  sites = new BoundSites(store, upstream, new HostHealth(), nowInSeconds);
  lock = new ReaderLock(store, sites, new RunMemory());
  await sites.refresh();
});
afterEach(async () => {
  await upstream.close();
  store.close();
});

/** Moments between which things happen: of promises that are there already, and of work that the system does. */
const MOMENTS = [
  ...Array.from({ length: 20 }, (_, count) => ({ count, pass: () => Promise.resolve() })),
  ...Array.from({ length: 20 }, (_, count) => ({ count, pass: () => nextTurn() })),
];
const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );
const moveKey = () => changeProtection(storeOptions(rig.storage), () => newKeyFileKey(rig.storage.keyFile));

it('an unlock that began earlier brings nothing back, and no site is left when the lock is there', async () => {
  const outcomes = new Set<string | undefined>();
  for (const { count, pass } of MOMENTS) {
    await lock.lock();
    const unlocking = outcomeOf(lock.unlock());
    for (let passed = 0; passed < count; passed++) await pass();
    await lock.lock();
    expect([lock.isLocked, sites.all(), sites.has('news.example')]).toEqual([true, [], true]);
    outcomes.add(await unlocking);
    await sites.refresh();
    expect([lock.isLocked, sites.all(), sites.has('news.example')]).toEqual([true, [], true]);
  }
  expect(outcomes).toContain('reader-locked'); // the lock came in between
  await lock.unlock();
  expect(sites.all()).toHaveLength(1);
});

it('unlocks that wait for others end with them', async () => {
  await lock.lock();
  const unlocking = [lock.unlock(), lock.unlock(), lock.unlock()].map(outcomeOf);
  await lock.lock();
  expect(await Promise.all(unlocking)).toEqual(['reader-locked', 'reader-locked', 'reader-locked']);
  expect(lock.isLocked).toBe(true);
  await lock.unlock();
  expect(lock.isLocked).toBe(false);
});

it('a lock that comes while the sites are read lets nobody have one, not even for a moment', async () => {
  await lock.lock();
  const bindings = store.bindings.bind(store);
  const watching = Promise.withResolvers<number[]>();
  const watch = async () => {
    const counts: number[] = [];
    while (counts.push(sites.all().length) < 50) await Promise.resolve();
    return counts;
  };
  vi.spyOn(store, 'bindings').mockImplementationOnce(async () => {
    const read = await bindings();
    expect(read).toHaveLength(1);
    await lock.lock();
    watching.resolve(watch());
    return read;
  });
  await lock.unlock();
  expect(new Set(await watching.promise)).toEqual(new Set([0]));
  expect([lock.isLocked, sites.all(), sites.has('news.example')]).toEqual([true, [], true]);
});

it('keys that are fetched anew, because another process moved them, stay away', async () => {
  const outcomes = new Set<string | undefined>();
  for (const count of Array.from({ length: 12 }, (_, index) => index)) {
    await moveKey();
    const using = outcomeOf(store.bindings());
    for (let passed = 0; passed < count; passed++) await nextTurn();
    await lock.lock();
    outcomes.add(await using);
    await nextTurn();
    expect(lock.isLocked).toBe(true);
    await lock.unlock();
  }
  expect(outcomes).toContain('reader-locked');
});

it('keys that cannot be fetched anew are no lock that anybody asked for: an unlock under way counts', async () => {
  await moveKey();
  const unlocking = outcomeOf(lock.unlock());
  await Promise.resolve();
  renameSync(rig.storage.keyFile, `${rig.storage.keyFile}.away`);
  const using = outcomeOf(store.bindings());
  renameSync(`${rig.storage.keyFile}.away`, rig.storage.keyFile);
  expect([await using, await unlocking, lock.isLocked]).toEqual(['reader-locked', 'done', false]);
});

it('what changes while the sites are read is there for whoever asks then', async () => {
  const database = new DatabaseSync(join(rig.storage.dataDirectory, 'reader.db'));
  try {
    database.exec("INSERT OR REPLACE INTO settings VALUES ('activity', 'off')");
    const earlier = sites.refresh();
    expect(earlier).toBeInstanceOf(Promise);
    const [{ label } = { label: '' }] = store.sites();
    database.prepare("UPDATE sites SET label = 'moved'").run();
    await sites.refresh();
    expect(sites.findLabel('moved')?.site).toBe('news.example');
    database.prepare('UPDATE sites SET label = ?').run(label);
    await earlier;
  } finally {
    database.close();
  }
});

it('needs nothing of the database: what cannot be read any more is locked all the same', async () => {
  expect(sites.all()).toHaveLength(1);
  const database = new DatabaseSync(join(rig.storage.dataDirectory, 'reader.db'));
  database.exec('ALTER TABLE sites RENAME TO elsewhere');
  try {
    await lock.lock();
    expect([lock.isLocked, sites.all(), sites.has('news.example')]).toEqual([true, [], true]);
    await expect((async () => sites.refresh())()).rejects.toThrow();
    expect(() => sites.find('news.example')).toThrow(expect.objectContaining({ code: 'reader-locked' }));
  } finally {
    database.exec('ALTER TABLE elsewhere RENAME TO sites');
    database.close();
  }
});
