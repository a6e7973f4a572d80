/** Rows 31 and 92 of the attack list through the running proxy: what the Reader keeps. Hostile metadata, with all rows: tests/publication. */
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { forEachTest } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const rig = forEachTest(startHostileReaderRig);
beforeEach(async () => {
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'good' });
  rig.publisher.afterPublishing = async () => undefined; // tests look for publications themselves
});

const get = (path = '/a.html') => send(rig.proxy.port, rig.url(path));

/** Changes what the Reader keeps, while it does not run. */
function alter(sql: string, ...values: Uint8Array[]): number {
  const database = new DatabaseSync(`${rig.storage.dataDirectory}/reader.db`);
  try {
    return Number(database.prepare(sql).run(...values).changes);
  } finally {
    database.close();
  }
}

describe('attack 31: a local copy that is damaged, cut short or old', () => {
  it('is fetched again', async () => {
    expect((await get()).text).toBe('good');
    await rig.proxy.close();
    const names = ['%root%', '%timestamp%', '%snapshot%', '%targets%', '%documents%', '%wispr:%', '%'];
    const damages = [utf8('nonsense'), new Uint8Array(0), randomBytes(1000)];
    for (const [index, name] of names.entries()) {
      const sql = `UPDATE publications SET bytes = ? WHERE name LIKE '${name}' AND name <> 'first root'`;
      expect(alter(sql, damages[index % damages.length] as Uint8Array), name).toBeGreaterThan(0);
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
    rig.host.files.set('/.well-known/wispr/1.root.json', other.root.bytes);
    await rig.restart();
    expect(refusalCode(await get())).toBe('root-unexpected');
  });
});

it('attack 92: a correctly signed object that the publication names no longer is a signed 404, also for a range of one that was open before', async () => {
  await rig.publisher.publish(rig.host.files, '/film.bin', { content: randomBytes(500_000) });
  await rig.proxy.check();
  const range = (path: string) => send(rig.proxy.port, rig.url(path), { headers: { range: 'bytes=400000-400009' } });
  expect((await range('/film.bin')).status).toBe(206);
  rig.publisher.publication.remove('/film.bin');
  await rig.publisher.sign(rig.host.files);
  await rig.proxy.check();
  for (const answer of [await range('/film.bin'), await range('/film.bin')])
    expect([answer.status, refusalCode(answer)]).toEqual([404, 'no-such-document']);
});
