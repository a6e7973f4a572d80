/** A Reader whose database cannot be written: what it verifies counts all the same, for as long as it runs. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findPublisher } from '../../client-proxy/identity/manage.ts';
import {
  forgetPublisher,
  lockReaders,
  protectIdentity,
  type ReaderError,
  unlockReaders,
} from '../../client-proxy/index.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { toHex } from '../../core/encoding/hex.ts';
import { type FullDisk, fillDisk } from '../support/full-disk.ts';
import type { HostileKeyServer } from '../support/hostile-key-server.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { type ReaderRig, startHostileReaderRig } from '../support/reader-rig.ts';

const DAY = 86_400;
const { idleCheck } = LIMITS;

let rig: ReaderRig<HostileKeyServer>;
let disk: FullDisk | undefined;
const told: (string | undefined)[] = [];
const onUnkept = (problem: ReaderError | undefined) => told.push(problem?.code);
beforeEach(async () => {
  told.length = 0;
  Object.assign(LIMITS, { idleCheck: 20 });
  rig = await startHostileReaderRig();
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' });
  await rig.restart({ onUnkept });
});
afterEach(async () => {
  disk?.makeRoom();
  await rig.close();
  Object.assign(LIMITS, { idleCheck });
});

const get = (path = '/a.html') => send(rig.proxy.port, rig.url(path));
const fill = () => {
  disk = fillDisk(rig.storage.dataDirectory);
  return disk;
};
const home = async () => (await send(rig.proxy.port, '/', { headers: { host: `localhost:${rig.proxy.port}` } })).text;

/** Takes back what is published now. @returns what the host had before, to be shown again */
async function withdraw(): Promise<Map<string, Uint8Array>> {
  const before = new Map(rig.host.files);
  const { publication } = rig.publisher;
  const version = publication.timestampVersion + 1;
  await publication.close(version, { expires: Math.floor(Date.now() / 1000) + DAY, version });
  for (const [path, bytes] of publication.files) rig.host.files.set(path, bytes);
  await rig.proxy.check();
  return before;
}

function showAgain(files: ReadonlyMap<string, Uint8Array>): void {
  for (const [path, bytes] of files) rig.host.files.set(path, bytes);
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
/** What stands for a role's metadata where nobody verifies them. */
const role = (version: number) => json({ signed: { version } });

describe('while the database cannot be written, because the disk is full', () => {
  it('attack 28: a withdrawn publication is shown no more, whatever the hosts show afterwards', async () => {
    expect((await get()).text).toBe('signed');
    fill();
    const before = await withdraw();
    expect(refusalCode(await get())).toBe('publication-withdrawn');
    showAgain(before);
    await rig.proxy.check().catch(() => undefined);
    expect(refusalCode(await get())).toBe('publication-withdrawn');
    await lockReaders(rig.storage);
    await unlockReaders(rig.storage, async () => expect.unreachable());
    expect(refusalCode(await get())).toBe('publication-withdrawn');
  });

  it('attack 67: a newer publication is taken, with its descriptor, and what needs a new key is read', async () => {
    expect((await get()).text).toBe('signed');
    fill();
    const set = await createSetKey();
    rig.keyServer.grant(set);
    await rig.publisher.publishSigned(rig.host.files, '/public.html', { content: 'for everybody' });
    await rig.publisher.publish(rig.host.files, '/new.html', { content: 'for subscribers', set });
    expect((await get('/public.html')).text).toBe('for everybody');
    expect((await get('/new.html')).text).toBe('for subscribers');
    rig.publisher.setDescriptor(rig.publisher.descriptor(rig.keyServer.origin, { name: 'The Evening Paper' }));
    await rig.publisher.sign(rig.host.files);
    expect((await rig.proxy.status()).sites).toMatchObject([{ publisher: 'The Evening Paper' }]);
    expect((await get()).text).toBe('signed');
  });

  it('says so: once in the log, and in status and on the first page for as long as it lasts', async () => {
    const { refusals } = fill();
    expect([(await rig.proxy.status()).unkept, await home()]).toEqual([undefined, expect.not.stringContaining('full')]);
    await withdraw();
    await get();
    await get('/b.html');
    await vi.waitFor(() => expect(refusals()).toBeGreaterThan(5)); // it is tried again
    expect(told).toEqual(['disk-full']);
    const { unkept } = await rig.proxy.status();
    expect(unkept).toEqual({
      code: 'disk-full',
      problem: "the disk is full: the reader's database cannot be written",
    });
    const page = await home();
    expect(page).toContain('The disk of this computer is full');
    expect(page).toContain('The Reader need not be restarted');
    disk?.makeRoom();
    await vi.waitFor(() => expect(told).toEqual(['disk-full', undefined]));
    expect([(await rig.proxy.status()).unkept, await home()]).toEqual([undefined, expect.not.stringContaining('full')]);
  });

  it('what could not be written is written when there is room, and a new start knows it', async () => {
    const set = await createSetKey();
    rig.keyServer.grant(set);
    fill();
    await rig.publisher.publish(rig.host.files, '/new.html', { content: 'for subscribers', set });
    expect((await get('/new.html')).text).toBe('for subscribers');
    const before = await withdraw();
    disk?.makeRoom();
    await vi.waitFor(() => expect(told.at(-1)).toBeUndefined());
    await rig.restart();
    showAgain(before);
    expect(refusalCode(await get())).toBe('publication-withdrawn');
    const store = await ReaderStore.open(storeOptions(rig.storage));
    const [binding] = await store.bindings();
    const { key = new Uint8Array(0) } = (await store.setKeys.get(binding?.id ?? 0, set.id)) ?? {};
    expect(toHex(key)).toBe(toHex(set.key));
    store.close();
  });

  it('a new start without that room knows what the database has, like a device that was off', async () => {
    expect((await get()).text).toBe('signed');
    fill();
    const before = await withdraw();
    await rig.proxy.close();
    showAgain(before);
    disk?.makeRoom();
    await rig.restart();
    expect((await get()).text).toBe('signed');
  });
});

it('a site that was disconnected meanwhile is no reason to try for ever', async () => {
  const store = await ReaderStore.open(storeOptions(rig.storage));
  fill();
  await store.publicationOf(rig.publisher.site).write('id timestamp', role(1));
  expect(store.unkept?.code).toBe('disk-full');
  disk?.makeRoom();
  await forgetPublisher(rig.storage, await findPublisher(rig.storage, rig.publisher.site));
  store.keepUnkept();
  expect(store.unkept).toBeUndefined();
  expect(await store.publicationOf(rig.publisher.site).read('id timestamp')).toBeUndefined();
  store.close();
});

it('attack 67: what has to be kept to count says that the disk is full, and changes nothing', async () => {
  const store = await ReaderStore.open(storeOptions(rig.storage));
  fill();
  const full = { code: 'disk-full', hint: expect.stringContaining('make room on the disk') };
  expect(() => store.preferences.saveSettings(new Map([['notices', 'off']]))).toThrow(expect.objectContaining(full));
  expect(() => store.identity().forgetBinding(1)).toThrow(expect.objectContaining(full));
  expect(store.preferences.settings().get('notices')).toBeUndefined();
  const named = { ...full, hint: expect.stringMatching(/make room on the disk on which .*reader\.db lies/) };
  await expect(protectIdentity(rig.storage, { kind: 'key-file' })).rejects.toMatchObject(named);
  store.close();
});
