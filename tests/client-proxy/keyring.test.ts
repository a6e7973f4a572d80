/** The key of the reader's database in a real keyring: a message bus, GNOME's keyring, and the library that talks to them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeIdentity, forgetEverything, protectIdentity } from '../../client-proxy/index.ts';
import { LIMITS } from '../../client-proxy/limits.ts';
import { deleteFromKeyring, readKeyring, writeKeyring } from '../../client-proxy/store/keyring.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { type KeyringSession, startKeyringSession } from '../support/keyring-session.ts';
import { CleanUp, temporaryFolder } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
const BUS = 'DBUS_SESSION_BUS_ADDRESS';
let session: KeyringSession;
let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder(cleanUp);
  const before = { bus: process.env[BUS], config: process.env.XDG_CONFIG_HOME };
  session = await startKeyringSession();
  process.env[BUS] = session.env[BUS];
  process.env.XDG_CONFIG_HOME = join(folder, 'config');
  cleanUp.add(async () => {
    restore(BUS, before.bus);
    restore('XDG_CONFIG_HOME', before.config);
    await session.close();
  });
});
afterEach(() => cleanUp.run());

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

const storage = () => ({ dataDirectory: join(folder, 'data') });
const open = () => ReaderStore.open(storeOptions(storage()));
const allBytes = () =>
  Buffer.concat(readdirSync(storage().dataDirectory).map((name) => readFileSync(join(storage().dataDirectory, name))));

it('an entry is written, read, and removed', async () => {
  expect(await readKeyring('reader test')).toBeUndefined();
  await writeKeyring('reader test', 'a secret');
  expect(await readKeyring('reader test')).toBe('a secret');
  await deleteFromKeyring('reader test');
  expect(await readKeyring('reader test')).toBeUndefined();
  await deleteFromKeyring('reader test'); // none is left also where there was none
});

it('a fresh database has its key there, and in no file', async () => {
  const store = await open();
  const seed = await store.deviceSeed();
  expect([store.keyPlace?.kind, store.isFresh]).toEqual(['keyring', true]);
  store.close();
  expect(existsSync(join(folder, 'config'))).toBe(false);
  expect(allBytes().includes(Buffer.from(seed))).toBe(false);
  expect((await describeIdentity(storage())).keysIn).toBe('keyring');
  const again = await open();
  expect(toBase64url(await again.deviceSeed())).toBe(toBase64url(seed));
  expect(again.isFresh).toBe(false);
  again.close();
});

it('the key moves to a passphrase and back, and the keyring lets go of what is not needed', async () => {
  const store = await open();
  const seed = toBase64url(await store.deviceSeed());
  store.close();
  const entry = entryOf();
  const secret = await readKeyring(entry);
  expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(allBytes().includes(secret ?? '')).toBe(false);
  const set = await protectIdentity(storage(), { kind: 'passphrase', choose: async () => 'a passphrase' });
  expect(set).toMatchObject({ before: 'keyring', after: 'passphrase', discarded: true });
  expect(await readKeyring(entry)).toBeUndefined();
  const passphrase = async () => 'a passphrase';
  const back = await protectIdentity({ ...storage(), passphrase }, { kind: 'keyring' });
  expect(back).toMatchObject({ before: 'passphrase', after: 'keyring', discarded: true });
  const again = await open();
  expect(toBase64url(await again.deviceSeed())).toBe(seed);
  again.close();
});

it('forgetting everything takes the entry, too', async () => {
  const store = await open();
  await store.deviceSeed();
  store.close();
  const entry = entryOf();
  expect(await readKeyring(entry)).toBeDefined();
  expect(await forgetEverything(storage())).toMatchObject({ keyDiscarded: true, isRunning: false });
  expect(await readKeyring(entry)).toBeUndefined();
  expect(existsSync(storage().dataDirectory)).toBe(false);
});

it('a database whose keyring is gone is not opened, not changed, and opens when it is back', async () => {
  const store = await open();
  const seed = toBase64url(await store.deviceSeed());
  store.close();
  const bus = process.env[BUS];
  process.env[BUS] = `unix:path=${join(folder, 'nobody')}`;
  const unlocking = expect.stringMatching(/unlock it; or .*protect passphrase.*protect key-file/);
  await expect(open()).rejects.toMatchObject({ code: 'keyring-unavailable', remedy: unlocking });
  const { XDG_RUNTIME_DIR: runtime } = process.env;
  for (const name of [BUS, 'XDG_RUNTIME_DIR']) delete process.env[name];
  cleanUp.add(async () => restore('XDG_RUNTIME_DIR', runtime));
  await expect(open()).rejects.toMatchObject({ code: 'keyring-unavailable' });
  const waiting = await ReaderStore.open({ ...storeOptions(storage()), mayWait: true });
  expect(waiting.isLocked).toBe(true);
  await expect(waiting.deviceSeed()).rejects.toMatchObject({ code: 'reader-locked' });
  process.env[BUS] = bus;
  await waiting.unlock();
  expect(toBase64url(await waiting.deviceSeed())).toBe(seed);
  waiting.close();
});

it('a bus that takes connections and says nothing stalls no start: the key of a fresh database is elsewhere', async () => {
  const path = join(folder, 'silent');
  const silent: Server = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(path, resolve));
  cleanUp.add(async () => silent.close());
  const before = { keyringTimeout: LIMITS.keyringTimeout, keyringProbeTimeout: LIMITS.keyringProbeTimeout };
  Object.assign(LIMITS, { keyringTimeout: 1500, keyringProbeTimeout: 1500 });
  process.env[BUS] = `unix:path=${path}`;
  try {
    const store = await open();
    expect(store.keyPlace?.kind).toBe('key-file');
    store.close();
    await expect(protectIdentity(storage(), { kind: 'keyring' })).rejects.toMatchObject({
      code: 'keyring-unavailable',
      message: expect.stringContaining('did not answer in time'),
    });
    (await open()).close();
  } finally {
    Object.assign(LIMITS, before);
  }
});

/** The name of the entry, as the database has it. */
function entryOf(): string {
  const [name] = /reader [A-Za-z0-9_-]{22}/.exec(allBytes().toString('latin1')) ?? [];
  if (name === undefined) throw new Error('the database names no entry');
  return name;
}
