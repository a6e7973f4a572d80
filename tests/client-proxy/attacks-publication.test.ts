/** Rows 27 to 40 and 92 of the attack list through the running proxy: hostile metadata. The client by itself, with all its rows: tests/publication. */

import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it } from 'vitest';
import { randomBytes } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { ROLE_VALIDITY, signMetadata } from '../../core/publication/writer.ts';
import { forEachTest } from '../support/for-file.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';
import { keyRing } from '../support/test-publication.ts';
import { TestPublisher } from '../support/test-publisher.ts';

const METADATA = '/.well-known/wispr/';
const HOUR = 3600;
const DAY = 24 * HOUR;

const rig = forEachTest(startHostileReaderRig);
beforeEach(async () => {
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'good' });
  rig.publisher.afterPublishing = async () => undefined; // every look is a step of the test
});

const get = (path = '/a.html') => send(rig.proxy.port, rig.url(path));
const now = () => Math.floor(Date.now() / 1000);
const publication = () => rig.publisher.publication;
const fileOfRole = (role: string) =>
  role === 'timestamp'
    ? `${METADATA}timestamp.json`
    : `${METADATA}${publication().versionOf(role) || publication().version}.${role}.json`;
const mutable = (path: string) => Buffer.from(rig.host.files.get(path) ?? []);

/** The look fails with the code, and what was good before is shown all the same. */
async function expectKept(code: string | RegExp): Promise<void> {
  await expect(rig.proxy.check()).rejects.toMatchObject({ code: expect.stringMatching(code) });
  const answer = await get();
  expect([answer.status, answer.text]).toEqual([200, 'good']);
}

/** A new publication, on the host but not looked at yet. */
async function publishNext(): Promise<void> {
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'next' });
}

/** The same with other `targets`. */
async function publishNextOfAll(): Promise<void> {
  rig.publisher.setDescriptor(utf8('another'));
  await publishNext();
}

async function expectNext(): Promise<void> {
  await rig.proxy.check();
  expect((await get()).text).toBe('next');
}

/** The look fails while other bytes stand in the place of a file, and finds the next publication with the right ones. */
async function expectKeptWith(path: string, code: string | RegExp, ...others: Uint8Array[]): Promise<void> {
  const good = mutable(path);
  for (const other of others) {
    rig.host.files.set(path, other);
    await expectKept(code);
  }
  rig.host.files.set(path, good);
  await expectNext();
}

async function expectRefused(code: string, status = 502, path?: string): Promise<void> {
  const answer = await get(path);
  expect([answer.status, refusalCode(answer)]).toEqual([status, code]);
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

it.each(['timestamp', 'snapshot', 'targets'])(
  'attack 27: metadata that is unsigned, or signed by another key, is refused as %s',
  async (role) => {
    await publishNextOfAll();
    const path = fileOfRole(role);
    const { signed } = JSON.parse(mutable(path).toString());
    const foreign = [[], (await keyRing()).signers].map((signers) => signMetadata(signed, signers));
    await expectKeptWith(path, /^metadata-(?:signature|mismatch)$/, ...foreign);
  },
);

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

it.each(['timestamp', 'snapshot', 'targets', 'root'])(
  'attack 30: metadata that have expired are refused as %s',
  async (role) => {
    expect((await get()).text).toBe('good');
    const validity = role === 'timestamp' ? 60 * DAY : ROLE_VALIDITY[role as 'root'] + DAY;
    // The timestamp stays fresh while the others age.
    if (role !== 'timestamp') {
      await rig.publisher.sign(rig.host.files, { version: now() + validity, expires: now() + validity + DAY });
    }
    rig.passTime(validity);
    await rig.proxy.check().catch(() => undefined); // looks are at least a second apart
    const answer = await get();
    expect(answer.status).toBe(502);
    expect(refusalCode(answer)).toBe(role === 'timestamp' ? 'publication-expired' : 'metadata-expired');
    expect(answer.text).not.toContain('good</');
  },
);

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

it('attack 32: an object of the publication before, correctly signed, is refused (attack 92: the publication does not name it)', async () => {
  const older = rig.host.files.get(rig.publisher.fileOf('/a.html')) ?? new Uint8Array();
  await publishNext();
  await expectNext();
  rig.host.files.set(rig.publisher.fileOf('/a.html'), older);
  await expectRefused('head-unexpected');
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

it('attack 39: asks for names with characters that mean something in URLs inside the site, and reads them', async () => {
  const special = ['?b', '#b', '50%', '%41', 'a b', 'a;b=c&d', '..', 'a:b@c', '日本/é'].map((name) => `/${name}.html`);
  const { publisher, host } = rig;
  await publisher.together(host.files, async () => {
    for (const path of special) await publisher.publish(host.files, path, { content: path });
  });
  await rig.proxy.check();
  for (const path of special) {
    rig.host.requests.length = 0;
    const url = path.split('/').map(encodeURIComponent).join('/');
    expect((await get(url)).text).toBe(path);
    const asked = rig.host.requests.map(({ url: target }) => target).filter((target) => target.endsWith('.protected'));
    expect(asked).toEqual([rig.publisher.fileOf(path)]);
    expect(asked[0]).toMatch(/^(?:\/[A-Za-z0-9._~%-]+)+$/);
  }
});

describe('attack 40: an update that ends half way', () => {
  it.each(['snapshot', 'targets'])(
    'by a 404 or an error for the %s: the last good state stays in use',
    async (role) => {
      await publishNextOfAll();
      const path = fileOfRole(role);
      const good = mutable(path);
      rig.host.files.delete(path);
      await expectKept('metadata-missing');
      rig.host.handlers.set(path, (_, response) => response.writeHead(500).end());
      await expectKept('content-host-answer');
      rig.host.handlers.set(path, ({ socket }) => void socket.destroy());
      await expectKept('content-host-unreachable');
      rig.host.handlers.clear();
      await rig.restart();
      expect((await get()).text).toMatch(/^(?:good|next)$/);
      rig.host.files.set(path, good);
      await expectNext();
    },
  );

  it('until it expires', async () => {
    expect((await get()).text).toBe('good');
    await publishNext();
    rig.host.files.delete(fileOfRole('snapshot'));
    await expectKept('metadata-missing');
    rig.passTime(60 * DAY);
    expect(refusalCode(await get())).toBe('publication-expired');
  });
});
