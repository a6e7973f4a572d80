import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { openDatabase } from '../../client-proxy/store/database.ts';
import { PublicationStore } from '../../client-proxy/store/publication-store.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { fillStore } from '../support/filled-store.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const cleanUp = new CleanUp();
let storage: ReturnType<typeof storageIn>;
let directory: string;
let keyFile: string;
let file: string;
beforeEach(async () => {
  storage = storageIn(await temporaryFolder(cleanUp));
  directory = storage.dataDirectory;
  keyFile = storage.keyFile;
  file = join(directory, 'reader.db');
});
afterEach(() => cleanUp.run());

const saying = (passphrase?: string) => passphrase !== undefined && { passphrase: async () => passphrase };
const open = async (passphrase?: string) =>
  cleanUp.use(await ReaderStore.open({ directory, keyFile, ...saying(passphrase) }));
const fill = (passphrase?: string) => fillStore({ ...storage, ...saying(passphrase) });

/** Changes the database as another program would. */
function alter(sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

it('does not grow by what is written after room was taken for it', async () => {
  const store = await open();
  await store.deviceSeed();
  const publisher = await TestPublisher.create();
  const descriptorBytes = publisher.descriptor('https://keys.example');
  const descriptor = await verifyDescriptor(descriptorBytes, 0);
  const firstRoot = randomBytes(100_000);
  await store.requireRoom(descriptorBytes.length + firstRoot.length);
  const sizes = () => readdirSync(directory).map((name) => [name, statSync(join(directory, name)).size]);
  const before = sizes();
  const key = randomBytes(32);
  const deviceKey = { id: await keyIdOf('device', key), key };
  const sites = [{ site: 'news.example', label: 'news-example-x', proof: 'host' as const }];
  await store.saveBinding({ descriptor, descriptorBytes, deviceKey, sites, firstRoot }, 1);
  expect(sizes()).toEqual(before);
});

describe("the reader's store", () => {
  it('writes no secret in clear, and no file that others may read', async () => {
    const { deviceKey, set, seed } = await fill();
    const bytes = Buffer.concat(readdirSync(directory).map((name) => readFileSync(join(directory, name))));
    for (const secret of [deviceKey.key, set.key, seed]) {
      expect(bytes.includes(Buffer.from(secret))).toBe(false);
      expect(bytes.includes(toBase64url(secret))).toBe(false);
    }
    expect(bytes.includes(readFileSync(keyFile, 'utf8').trim())).toBe(false);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(directory)) expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(keyFile, '..'))).toEqual(['reader.key']);
  });

  it('has another version after a change of bindings, not after new set keys', async () => {
    const { set } = await fill();
    const store = await open();
    const before = store.version;
    await store.setKeys.save(1, new Map([[set.id, { key: set.key, notBefore: 0, notAfter: 1 }]]));
    expect(store.version).toBe(before);
    store.identity().forgetBinding(1);
    expect(store.version).not.toBe(before);
    await store.setKeys.save(1, new Map([[set.id, { key: set.key, notBefore: 0, notAfter: 1 }]]));
    expect(store.setKeys.times(1)).toEqual([]); // nothing of a binding that was forgotten meanwhile
  });

  it('refuses rows that were swapped or changed', async () => {
    const { set } = await fill();
    const other = await createSetKey();
    const store = await ReaderStore.open({ directory, keyFile });
    await store.setKeys.save(1, new Map([[other.id, { key: other.key, notBefore: 5, notAfter: 10 }]]));
    store.close();
    alter(`UPDATE set_keys SET key = (SELECT key FROM set_keys WHERE id = '${set.id}') WHERE id = '${other.id}';
      UPDATE set_keys SET not_after = 99 WHERE id = '${set.id}'; UPDATE bindings SET publisher = '${other.id}'`);
    const changed = await open();
    for (const { id } of [other, set])
      await expect(changed.setKeys.get(1, id)).rejects.toMatchObject({ code: 'store-damaged' });
    await expect(changed.bindings()).rejects.toMatchObject({ code: 'store-damaged' });
  });
});

describe('attack 68: a database', () => {
  const versioned = (version: number) => () => alter(`PRAGMA journal_mode = DELETE; PRAGMA user_version = ${version}`);
  const makeForeign = () => {
    writeFileSync(file, '');
    alter('CREATE TABLE recipes (name TEXT)');
  };
  it.each<[what: string, damage: () => void, code: string]>([
    ['is no database', () => writeFileSync(file, 'this is a text, and long enough'.repeat(9)), 'store-damaged'],
    ['was damaged', () => writeFileSync(file, readFileSync(file).fill(0x55, 4096, 12_000)), 'store-damaged'],
    ['was cut', () => writeFileSync(file, readFileSync(file).subarray(0, 5000)), 'store-damaged'],
    ['is of another program', makeForeign, 'store-damaged'],
    ['is of a later version', versioned(1000), 'store-unusable'],
    ['is of an unknown version', versioned(1), 'store-unusable'],
  ])('is refused where it %s, and not changed', async (_, damage, code) => {
    await fill();
    damage();
    const before = readFileSync(file);
    await expect(open()).rejects.toMatchObject({ code });
    expect([readFileSync(file).equals(before), readdirSync(directory)]).toEqual([true, ['reader.db']]);
  });

  it('is refused in a place that cannot be', async () => {
    await mkdir(join(directory, '..'), { recursive: true });
    await writeFile(directory, 'a file where the folder should be');
    await expect(open()).rejects.toMatchObject({ code: 'store-unusable' });
  });
});

