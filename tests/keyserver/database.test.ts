/** The contract of keyserver/storage/database.ts; on-postgres.test.ts holds PostgreSQL to it. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../keyserver/storage/database.ts';
import { openState } from '../../keyserver/storage/state.ts';
import { configIn, temporaryFolder } from '../support/keyserver-rig.ts';
import { storeIn } from '../support/store.ts';

const folder = temporaryFolder();
/** Databases of two processes. */
let one: Database;
let two: Database;
beforeAll(async () => {
  const config = { ...configIn(folder), ...(await storeIn(folder)) };
  one = (await openState(config)).database;
  two = (await openState(config)).database;
});
afterAll(() => Promise.all([one.close(), two.close()]));
beforeEach(async () => {
  for (const table of ['settings', 'subscribers', 'publication', 'pushes']) await one.run(`DELETE FROM ${table}`);
});

const put = (database: Database, name: string, value = '') =>
  database.run('INSERT INTO settings (name, value) VALUES (?, ?)', name, value);
const names = async (database: Database) =>
  (await database.all<{ name: string }>('SELECT name FROM settings ORDER BY name')).map(({ name }) => name);

describe('a statement', () => {
  it('gives back numbers, text, bytes and nothing as they were given', async () => {
    const bytes = [new Uint8Array([0, 1, 0xff]), new Uint8Array(0)];
    const given = [...bytes, Number.MAX_SAFE_INTEGER, -1, 0, "it's $1, ? and \u{1f4f0}\n"];
    const columns = 'snapshot, timestamp, snapshot_version, version, expires, expiries';
    const sql = `INSERT INTO publication (id, ${columns}, published, who, place) VALUES (1, ?, ?, ?, ?, ?, ?, 7, '', '')`;
    await one.run(sql, ...given);
    const row = await two.first<{ snapshot: Uint8Array }>(`SELECT ${columns} FROM publication`);
    expect(Object.values(row ?? {})).toEqual(given);
    expect(row?.snapshot.constructor).toBe(Uint8Array);
    await one.run('INSERT INTO pushes (target, succeeded, failed) VALUES (?, ?, ?)', 'a', null, 1);
    expect(await one.all('SELECT succeeded, failed FROM pushes')).toMatchObject([{ succeeded: null, failed: 1 }]);
  });

  it('refuses a number that would lose digits', async () => {
    await one.run('INSERT INTO pushes (target, succeeded) VALUES (?, 9007199254740993)', 'a');
    await expect(one.first('SELECT succeeded FROM pushes')).rejects.toThrow();
    expect(await one.first('SELECT target FROM pushes')).toMatchObject({ target: 'a' });
  });

  it('says how many rows it has changed, and gives out numbers for new ones', async () => {
    await Promise.all(['a', 'b', 'c'].map((name) => put(one, name)));
    expect(await one.run('UPDATE settings SET value = ? WHERE name <> ?', 'x', 'a')).toBe(2);
    expect(await one.run('DELETE FROM settings WHERE name = ?', 'nothing')).toBe(0);
    const sql = 'INSERT INTO subscribers (name, name_key, created) VALUES (?, ?, 1) RETURNING id';
    const [ada, ben] = [await one.first<{ id: number }>(sql, 'A', 'a'), await two.first<{ id: number }>(sql, 'B', 'b')];
    expect([typeof ada?.id, ben?.id]).toEqual(['number', Number(ada?.id) + 1]);
  });

  it('that is wrong is refused, and the next one works', async () => {
    await expect(one.run('INSERT INTO nowhere (name) VALUES (?)', 'a')).rejects.toThrow();
    await put(one, 'a');
    await expect(put(one, 'a')).rejects.toThrow();
    expect(await names(two)).toEqual(['a']);
  });
});

describe('a transaction', () => {
  it('is there whole, or not at all', async () => {
    await one.transaction(async () => {
      await put(one, 'a');
      await put(one, 'b');
    });
    const failing = one.transaction(async () => {
      await put(one, 'c');
      await one.run('DELETE FROM settings WHERE name = ?', 'a');
      throw new Error('on the way');
    });
    await expect(failing).rejects.toThrow('on the way');
    expect(await names(two)).toEqual(['a', 'b']);
  });

  it('is not seen from outside before it has ended, nor does it take others along', async () => {
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const failing = one.transaction(async () => {
      await put(one, 'inside');
      expect(await names(one)).toEqual(['inside']);
      begun.resolve();
      await end.promise;
      throw new Error('undone');
    });
    const refused = expect(failing).rejects.toThrow('undone');
    await begun.promise;
    expect([await names(one), await names(two)]).toEqual([[], []]);
    const outside = put(one, 'outside');
    end.resolve();
    await Promise.all([refused, outside]);
    expect(await names(two)).toEqual(['outside']);
  });

  it('joins the one that it begins in', async () => {
    const failing = one.transaction(async () => {
      expect(await one.transaction(() => put(one, 'a'))).toBe(1);
      throw new Error('undone');
    });
    await expect(failing).rejects.toThrow('undone');
    expect(await names(one)).toEqual([]);
  });

  it('refuses a statement that was not awaited, once the transaction has ended', async () => {
    const ended = Promise.withResolvers<void>();
    let late: Promise<unknown> = Promise.resolve();
    await one.transaction(async () => {
      late = ended.promise.then(() => put(one, 'late'));
    });
    ended.resolve();
    await expect(late).rejects.toThrow('was not waited for');
    expect(await names(one)).toEqual([]);
  });

  it('counts as if no other ran beside it, in this process and in others', async () => {
    await put(one, 'count', '0');
    const increase = (database: Database) =>
      database.transaction(async () => {
        const row = await database.first<{ value: string }>('SELECT value FROM settings WHERE name = ?', 'count');
        await database.run('UPDATE settings SET value = ? WHERE name = ?', String(Number(row?.value) + 1), 'count');
      });
    const added = async (database: Database, name: string) =>
      database.transaction(async () => {
        const found = await database.first('SELECT 1 FROM settings WHERE name = ?', name);
        return found ? 0 : put(database, name);
      });
    const works = Array.from({ length: 20 }, (_, index) => [
      increase(one),
      increase(two),
      added(one, `name ${index}`),
      added(two, `name ${index}`),
    ]);
    const changed = await Promise.all(works.map(async ([, , a, b]) => Number(await a) + Number(await b)));
    await Promise.all(works.flat());
    expect(changed).toEqual(works.map(() => 1));
    expect(await two.first('SELECT value FROM settings WHERE name = ?', 'count')).toMatchObject({ value: '40' });
  });

  it('ends before the database is closed', async () => {
    const apart = mkdtempSync(join(folder, 'apart-'));
    const { database } = await openState({ ...configIn(apart), ...(await storeIn(apart)) });
    const work = database.transaction(async () => {
      await put(database, 'a');
      return put(database, 'b');
    });
    await database.close();
    expect(await work).toBe(1);
    await expect(database.first('SELECT 1 FROM settings')).rejects.toThrow();
  });
});
