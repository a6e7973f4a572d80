/** A database whose files are taken from under a program that has it open: what that program says or writes then, nobody else has. */
import { copyFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SettingsKeeper } from '../../client-proxy/settings/settings.ts';
import { openDatabase } from '../../client-proxy/store/database.ts';
import { DATABASE_FILES } from '../../client-proxy/store/locations.ts';
import { OpenedFile } from '../../client-proxy/store/opened-file.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { CleanUp, storageIn, temporaryFolder } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let directory: string;
let keyFile: string;
beforeEach(async () => {
  ({ dataDirectory: directory, keyFile } = storageIn(await temporaryFolder(cleanUp)));
});
afterEach(() => cleanUp.run());

const path = (name: string) => join(directory, name);

describe('the files of a database that is open', () => {
  let database: DatabaseSync;
  let file: OpenedFile;
  beforeEach(() => {
    ({ database, file } = openDatabase(directory));
    expect(file.isGone()).toBe(false);
  });
  afterEach(() => database.close());

  it('are the same whatever other programs do with it', () => {
    const another = openDatabase(directory).database;
    another.exec("INSERT INTO settings VALUES ('a', 'b'); PRAGMA wal_checkpoint(TRUNCATE); VACUUM");
    another.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    another.close();
    expect(file.isGone()).toBe(false);
  });

  it.each(DATABASE_FILES)('are gone where %s is', (name) => {
    rmSync(path(name));
    expect(file.isGone()).toBe(true);
  });

  it.each(DATABASE_FILES)('are gone where another took the place of %s', (name) => {
    copyFileSync(path(name), path('copy'));
    renameSync(path('copy'), path(name));
    expect(file.isGone()).toBe(true);
  });

  it('are gone where nobody can say, and that is no error', () => {
    renameSync(directory, `${directory}.away`);
    symlinkSync(directory, directory);
    expect([file.wasGone(), file.isGone()]).toEqual([false, true]); // the first of a moment ago
  });
});

it('are the first alone where the file system lets SQLite keep no others', () => {
  const [first, ...beside] = DATABASE_FILES.map(path);
  openDatabase(directory).database.close(); // which removes the others
  const file = new OpenedFile(first ?? '', beside);
  expect(file.isGone()).toBe(false);
  rmSync(first ?? '');
  expect(file.isGone()).toBe(true);
});

describe('a Reader whose log was removed, as where a backup was put back in place', () => {
  let store: ReaderStore;
  beforeEach(async () => {
    store = await ReaderStore.open({ directory, keyFile });
    for (const name of DATABASE_FILES.slice(1)) rmSync(path(name));
  });
  afterEach(() => store.close());

  it('has no keys any more, and gets none', async () => {
    await expect.poll(() => [store.version(), store.isLocked][1]).toBe(true);
    await expect(store.unlock()).rejects.toMatchObject({ code: 'store-unusable' });
  });

  it('keeps nothing, and says so', async () => {
    const settings = new SettingsKeeper(store.preferences);
    expect(() => settings.save(new Map([['port', '4000']]))).toThrow(
      expect.objectContaining({ code: 'store-unusable' }),
    );
    expect(settings.current.port).toBeUndefined();
    expect(() => store.preferences.decline(1, 'news.example')).toThrow(
      expect.objectContaining({ code: 'store-unusable' }),
    );
    expect(() => store.identity().forgetBinding(1)).toThrow(expect.objectContaining({ code: 'store-unusable' }));
    await expect(store.deviceSeed()).rejects.toMatchObject({ code: 'store-unusable' });
  });
});
