/** The key of the reader's database in a real keyring: what tests/client-proxy/keyring.test.ts leaves out. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { forgetEverything } from '../../../client-proxy/index.ts';
import { deleteFromKeyring, readKeyring, writeKeyring } from '../../../client-proxy/store/keyring.ts';
import { storeOptions } from '../../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../../client-proxy/store/store.ts';
import { toBase64url } from '../../../core/encoding/base64url.ts';
import { enterKeyringSession, entryIn } from '../../support/keyring-session.ts';
import { CleanUp } from '../../support/reader-rig.ts';

const cleanUp = new CleanUp();
let folder: string;
beforeEach(async () => {
  folder = await enterKeyringSession(cleanUp);
});
afterEach(() => cleanUp.run());

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
