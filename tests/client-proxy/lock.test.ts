import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { RunMemory } from '../../client-proxy/documents/opening/run-memory.ts';
import { ReaderLock } from '../../client-proxy/identity/lock.ts';
import { findPublisher } from '../../client-proxy/identity/manage.ts';
import {
  forgetEverything,
  forgetPublisher,
  lockReader,
  protectIdentity,
  type ReaderError,
  startProxy,
  unlockReader,
} from '../../client-proxy/index.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { Upstream } from '../../client-proxy/network/upstream.ts';
import { BoundSites } from '../../client-proxy/site/bound-sites.ts';
import { HostHealth } from '../../client-proxy/site/host-health.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { send } from '../support/http-client.ts';
import { keptObjects, liesIn } from '../support/kept-objects.ts';
import { CleanUp, type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let rig: ReaderRig<HostileKeyServer>;
beforeEach(async () => {
  rig = cleanUp.use(await startHostileReaderRig());
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'for subscribers' });
});
afterEach(() => cleanUp.run());

const read = () => send(rig.proxy.port, rig.url('/a.html'));
const never = async () => expect.unreachable();
const setPassphrase = (passphrase: string) =>
  protectIdentity(rig.storage, { kind: 'passphrase', choose: async () => passphrase });

/** Opens a store with a passphrase function that only the store holds. */
async function openByPassphrase(text: string) {
  const passphrase = async () => text;
  const store = cleanUp.use(await ReaderStore.open({ ...storeOptions(rig.storage), passphrase }));
  return { store, passphrase: new WeakRef(passphrase) };
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

describe('a locked Reader', () => {
  it('opens nothing of a connected site, passes nothing of it through, and lets everything else be', async () => {
    expect((await read()).text).toBe('for subscribers');
    const [{ gateway = '' } = {}] = await rig.proxy.sites();
    rig.host.files.set('/a.html', Buffer.from('from the host'));
    expect(await lockReader(rig.storage)).toEqual({ url: rig.proxy.url, keysIn: 'key-file' });
    const asked = rig.host.requests.length;
    expect((await read()).headers['wispr-refusal']).toBe('reader-locked');
    const byGateway = await send(rig.proxy.port, '/a.html', { headers: { host: new URL(gateway).host } });
    expect([byGateway.status, byGateway.headers['wispr-refusal']]).toEqual([503, 'reader-locked']);
    expect(rig.host.requests.length).toBe(asked);
    expect((await send(rig.proxy.port, 'http://elsewhere.example/a.html')).text).toBe('from the host');
  });

  it('names its sites to browsers all the same, so that they do not go past it; forgotten ones no more', async () => {
    const listed = async () => (await send(rig.proxy.port, '/proxy.pac')).text.includes('"news.example"');
    expect(await listed()).toBe(true);
    await lockReader(rig.storage);
    expect(await listed()).toBe(true);
    await expect(setPassphrase('the right one')).rejects.toMatchObject({ code: 'reader-locked' });
    await unlockReader(rig.storage, never);
    await setPassphrase('the right one');
    await rig.restart({ mayStartLocked: true });
    expect([rig.proxy.lock.isLocked, await listed()]).toEqual([true, true]);
    await rig.proxy.lock.unlock('the right one');
    expect(await listed()).toBe(true);
    await rig.proxy.lock.lock();
    await forgetEverything(rig.storage);
    expect([rig.proxy.lock.isLocked, await listed()]).toEqual([true, false]);
  });

  it('names the document on its page as it is known, by whichever door', async () => {
    const { port } = rig.proxy;
    const host = new URL((await rig.proxy.gatewayUrl('news.example')) ?? '').host;
    await lockReader(rig.storage);
    const pages = [await read(), await send(port, '/a.html?q=1', { headers: { host } })];
    for (const { text } of pages) expect(text).toContain('<code>news.example/a.html</code>');
    const unknown = await send(port, '/a.html', { headers: { host: host.replace(/^\w+/, 'other') } });
    expect(unknown.text).toContain(`-mkrobieffw.localhost:${port}/a.html</code>`);
  });

  it('is unlocked without a passphrase where there is none, and reads on', async () => {
    await lockReader(rig.storage);
    chmodSync(rig.storage.keyFile, 0o644); // a refused key file does not count as a wrong passphrase
    for (let turn = 0; turn < 2 * LIMITS.wrongUnlocks; turn++)
      await expect(rig.proxy.lock.unlock()).rejects.toMatchObject({ code: 'storage-key-refused' });
    chmodSync(rig.storage.keyFile, 0o600);
    expect(await unlockReader(rig.storage, never)).toEqual({ url: rig.proxy.url, keysIn: 'key-file' });
    expect((await read()).text).toBe('for subscribers');
  });

  it('holds nothing that reading takes from that moment on, before anybody asks', async () => {
    await rig.proxy.close();
    const store = cleanUp.use(await ReaderStore.open(storeOptions(rig.storage)));
    const upstream = cleanUp.use(new Upstream());
    const sites = new BoundSites(store, upstream, new HostHealth(), nowInSeconds);
    await sites.refresh();
    expect(sites.all().map(({ site }) => site)).toEqual(['news.example']);
    expect(sites.find('news.example')?.site).toBe('news.example');
    const memory = new RunMemory();
    const [free, lent] = [memory.acquire(LIMITS.run), memory.acquire(LIMITS.run)];
    for (const piece of [free, lent]) new Uint8Array(piece).fill(7);
    memory.release(free);
    const lock = new ReaderLock(store, sites, memory);
    await lock.lock();
    expect(sites.all()).toEqual([]);
    expect(() => sites.find('news.example')).toThrow(expect.objectContaining({ code: 'reader-locked' }));
    await expect(store.bindings()).rejects.toMatchObject({ code: 'reader-locked' });
    memory.release(lent); // a piece on its way
    for (const piece of [free, lent]) expect(new Uint8Array(piece).every((byte) => byte === 0)).toBe(true);
    await lock.unlock();
    expect(sites.all()).toHaveLength(1);
  });

  it('keeps no way to its passphrase: nothing of it is left in memory', async () => {
    await setPassphrase('the right one');
    await rig.proxy.close();
    const { store, passphrase } = await openByPassphrase('the right one');
    await store.deviceSeed();
    const isThere = async () => {
      await new Promise(setImmediate); // `deref` holds what it returns to the end of the turn
      collectGarbage();
      return passphrase.deref() !== undefined;
    };
    await expect.poll(isThere).toBe(false);
  });

  it('is what starts where there is no terminal to ask for the passphrase', async () => {
    await setPassphrase('the right one');
    await rig.proxy.close();
    await expect(startProxy({ ...rig.storage, port: 0 })).rejects.toMatchObject({ code: 'passphrase-needed' });
    await rig.restart({ mayStartLocked: true });
    expect(rig.proxy.lock).toMatchObject({ isLocked: true, needsPassphrase: true });
    expect(await rig.proxy.sites()).toEqual([]);
    expect((await read()).headers['wispr-refusal']).toBe('reader-locked');
    await rig.proxy.lock.unlock('the right one');
    expect((await read()).text).toBe('for subscribers');
  });

  it('tries few passphrases at once, and after some wrong ones none for a while, then one each time; the right one begins anew', async () => {
    await setPassphrase('the right one');
    await rig.proxy.lock.lock();
    const attempt = async (passphrase: string) =>
      rig.proxy.lock.unlock(passphrase).then(
        () => undefined,
        ({ code }: ReaderError) => code,
      );
    const failOften = async () => {
      for (let turn = 0; turn < LIMITS.wrongUnlocks; turn++) expect(await attempt('wrong')).toBe('passphrase-wrong');
    };
    const pass = (milliseconds: number) => clock.mockReturnValue(performance.now() + milliseconds);
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    onTestFinished(() => clock.mockRestore());
    const some = LIMITS.unlocksWaiting + 1;
    const outcomes = await Promise.all(Array.from({ length: some }, () => attempt('the right one')));
    expect(outcomes).toEqual([...Array(some - 1).fill(undefined), 'too-many-requests']);
    await rig.proxy.lock.lock();
    await failOften();
    pass(LIMITS.unlockPause - 1);
    expect(await attempt('the right one')).toBe('too-many-requests');
    pass(1);
    const together = [attempt('wrong'), attempt('the right one')];
    expect(await Promise.all(together)).toEqual(['passphrase-wrong', 'too-many-requests']);
    pass(LIMITS.unlockPause);
    expect([await attempt('the right one'), rig.proxy.lock.isLocked]).toEqual([undefined, false]);
    await rig.proxy.lock.lock();
    await failOften();
  });
});

describe('a Reader that runs', () => {
  const cache = () => join(rig.storage.dataDirectory, 'cache');
  const kept = () => keptObjects(cache());
  const liesThere = () => liesIn(cache(), 'plain on the disk');

  /** Reads two documents, and waits until they are kept. The public one lies there as it is. */
  async function readAndKeep(): Promise<void> {
    await rig.restart({ cacheBytes: 64 * 1024 * 1024 });
    await rig.publisher.publishSigned(rig.host.files, '/public.html', { content: 'plain on the disk' });
    expect((await send(rig.proxy.port, rig.url('/public.html'))).text).toBe('plain on the disk');
    expect((await read()).text).toBe('for subscribers');
    await expect.poll(() => kept().length).toBe(2);
    expect(liesThere()).toBe(true);
  }

  it('forgets a publisher at once, and what was read: what was its site passes through', async () => {
    await readAndKeep();
    rig.host.files.set('/a.html', Buffer.from('from the host'));
    const publisher = await findPublisher(rig.storage, 'news.example');
    expect(publisher.sites).toEqual(['news.example']);
    expect(await forgetPublisher(rig.storage, publisher)).toMatchObject({ overwritten: true, cacheForgotten: true });
    expect([(await read()).text, kept(), liesThere()]).toEqual(['from the host', [], false]);
    await expect(findPublisher(rig.storage, 'news.example')).rejects.toMatchObject({ code: 'not-connected' });
  });

  it('forgets everything, and holds no key any more', async () => {
    await readAndKeep();
    expect(await forgetEverything(rig.storage)).toMatchObject({
      isRunning: true,
      keyFileLeft: rig.storage.keyFile,
      publishers: [{ sites: ['news.example'] }],
      cacheForgotten: true,
    });
    expect([kept(), liesThere()]).toEqual([[], false]);
    expect([rig.proxy.lock.isLocked, existsSync(rig.storage.keyFile)]).toEqual([true, true]);
    expect(await rig.proxy.sites()).toEqual([]);
    expect(await rig.proxy.status()).toMatchObject({ locked: false, sites: [] });
    const home = await send(rig.proxy.port, '/', { headers: { host: `localhost:${rig.proxy.port}` } });
    expect(home.text).toContain('No site is connected yet');
    expect(home.text).not.toContain('The Reader is locked');
  });
});
