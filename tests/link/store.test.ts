/** What a relay remembers: bounded, for a time, for its owner, and never in the way of a connection. */
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { LIMITS } from '../../link/limits.ts';
import { CertificateStore } from '../../link/store/store.ts';
import { entryOf, hashOf } from '../../link/substitution/compressed.ts';

const DAY = 86_400;
const newFile = () => join(mkdtempSync(join(tmpdir(), 'wispr-link-store-')), 'link.db');
const certificate = (text: string) => Buffer.from(text.padEnd(40, '.'));

it('gives back the chain that came last, and keeps it over a restart', () => {
  const file = newFile();
  const first = new CertificateStore(file);
  first.learnChain('a:443', [certificate('old')]);
  first.learnChain('a:443', [certificate('new'), certificate('authority')]);
  first.close();
  const second = new CertificateStore(file);
  expect(second.recall('a:443').chain).toEqual([certificate('new'), certificate('authority')]);
  expect(second.recall('a:444').chain).toEqual([]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  second.close();
});

it('remembers the last client certificates of a name, and finds them by their first bytes', () => {
  const store = new CertificateStore(newFile());
  const hashes = Array.from({ length: 12 }, (_, index) => hashOf(certificate(`person ${index}`)));
  for (const hash of hashes) store.learnClient('a:443', [hash]);
  expect(store.recall('a:443').clientHashes).toEqual(hashes.slice(-8).reverse());
  store.learn([certificate('person 3')]);
  expect(store.find(entryOf(hashOf(certificate('person 3'))))).toEqual(certificate('person 3'));
  expect(store.find(entryOf(hashOf(certificate('person 4'))))).toBeUndefined();
  store.close();
});

it('forgets what was not used for 90 days', () => {
  const file = newFile();
  let now = 20_000 * DAY;
  const open = () => new CertificateStore(file, { now: () => now });
  const first = open();
  first.learnChain('used:443', [certificate('used')]);
  first.learnChain('unused:443', [certificate('unused')]);
  now += 60 * DAY;
  first.recall('used:443');
  first.close();
  now += 60 * DAY;
  const second = open();
  expect(second.recall('used:443').chain).toHaveLength(1);
  expect(second.recall('unused:443').chain).toHaveLength(0);
  expect(second.find(entryOf(hashOf(certificate('unused'))))).toBeUndefined();
  second.close();
});

it('keeps a bounded number of names, the ones written last', () => {
  const file = newFile();
  new CertificateStore(file).close();
  const database = new DatabaseSync(file);
  database.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${LIMITS.storedNames})
    INSERT INTO names SELECT 'host' || i, x'', x'', 30000 FROM n`);
  database.close();
  const store = new CertificateStore(file, { now: () => 30_000 * DAY });
  store.learnChain('one more:443', [certificate('more')]);
  store.close();
  const after = new DatabaseSync(file);
  expect(after.prepare('SELECT count(*) AS names FROM names').get()).toEqual({ names: LIMITS.storedNames });
  expect(after.prepare("SELECT name FROM names WHERE name IN ('host1', 'one more:443')").all()).toEqual([
    { name: 'one more:443' },
  ]);
  after.close();
});

it('refuses what is no store of its own, and leaves it as it is', () => {
  const file = newFile();
  writeFileSync(file, 'something else entirely, and long enough to be looked at');
  expect(() => new CertificateStore(file)).toThrow(expect.objectContaining({ code: 'link-store' }));
  expect(readFileSync(file, 'utf8')).toMatch(/^something else/);
  const other = newFile();
  new DatabaseSync(other).exec('PRAGMA user_version = 7; CREATE TABLE t (x)');
  expect(() => new CertificateStore(other)).toThrow(expect.objectContaining({ code: 'link-store' }));
});

it('works on without its tables, and says so once', () => {
  const file = newFile();
  new CertificateStore(file).close();
  const database = new DatabaseSync(file);
  database.exec('DROP TABLE names; DROP TABLE certificates');
  database.close();
  const said: string[] = [];
  const store = new CertificateStore(file, { failed: (reason) => said.push(reason) });
  store.learnChain('a:443', [certificate('a')]);
  store.learnClient('a:443', [hashOf(certificate('a'))]);
  expect([store.recall('a:443'), store.find(Buffer.alloc(8))]).toEqual([{ chain: [], clientHashes: [] }, undefined]);
  expect(said).toHaveLength(1);
  store.close();
});
