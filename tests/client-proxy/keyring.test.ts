/** The key of the reader's database in a real keyring: a message bus, GNOME's keyring, and the library that talks to them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { describeIdentity, forgetEverything, protectIdentity } from '../../client-proxy/index.ts';
import { DEFAULT_LIMITS, type Limits } from '../../client-proxy/limits.ts';
import { readKeyring } from '../../client-proxy/store/keyring.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { enterKeyringSession, entryIn } from '../support/keyring-session.ts';
import { CleanUp } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let folder: string;
beforeEach(async () => {
  folder = await enterKeyringSession(cleanUp);
});
afterEach(() => cleanUp.run());

const storage = () => ({ dataDirectory: join(folder, 'data') });
const open = (more: { limits?: Limits } = {}) => ReaderStore.open(storeOptions({ ...storage(), ...more }));
const allBytes = () =>
  Buffer.concat(readdirSync(storage().dataDirectory).map((name) => readFileSync(join(storage().dataDirectory, name))));

it('a fresh database has its key there and in no file; it moves to a passphrase and back, and the keyring lets go of it', async () => {
  const store = await open();
  const seed = await store.deviceSeed();
  expect([store.keyLocation?.kind, store.isFresh]).toEqual(['keyring', true]);
  store.close();
  expect(existsSync(join(folder, 'config'))).toBe(false);
  expect((await describeIdentity(storage())).keysIn).toBe('keyring');
  const entry = entryIn(allBytes());
  const secret = await readKeyring(entry);
  expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
  for (const one of [secret ?? '', Buffer.from(seed)]) expect(allBytes().includes(one)).toBe(false);
  const set = await protectIdentity(storage(), { kind: 'passphrase', choose: async () => 'a passphrase' });
  expect(set).toMatchObject({ before: 'keyring', after: 'passphrase', discarded: true });
  expect(await readKeyring(entry)).toBeUndefined();
  const passphrase = async () => 'a passphrase';
  const back = await protectIdentity({ ...storage(), passphrase }, { kind: 'keyring' });
  expect(back).toMatchObject({ before: 'passphrase', after: 'keyring', discarded: true });
  const again = await open();
  expect([toBase64url(await again.deviceSeed()), again.isFresh]).toEqual([toBase64url(seed), false]);
  again.close();
});

it('a bus that takes connections and says nothing stalls no start: the key of a fresh database is elsewhere', async () => {
  const path = join(folder, 'silent');
  const silent: Server = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(path, resolve));
  cleanUp.add(async () => silent.close());
  const limits = { ...DEFAULT_LIMITS, keyringTimeout: 300, keyringProbeTimeout: 300 };
  vi.stubEnv('DBUS_SESSION_BUS_ADDRESS', `unix:path=${path}`);
  const store = await open({ limits });
  expect(store.keyLocation?.kind).toBe('key-file');
  store.close();
  await expect(protectIdentity({ ...storage(), limits }, { kind: 'keyring' })).rejects.toMatchObject({
    code: 'keyring-unavailable',
    message: expect.stringContaining('did not answer in time'),
  });
  (await open({ limits })).close();
});

it('forgetting everything takes the entry, too', async () => {
  const store = await open();
  await store.deviceSeed();
  store.close();
  const entry = entryIn(allBytes());
  expect(await readKeyring(entry)).toBeDefined();
  expect(await forgetEverything(storage())).toMatchObject({ keyDiscarded: true, isRunning: false });
  expect(await readKeyring(entry)).toBeUndefined();
  expect(existsSync(storage().dataDirectory)).toBe(false);
});

it('a database whose keyring is gone is not opened, not changed, and opens when it is back', async () => {
  const store = await open();
  const seed = toBase64url(await store.deviceSeed());
  store.close();
  const { DBUS_SESSION_BUS_ADDRESS: bus } = process.env;
  vi.stubEnv('DBUS_SESSION_BUS_ADDRESS', `unix:path=${join(folder, 'nobody')}`);
  const unlocking = expect.stringMatching(/unlock it; or .*protect passphrase.*protect key-file/);
  await expect(open()).rejects.toMatchObject({ code: 'keyring-unavailable', remedy: unlocking });
  for (const name of ['DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR']) vi.stubEnv(name, undefined);
  await expect(open()).rejects.toMatchObject({ code: 'keyring-unavailable' });
  const waiting = await ReaderStore.open({ ...storeOptions(storage()), mayWait: true });
  expect(waiting.isLocked).toBe(true);
  await expect(waiting.deviceSeed()).rejects.toMatchObject({ code: 'reader-locked' });
  vi.stubEnv('DBUS_SESSION_BUS_ADDRESS', bus);
  await waiting.unlock();
  expect(toBase64url(await waiting.deviceSeed())).toBe(seed);
  waiting.close();
});
