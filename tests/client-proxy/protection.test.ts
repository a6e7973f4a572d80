/** Protection of the secrets of the reader's database, and changing it. */
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { protectIdentity } from '../../client-proxy/index.ts';
import { storeOptions } from '../../client-proxy/store/locations.ts';
import { newPassphraseKey } from '../../client-proxy/store/storage-key.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { type Filled, fillStore, secretsIn } from '../support/filled-store.ts';
import { type Ended, ROOT, startCommand, startProgram } from '../support/programs.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let storage: ReturnType<typeof storageIn>;
beforeEach(async () => {
  storage = storageIn(await temporaryFolder(cleanUp));
});
afterEach(() => cleanUp.run());

const saying = (passphrase: string) => ({ ...storage, passphrase: async () => passphrase });
const setPassphrase = (passphrase: string, options = storage) =>
  protectIdentity(options, { kind: 'passphrase', choose: async () => passphrase });
const open = (options: Parameters<typeof storeOptions>[0] = storage) => ReaderStore.open(storeOptions(options));
const database = () => join(storage.dataDirectory, 'reader.db');
const files = () => readdirSync(storage.dataDirectory).filter((name) => name.startsWith('reader.db'));
const bytesNow = () => Buffer.concat(files().map((name) => readFileSync(join(storage.dataDirectory, name))));

describe('a passphrase', () => {
  it('is set, changed and taken away again, and every secret stays what it was', async () => {
    await fillStore(storage);
    const before = await secretsIn(storage);
    const first = await setPassphrase('the first one');
    expect(first).toMatchObject({ before: 'key-file', after: 'passphrase', discarded: false });
    await expect(open()).rejects.toMatchObject({ code: 'passphrase-needed' });
    expect(await secretsIn(saying('the first one'))).toEqual(before);
    const second = await setPassphrase('the second one', saying('the first one'));
    expect(second).toMatchObject({ before: 'passphrase', discarded: true });
    await expect(open(saying('the first one'))).rejects.toMatchObject({ code: 'passphrase-wrong' });
    expect(await secretsIn(saying('the second one'))).toEqual(before);
    expect(await protectIdentity(saying('the second one'), { kind: 'key-file' })).toMatchObject({ after: 'key-file' });
    expect(await secretsIn(storage)).toEqual(before);
  });

  it('leaves nothing in the files that the key of before opens', async () => {
    const filled = await fillStore(storage);
    const sealed = sealedIn(database());
    expect(sealed.length).toBeGreaterThanOrEqual(3);
    expect(sealed.every((value) => bytesNow().includes(value))).toBe(true);
    await setPassphrase('the first one');
    for (const value of sealed) expect(bytesNow().includes(value)).toBe(false);
    for (const secret of [filled.seed, filled.deviceKey.key, filled.set.key])
      expect(bytesNow().includes(Buffer.from(secret))).toBe(false);
  });

  it('is not set where a secret cannot be opened: nothing is lost for good', async () => {
    await fillStore(storage);
    const handle = new DatabaseSync(database());
    handle.prepare('UPDATE set_keys SET key = ?').run(randomBytes(60));
    handle.close();
    await expect(setPassphrase('the first one')).rejects.toMatchObject({ code: 'store-damaged' });
    expect(await secretsIn(storage)).toMatchObject({ seed: expect.any(String) });
  });
});

describe('a new passphrase', () => {
  let filled: Filled;
  beforeEach(async () => {
    filled = await fillStore(storage);
  });

  it('loses no key that is just being written', async () => {
    const store = await open();
    const keys = new Map([[filled.set.id, { key: filled.set.key, notBefore: 7, notAfter: 8 }]]);
    await Promise.all([
      store.setKeys.save(1, keys),
      store.changeProtection(() => newPassphraseKey('the first one')),
      store.setKeys.save(1, keys),
    ]);
    expect((await store.setKeys.get(1, filled.set.id))?.notBefore).toBe(7);
    store.close();
    const other = await open(saying('the first one'));
    expect((await other.setKeys.get(1, filled.set.id))?.notBefore).toBe(7);
    other.close();
  });

  it('is not taken where it is shorter than 8 characters, for a new database either', async () => {
    await expect(setPassphrase('1234567')).rejects.toMatchObject({ code: 'passphrase-too-short' });
    await expect(secretsIn(storage)).resolves.toMatchObject({ seed: toBase64url(filled.seed) });
    const fresh = storageIn(await temporaryFolder(cleanUp));
    const short = open({ ...fresh, passphrase: async () => 'é'.repeat(7) });
    await expect(short).rejects.toMatchObject({ code: 'passphrase-too-short' });
    (await open({ ...fresh, passphrase: async () => '12345678' })).close();
    await setPassphrase('12345678');
  });

  it('is set by one of several commands at one time, and opens the database', async () => {
    const passphrases = ['passphrase one', 'passphrase two', 'passphrase three'];
    const outcomes = await Promise.allSettled(passphrases.map((passphrase) => setPassphrase(passphrase)));
    const [winner = '', ...others] = passphrases.filter((_, index) => outcomes[index]?.status === 'fulfilled');
    expect(others).toEqual([]);
    expect(await secretsIn(saying(winner))).toMatchObject({ seed: toBase64url(filled.seed) });
  });
});

