import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { KeyServerConfig } from '../../keyserver/config.ts';
import { importBundle } from '../../keyserver/import-bundle.ts';
import { overview } from '../../keyserver/overview.ts';
import { ProviderReader } from '../../keyserver/provider.ts';
import { openState } from '../../keyserver/state.ts';
import { APPLICATION_ID, MIGRATIONS } from '../../keyserver/storage/schema.ts';
import { readPublication, readRoots } from '../../keyserver/timestamp/state.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { createPublisher, type PublisherWithSets, sealBundle } from '../support/publisher-with-sets.ts';

const ORIGINS = { keyServer: 'https://keys.news.example', reading: 'https://read.news.example' };
let folder: string;
let config: KeyServerConfig;
let publisher: PublisherWithSets;
beforeEach(async () => {
  folder = temporaryFolder();
  config = configIn(folder);
  publisher = await createPublisher();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A database as the version before publications left it, under a real master key. */
async function makeFirstVersion(): Promise<void> {
  const state = await openState(config);
  const rows = ['canary', 'recipient'].map((table) => state.database.prepare(`SELECT * FROM ${table}`).get());
  state.database.close();
  for (const end of ['', '-wal', '-shm']) rmSync(config.data + end, { force: true });
  const database = new DatabaseSync(config.data);
  database.exec(MIGRATIONS[0] ?? '');
  const [canary, recipient] = rows as [Record<string, Uint8Array>, Record<string, Uint8Array>];
  database.prepare('INSERT INTO canary (id, sealed) VALUES (1, ?)').run(canary.sealed ?? null);
  const columns = 'INSERT INTO recipient (id, public_key, sealed) VALUES (1, ?, ?)';
  database.prepare(columns).run(recipient.public_key ?? null, recipient.sealed ?? null);
  database
    .prepare("INSERT INTO provider VALUES (1, ?, ?, 5, 'digest', x'00', 1000)")
    .run(publisher.identity.id, publisher.workspace);
  database.exec(`
    INSERT INTO sets VALUES ('set-id', 'day-1', 'news.example', x'00', 1000);
    INSERT INTO subscribers VALUES (1, 'Ada', 'ada', 1000, NULL);
    INSERT INTO grants VALUES (1, 1, '*', 1000, NULL);
    INSERT INTO devices VALUES (1, 1, 'digest', 'device-key-id', x'00', 1000, 2000, NULL);
    PRAGMA user_version = 1; PRAGMA application_id = ${APPLICATION_ID}`);
  database.close();
}

it('attack 68: a database of the version before is brought up to date, and loses nothing', async () => {
  await makeFirstVersion();
  const state = await openState(config);
  try {
    expect(state.database.prepare('PRAGMA user_version').get()).toEqual({ user_version: MIGRATIONS.length });
    expect(overview(state)).toMatchObject({
      publisher: { id: null, key: publisher.identity.id, serial: 5 },
      publication: null,
      sets: [{ name: 'day-1' }],
      subscribers: [{ name: 'Ada', grants: [{ pattern: '*' }], devices: [{ id: 'device-k', lastSeen: 2000 }] }],
    });
    // A descriptor without a root says nothing any more: readers wait for the next bundle.
    expect(await new ProviderReader(state.database).read()).toBeUndefined();
    expect(readRoots(state.database)).toBeUndefined();
  } finally {
    state.database.close();
  }
});

it('attack 90: and the publisher it knew is the one whose next bundle pins the root', async () => {
  await makeFirstVersion();
  const state = await openState(config);
  const importFrom = async (by: PublisherWithSets, serial = 6) => {
    const options = { ...ORIGINS, content: 'https://cdn.example', serial };
    return importBundle(state, await sealBundle(by, state.recipient.publicKey, options), ORIGINS);
  };
  try {
    const stranger = await createPublisher();
    await expect(importFrom(stranger)).rejects.toMatchObject({ code: 'bundle-foreign' });
    const copied = { ...stranger, workspace: publisher.workspace };
    await expect(importFrom(copied)).rejects.toMatchObject({ code: 'publisher-key-changed' });
    await expect(importFrom(publisher, 4)).rejects.toMatchObject({ code: 'bundle-older' });
    expect(await importFrom(publisher)).toMatchObject({ outcome: 'pinned', publisher: publisher.root.id, newSets: 2 });
    expect((await new ProviderReader(state.database).read())?.publisher).toBe(publisher.root.id);
    expect(overview(state).sets).toHaveLength(3);
  } finally {
    state.database.close();
  }
});

it('attack 68: a publication that a database of before knows of counts as handed over, with its withdrawals', async () => {
  const before = await openState(config);
  before.database.exec(`
    ALTER TABLE publication DROP COLUMN least;
    ALTER TABLE publication DROP COLUMN ended;
    ALTER TABLE publication DROP COLUMN handed_over;
    INSERT INTO publication (id, timestamp, version, snapshot, expires, withdrawn, expiries)
      VALUES (1, x'00', 1000, 7, 2000, '[3]', '[]');
    PRAGMA user_version = ${MIGRATIONS.length - 2}`);
  before.database.close();
  const state = await openState(config);
  try {
    const known = { version: 1000, least: 1000, snapshot: 7, handedOver: 7, withdrawn: [3], ended: [] };
    expect(readPublication(state.database)).toMatchObject(known);
  } finally {
    state.database.close();
  }
});