describe('the storage key', () => {
  it('is not opened with a key that other users of the machine may read', async () => {
    const { set } = await fill();
    for (const mode of [0o644, 0o640, 0o604]) {
      chmodSync(keyFile, mode);
      await expect(open()).rejects.toMatchObject({ code: 'storage-key-refused' });
    }
    chmodSync(keyFile, 0o600);
    const store = await open();
    expect(await store.setKeys.get(1, set.id)).toBeDefined();
  });

  it('in another file, or in none, opens nothing and changes nothing', async () => {
    await fill();
    const good = readFileSync(keyFile);
    writeFileSync(keyFile, `${toBase64url(randomBytes(32))}\n`, { mode: 0o600 });
    await expect(open()).rejects.toMatchObject({ code: 'storage-key-refused' });
    writeFileSync(keyFile, 'nonsense', { mode: 0o600 });
    await expect(open()).rejects.toMatchObject({ code: 'storage-key-refused' });
    keyFile = join(directory, '..', 'elsewhere.key');
    await expect(open()).rejects.toMatchObject({ code: 'storage-key-refused' });
    expect(existsSync(keyFile)).toBe(false);
    writeFileSync(keyFile, good, { mode: 0o600 });
    await open();
  });

  it('in a file cannot be replaced by a passphrase in passing', async () => {
    await fill();
    await expect(open('new horse')).rejects.toMatchObject({ code: 'passphrase-unexpected' });
  });

  it.each([
    ['huge', 'memory', 2 ** 31],
    ['zero', 'memory', 0],
    ['zero', 'passes', 0],
    ['huge', 'passes', 2 ** 31],
    ['zero', 'parallelism', 0],
  ])('with %s parameters (%s) is not computed', async (_, name, value) => {
    await fill('correct horse');
    alter(
      `UPDATE storage SET value = CAST(json_set(CAST(value AS TEXT), '$.${name}', ${value}) AS BLOB) WHERE name = 'protection'`,
    );
    const began = Date.now();
    await expect(open('correct horse')).rejects.toMatchObject({ code: 'store-damaged' });
    expect(Date.now() - began).toBeLessThan(300);
  });
});

describe('a kept publication', () => {
  it('waits for the disk with what keeps a publication from going back, and not with what can be fetched again', async () => {
    await fill();
    const database = cleanUp.use(openDatabase(directory).database);
    const level = () => Number(database.prepare('PRAGMA synchronous').get()?.synchronous);
    const written: [name: string, level: number][] = [];
    database.function('seen', (name) => written.push([String(name), level()]));
    for (const change of ['INSERT', 'UPDATE'])
      database.exec(
        `CREATE TEMP TRIGGER on_${change} AFTER ${change} ON publications BEGIN SELECT seen(new.name); END`,
      );
    const store = new PublicationStore(database, 'news.example');
    const [NORMAL, FULL] = [1, 2];
    const lasting = ['root', 'timestamp', 'snapshot', 'targets', 'documents', 'wispr:withdrawn'];
    for (const name of lasting) await store.write(`id ${name}`, new Uint8Array(1));
    expect(written).toEqual(lasting.map((name) => [`id ${name}`, FULL]));
    written.length = 0;
    await store.write('id documents-3f', new Uint8Array(1));
    await store.read('id documents-3f');
    expect(written).toEqual([['id documents-3f', NORMAL]]);
    expect(level()).toBe(FULL);
    database.exec("CREATE TEMP TRIGGER refusing BEFORE INSERT ON publications BEGIN SELECT raise(ABORT, 'no'); END");
    await store.write('id documents-40', new Uint8Array(1)); // a file to fetch again
    expect(store.failure).toBeUndefined();
    await expect(store.write('id root', new Uint8Array(1))).rejects.toMatchObject({ code: 'store-unwritable' });
    expect(store.failure).toMatchObject({ code: 'store-unwritable' });
    expect(level()).toBe(FULL);
  });

  it('stays within its bound: sections and bins that were written first go first, nothing else', async () => {
    await fill();
    const store = await open();
    const kept = new PublicationStore(store.database, 'news.example', 3000);
    for (const name of ['root', 'snapshot', 'documents', 'wispr:settings'])
      await kept.write(`id ${name}`, randomBytes(2000));
    for (const name of ['a', 'b', 'c']) await kept.write(`id documents-${name}`, randomBytes(1000));
    await kept.write('id documents-d', randomBytes(1000));
    expect(await kept.read('id documents-a')).toBeUndefined();
    for (const name of ['b', 'c', 'd']) expect(await kept.read(`id documents-${name}`)).toHaveLength(1000);
    for (const name of ['root', 'snapshot', 'documents', 'wispr:settings'])
      expect(await kept.read(`id ${name}`)).toHaveLength(2000);
    expect(kept.firstRoot()?.length).toBeGreaterThan(100);
  });
});