describe('files that others can get at', () => {
  it('are closed to them, and that is said', async () => {
    await fillStore(storage);
    const before = await open();
    expect(before.notices).toEqual([]);
    before.close();
    chmodSync(database(), 0o644);
    const store = await open();
    expect(statSync(database()).mode & 0o777).toBe(0o600);
    expect(store.notices).toEqual([expect.stringContaining(database())]);
    store.close();
  });

  it('in a folder where others may put theirs: refused, nothing is touched', async () => {
    await fillStore(storage);
    const before = await secretsIn(storage);
    chmodSync(storage.dataDirectory, 0o777);
    await expect(open()).rejects.toMatchObject({ code: 'store-unusable' });
    chmodSync(storage.dataDirectory, 0o700);
    expect(await secretsIn(storage)).toEqual(before);
  });
});

it('attack 67: where nothing more can be written, a change of the protection leaves the database as it was, and says why in a line', async () => {
  const { set } = await fillStore(storage);
  const store = await open();
  const ids = Array.from({ length: 800 }, () => toBase64url(randomBytes(32)));
  await store.setKeys.save(1, new Map(ids.map((id) => [id, { key: set.key, notBefore: 0, notAfter: 1 }])));
  store.close();
  const before = await secretsIn(storage);
  const file = join(storage.dataDirectory, '..', 'passphrase');
  writeFileSync(file, 'the first one\n', { mode: 0o600 });
  const where = ['--data', storage.dataDirectory, '--key-file', storage.keyFile, '--new-passphrase-file', file];
  const { code, stderr } = await withoutRoom(['identity', 'protect', 'passphrase', ...where]);
  expect(stderr).toMatch(/^wispr: the reader's database cannot be .*\[store-unwritable\]$/m);
  expect(code).toBe(1);
  expect(await secretsIn(storage)).toEqual(before);
  await setPassphrase('the first one');
  expect(await secretsIn(saying('the first one'))).toEqual(before);
});

it('attack 66: opens with the passphrase of before or the new one after kill -9 while it changes, and has lost nothing', async () => {
  const [one, two] = ['passphrase one', 'passphrase two'] as const;
  const { set } = await fillStore(saying(one));
  const store = await open(saying(one));
  const ids = Array.from({ length: 200 }, () => toBase64url(randomBytes(32))); // a change takes some time
  await store.setKeys.save(1, new Map(ids.map((id) => [id, { key: set.key, notBefore: 0, notAfter: 1 }])));
  store.close();
  const before = await secretsIn(saying(one));
  const loop = startProgram('tests/support/reprotect-loop.ts', [storage.dataDirectory, storage.keyFile, one, two]);
  await loop.line(/^ready$/);
  await setTimeout(Math.random() * 400);
  await loop.stop('SIGKILL');
  const isOne = await secretsIn(saying(one)).catch(() => undefined);
  const current = saying(isOne ? one : two);
  expect(await secretsIn(current)).toEqual(before);
  const again = await open(current);
  for (const id of ids) expect((await again.setKeys.get(1, id))?.notAfter).toBe(1);
  again.close();
});

/** Runs `wispr` where no file may grow beyond 40 KiB: the system's answer to a write is the same as on a full disk, but for its name. */
function withoutRoom(args: readonly string[]): Promise<Ended> {
  const script = `trap '' XFSZ; ulimit -f 40; exec "$@"`;
  return startCommand(['bash', '-c', script, 'bash', process.execPath, `${ROOT}bin/wispr.js`, ...args]).ended;
}

function sealedIn(file: string): Buffer[] {
  const handle = new DatabaseSync(file);
  const columns = ['value AS v FROM secrets', 'device_key AS v FROM bindings', 'key AS v FROM set_keys'];
  const rows = columns.flatMap((column) => handle.prepare(`SELECT ${column}`).all());
  const values = rows.map(({ v }) => Buffer.from(v as Uint8Array));
  handle.close();
  return values;
}
