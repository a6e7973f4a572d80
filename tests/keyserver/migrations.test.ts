import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import type { Database } from '../../keyserver/storage/database.ts';
import { type Migratable, type Migration, migrate, SCHEMA_VERSION } from '../../keyserver/storage/migrations.ts';
import { FIRST_VERSION } from '../../keyserver/storage/schema.ts';
import { openState, storeOf } from '../../keyserver/storage/state.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { keepStateIn, storeIn } from '../support/store.ts';

/** The steps that are there take a database to {@link SCHEMA_VERSION}. */
const DONE = Array<Migration>(SCHEMA_VERSION - FIRST_VERSION).fill(() => '');

const nothing = async () => undefined;
/** Change that could come next. */
const COLUMN: Migration = ({ integer }) => `ALTER TABLE settings ADD COLUMN changed ${integer} NOT NULL DEFAULT 7`;
const ROW: Migration = () => "INSERT INTO settings (name, value) VALUES ('second', '')";
const FAILING: Migration = () => "INSERT INTO settings (name, value) VALUES ('third', ''); DROP TABLE no_such_table";

describe.each(['sqlite', 'postgres'] as const)('on %s', (kind) => {
  keepStateIn(kind);
  let folder: string;
  let config: KeyServerConfig;
  let opened: Database[];
  const open = async () => {
    const database = (await (await storeOf(config)).open(nothing)) as Migratable;
    opened.push(database);
    return database;
  };
  beforeEach(async () => {
    folder = temporaryFolder();
    config = { ...configIn(folder), ...(await storeIn(folder)) };
    const { database } = await openState(config);
    opened = [database];
    await database.run("INSERT INTO settings (name, value) VALUES ('first', 'kept')");
  });
  afterEach(async () => {
    for (const database of opened) await database.close();
  });

  const settings = (database: Database) => database.all('SELECT * FROM settings ORDER BY name');

  it('several processes take each step that is missing once, and keep what is there', async () => {
    const databases = await Promise.all([1, 2, 3].map(open));
    await Promise.all(databases.map((database) => migrate(database, nothing, [...DONE, COLUMN, ROW])));
    for (const database of databases) {
      expect(await database.version()).toBe(SCHEMA_VERSION + 2);
      expect(await settings(database)).toMatchObject([
        { name: 'first', value: 'kept', changed: 7 },
        { name: 'second', changed: 7 },
      ]);
    }
  });

  it('a step that fails leaves the version before it whole', async () => {
    const database = await open();
    await expect(migrate(database, nothing, [...DONE, COLUMN, FAILING])).rejects.toThrow('no_such_table');
    expect(await database.version()).toBe(SCHEMA_VERSION + 1);
    expect(await settings(database)).toMatchObject([{ name: 'first', changed: 7 }]);
    await migrate(database, nothing, [...DONE, COLUMN, ROW]);
    expect(await database.version()).toBe(SCHEMA_VERSION + 2);
  });

  it('attack 68: refuses a database of a newer version, and leaves it as it is', async () => {
    const version = SCHEMA_VERSION + 1;
    const database = await open();
    await database.setVersion(version);
    const message = expect.stringContaining(`has schema version ${version};`);
    await expect(openState(config)).rejects.toMatchObject({ code: 'store-unusable', message });
    expect([await database.version(), await settings(database)]).toMatchObject([version, [{ name: 'first' }]]);
  });
});
