/** Memory of a relay: bounded, for a time, for its owner, and never in the way of a connection. */
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../link/limits.ts';
import { readChain } from '../../link/store/chain-file.ts';
import { CertificateStore } from '../../link/store/store.ts';
import { entryOf, hashOf } from '../../link/substitution/compressed.ts';
import { makeChain, makeSelfSigned } from '../support/certificates.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const DAY = 86_400;
const newFile = () => join(temporaryFolder(), 'link.db');
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

describe('certificates that expire', () => {
  const [issued, expiry] = [20_000 * DAY, 20_030 * DAY];
  const newCertificate = async (host: string) => {
    const folder = temporaryFolder();
    const validity = { notBefore: new Date(issued * 1000), notAfter: new Date(expiry * 1000) };
    await makeSelfSigned(folder, host, validity);
    return new X509Certificate(readFileSync(join(folder, 'cert.pem'))).raw;
  };

  it('are not listed, found or stored from that second on; others of their chain are', async () => {
    const der = await newCertificate('a.example');
    let now = expiry - 1;
    const store = new CertificateStore(newFile(), { now: () => now });
    store.learnChain('a:443', [der, certificate('authority')]);
    expect(store.recall('a:443').chain).toEqual([der, certificate('authority')]);
    expect(store.find(entryOf(hashOf(der)))).toEqual(der);
    now = expiry;
    expect(store.recall('a:443').chain).toEqual([certificate('authority')]);
    expect(store.find(entryOf(hashOf(der)))).toBeUndefined();
    store.learnChain('b:443', [der]);
    expect(store.recall('b:443').chain).toEqual([]);
    store.close();
  });

  it('are learnt again where a clock that was ahead had them deleted', async () => {
    const der = await newCertificate('a.example');
    let now = issued;
    const store = new CertificateStore(newFile(), { now: () => now });
    store.learnChain('a:443', [der]);
    now = expiry;
    store.purge();
    now = issued;
    expect(store.recall('a:443').chain).toEqual([]);
    store.learnChain('a:443', [der]);
    expect(store.recall('a:443').chain).toEqual([der]);
    store.close();
  });

  it('are gone from the file after the next purge', async () => {
    const der = await newCertificate('a.example');
    const file = newFile();
    for (const [now, rows] of [
      [expiry - 1, 2],
      [expiry, 1],
    ] as const) {
      const store = new CertificateStore(file, { now: () => now });
      if (now < expiry) store.learnChain('a:443', [der, certificate('authority')]);
      store.close();
      const database = new DatabaseSync(file);
      expect(database.prepare('SELECT count(*) AS rows FROM certificates').get()).toEqual({ rows });
      database.close();
    }
  });
});

describe('a store that is filled', () => {
  it('knows a name or its wildcard at each port, until that has a chain of its own, or TLS 1.3', () => {
    const store = new CertificateStore(newFile());
    store.learnChain('a.example', [certificate('a')]);
    store.learnChain('*.example', [certificate('any')]);
    const known = (name: string) => store.recall(name).chain.map(String);
    expect(['a.example:443', 'a.example:993', 'b.example:443'].map(known)).toEqual(
      ['a', 'a', 'any'].map((text) => [String(certificate(text))]),
    );
    expect(['example:443', 'a.b.example:443'].map(known)).toEqual([[], []]);
    store.learnChain('a.example:443', [certificate('own')]);
    expect(known('a.example:443')).toEqual([String(certificate('own'))]);
    for (const name of ['a.example:993', 'b.example:443']) store.forget(name);
    expect(['a.example:993', 'b.example:443'].map(known)).toEqual([[], []]);
    expect(known('c.example:443')).toEqual([String(certificate('any'))]);
    store.close();
  });

  it('has the names and certificates of a chain in PEM, in their order', async () => {
    const folder = temporaryFolder();
    const names = ['DNS:News.example', 'DNS:*.news.example', 'IP:192.0.2.1'];
    const { certFile, cert } = await makeChain(folder, 'server', 'ecdsa', names);
    const { names: found, chain } = readChain(certFile);
    expect(found).toEqual(['news.example', '*.news.example']);
    expect(chain.map((der) => new X509Certificate(der).toString()).join('')).toBe(cert);
  });

  it('refuses files that are no chain, name no server, are too long or not there', async () => {
    const folder = temporaryFolder();
    const { keyFile, issuingFile, certFile } = await makeChain(folder, 'server', 'ecdsa', ['DNS:news.example']);
    const [long, broken] = [join(folder, 'long.pem'), join(folder, 'broken.pem')];
    writeFileSync(long, readFileSync(certFile, 'utf8').padEnd(LIMITS.filledFile + 1));
    writeFileSync(broken, readFileSync(certFile, 'utf8').replace('MII', 'MIJ'));
    for (const file of [keyFile, issuingFile, long, broken, join(folder, 'absent.pem'), folder])
      expect(() => readChain(file)).toThrow(expect.objectContaining({ code: 'link-fill' }));
  });
});

it('a store of the first version is learnt anew', () => {
  const file = newFile();
  const database = new DatabaseSync(file);
  database.exec(`CREATE TABLE certificates (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
    CREATE TABLE names (name TEXT PRIMARY KEY, chain BLOB NOT NULL, clients BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
    PRAGMA application_id = ${0x776c6e6b}; PRAGMA user_version = 1`);
  database.close();
  const store = new CertificateStore(file);
  store.learnChain('a:443', [certificate('a')]);
  expect(store.recall('a:443').chain).toEqual([certificate('a')]);
  store.close();
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
  store.forget('forgotten:443');
  store.close();
  const after = new DatabaseSync(file);
  expect(after.prepare('SELECT count(*) AS names FROM names').get()).toEqual({ names: LIMITS.storedNames });
  expect(after.prepare("SELECT name FROM names WHERE name IN ('host1', 'host2', 'one more:443')").all()).toEqual([
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
