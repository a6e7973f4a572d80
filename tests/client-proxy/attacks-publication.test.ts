/** Rows 28, 31 and 92 of the attack list through the running proxy: what the Reader keeps. Hostile metadata, with all rows: tests/publication. */
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { forEachTest } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const METADATA = '/.well-known/wispr/';
const HOUR = 3600;
const DAY = 24 * HOUR;

const rig = forEachTest(startHostileReaderRig);
beforeEach(async () => {
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'good' });
  rig.publisher.afterPublishing = async () => undefined; // tests look for publications themselves
});

const get = (path = '/a.html') => send(rig.proxy.port, rig.url(path));
const now = () => Math.floor(Date.now() / 1000);
const publication = () => rig.publisher.publication;
const mutable = (path: string) => Buffer.from(rig.host.files.get(path) ?? []);

/** A new publication, on the host but not looked at yet. */
async function publishNext(): Promise<void> {
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'next' });
}

async function expectNext(): Promise<void> {
  await rig.proxy.check();
  expect((await get()).text).toBe('next');
}

/** A newer timestamp on the host. */
const publishTimestamp = () =>
  publication().publishTimestamp(now() - HOUR, { version: publication().timestampVersion + 1, expires: now() + DAY });

/** Changes what the Reader keeps, while it does not run. */
function alter(sql: string, ...values: Uint8Array[]): number {
  const database = new DatabaseSync(`${rig.storage.dataDirectory}/reader.db`);
  try {
    return Number(database.prepare(sql).run(...values).changes);
  } finally {
    database.close();
  }
}

it.each(['timestamp', 'snapshot'])('attack 28: an older %s is not taken, and the newer one stays', async (role) => {
  const path = `${METADATA}timestamp.json`;
  const before = mutable(path);
  await publishNext();
  await expectNext();
  if (role === 'timestamp') rig.host.files.set(path, before);
  else {
    // A timestamp that is newer, and names a snapshot that is older.
    publication().version--;
    await publishTimestamp();
    rig.host.files.set(path, publication().files.get(path) ?? new Uint8Array());
  }
  await expect(rig.proxy.check()).rejects.toMatchObject({ code: 'metadata-rollback' });
  expect((await get()).text).toBe('next');
});

describe('attack 31: a local copy that is damaged, cut short or old', () => {
  it('is fetched again', async () => {
    expect((await get()).text).toBe('good');
    await rig.proxy.close();
    for (const name of ['%root%', '%timestamp%', '%snapshot%', '%targets%', '%documents%', '%wispr:%', '%'])
      for (const damage of [utf8('nonsense'), new Uint8Array(0), randomBytes(1000)]) {
        const sql = `UPDATE publications SET bytes = ? WHERE name LIKE '${name}' AND name <> 'first root'`;
        expect(alter(sql, damage), name).toBeGreaterThan(0);
        await rig.restart();
        expect((await get()).text, name).toBe('good');
        await rig.proxy.close();
      }
  });

  it('a first root that was damaged is fetched again, and one that was exchanged is not believed', async () => {
    await rig.proxy.close();
    const other = await TestPublisher.create();
    alter('DELETE FROM publications');
    await rig.restart();
    expect((await get()).text).toBe('good');
    await rig.proxy.close();
    alter('DELETE FROM publications');
    rig.host.files.set(`${METADATA}1.root.json`, other.root.bytes);
    await rig.restart();
    expect(refusalCode(await get())).toBe('root-unexpected');
  });
});

it('attack 92: a correctly signed object that the publication names no longer is a signed 404, also for a range of one that was open before', async () => {
  await rig.publisher.publish(rig.host.files, '/film.bin', { content: randomBytes(500_000) });
  await rig.proxy.check();
  const range = (path: string) => send(rig.proxy.port, rig.url(path), { headers: { range: 'bytes=400000-400009' } });
  expect((await range('/film.bin')).status).toBe(206);
  publication().remove('/film.bin');
  await rig.publisher.sign(rig.host.files);
  await rig.proxy.check();
  for (const answer of [await range('/film.bin'), await range('/film.bin')])
    expect([answer.status, refusalCode(answer)]).toEqual([404, 'no-such-document']);
});
