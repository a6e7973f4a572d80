/** Attacks by the numbers of docs/threat-model.md, on core/publication alone: metadata of hosts that give too much or nothing, and damaged ones of the reader's own. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { signMetadata } from '../../core/publication/writer.ts';
import { MemorySource, MemoryStore, readerOf } from '../support/publication-source.ts';
import type { TestPublication } from '../support/test-publication.ts';
import { DAY, expectOldState, expectRefused, LATER, NOW, PAGE, publishMore, readSite, SET, tamper } from './reading.ts';

describe('hosts that give too much, or nothing', () => {
  it('attack 38: files without end are bounded', async () => {
    const site = await readSite();
    site.publication.wholeFiles.set('.well-known/other', utf8('other'));
    await publishMore(site.publication, LATER);
    const { source } = site;
    const bounds: [string, number][] = [
      ['2.root.json', 65_536],
      ['timestamp.json', 16_384],
      ['2.snapshot.json', site.publication.metadata('snapshot', 2).length],
      ['2.targets.json', site.publication.metadata('targets', 2).length],
    ];
    for (const [file, length] of bounds) {
      source.instead.set(METADATA_PATH + file, () => new Uint8Array(length + 1).fill(0x20));
      await expectRefused(site, 'metadata-too-large', LATER);
      source.instead.delete(METADATA_PATH + file);
      expect(source.maximum(METADATA_PATH + file)).toBe(length);
    }
  });

  it('attack 38: a length that signed metadata give, and that is beyond the bound, is not asked for', async () => {
    const site = await readSite();
    const { publication, source } = site;
    const timestamp = publication.roles.timestamp.signers;
    tamper(publication, 'timestamp.json', (bytes) => {
      const { signed } = JSON.parse(new TextDecoder().decode(bytes)) as { signed: { [member: string]: never } };
      const meta = { 'snapshot.json': { hashes: { sha256: 'ab'.repeat(32) }, length: 2 ** 52, version: 2 } };
      return signMetadata({ ...signed, version: LATER, meta }, timestamp);
    });
    const asked = source.requests.length;
    await expectRefused(site, 'metadata-too-large', LATER);
    expect(source.requests.slice(asked).filter((path) => path.includes('snapshot'))).toEqual([]);
  });

  it('attack 82: forged roots and snapshots of megabytes are refused by length or hash, and never parsed', async () => {
    const site = await readSite();
    site.publication.wholeFiles.set('.well-known/other', utf8('other'));
    await publishMore(site.publication, LATER);
    const huge = utf8(`{"signatures":[],"signed":{"keys":{${'"k":{},'.repeat(600_000)}"k":{}}}}`);
    const files: [string, Uint8Array, string][] = [
      ['2.root.json', huge, 'metadata-too-large'],
      ['timestamp.json', huge, 'metadata-too-large'],
      ['2.snapshot.json', huge, 'metadata-too-large'],
      ['2.snapshot.json', huge.subarray(0, site.publication.metadata('snapshot', 2).length), 'metadata-mismatch'],
      ['2.targets.json', huge.subarray(0, site.publication.metadata('targets', 2).length), 'metadata-mismatch'],
    ];
    for (const [file, bytes, code] of files) {
      site.source.instead.set(METADATA_PATH + file, () => bytes);
      const refused = () => expect(site.site.refresh(LATER)).rejects.toMatchObject({ code });
      expect(await parsedCharacters(refused)).toBeLessThan(100_000);
      expect(site.site.freshness(LATER).version).toBe(1);
      site.source.instead.delete(METADATA_PATH + file);
    }
  });

  it('attack 82: a snapshot of megabytes that a stolen timestamp key names is not put into another form', async () => {
    const site = await readSite();
    const { publication } = site;
    const signature = `{"keyid":"${'a'.repeat(64)}","sig":"${'b'.repeat(128)}"}`;
    const huge = utf8(`{"signatures":[${signature}],"signed":{"meta":[${'[],'.repeat(1_000_000)}[]]}}`);
    await publishMore(publication, LATER);
    publication.files.set(`${METADATA_PATH}2.snapshot.json`, huge);
    await publication.publishTimestamp(LATER + 1);
    const refused = () => expectRefused(site, 'metadata-malformed', LATER + 1);
    expect(await parsedCharacters(refused)).toBeLessThan(100_000);
  });

  it('attack 40: a 404 or an error at any request of an update', async () => {
    const { publication, site, source } = await readSite();
    await nextPublication(publication);
    source.requests.length = 0;
    await site.refresh(LATER);
    const requests = [...source.requests]; // the names of files are the same in every publication of these tests
    expect(requests.length).toBeGreaterThanOrEqual(5);
    for (const path of requests.slice(1)) await expectOldStateWithout(path, () => undefined); // the first is for a next root, and there is none
    for (const path of requests) await expectOldStateWithout(path, reset);
  });

  it('attack 40: the power fails at any write of an update', async () => {
    let finished = false;
    for (let writes = 0; !finished; writes++) {
      const site = await readSite();
      await nextPublication(site.publication);
      site.store.writesLeft = writes;
      finished = await site.site.refresh(LATER).then(
        () => true,
        () => false,
      );
      site.store.writesLeft = Number.POSITIVE_INFINITY;
      const offline = readerOf(site.publication, site.store, new MemorySource(new Map())).site;
      await offline.load();
      expect([1, 2], `after ${writes} writes`).toContain(offline.freshness(LATER).version);
      const online = readerOf(site.publication, site.store).site;
      await online.refresh(LATER);
      expect(online.freshness(LATER).version).toBe(2);
      expect(await online.document('/more/1.html', LATER)).toBeDefined();
    }
  });

  it('attack 31: whatever of the local copy is damaged, cut, or lost', async () => {
    const { store, publication } = await readSite();
    await publishMore(publication, LATER);
    for (const [name, bytes] of store.kept) {
      const middle = bytes.length >> 1;
      const flipped = bytes.map((byte, index) => (index === middle ? byte ^ 1 : byte));
      for (const damage of [new Uint8Array(0), bytes.subarray(0, middle), flipped, undefined]) {
        const damaged = new MemoryStore();
        for (const [other, good] of store.kept) damaged.kept.set(other, good);
        if (damage === undefined) damaged.kept.delete(name);
        else damaged.kept.set(name, damage);
        const { site } = readerOf(publication, damaged);
        await site.refresh(LATER);
        expect(site.freshness(LATER).version, name).toBe(2);
        expect(await site.document(PAGE, LATER), name).toMatchObject({ set: SET });
        expect(await site.resolve('/none', LATER), name).toMatchObject({ kind: 'missing' });
      }
    }
  });

  it('attack 31: a local copy that has expired', async () => {
    const { publication, store } = await readSite();
    const later = NOW + 800 * DAY;
    await publication.publishRoot(later);
    publication.signAllAnew();
    await publication.publish(later);
    const { site } = readerOf(publication, store);
    await site.refresh(later);
    expect(await site.document(PAGE, later)).toMatchObject({ set: SET });
  });

  it('a first start that fails does not keep a later one from succeeding', async () => {
    const { publication } = await readSite();
    const { site, source } = readerOf(publication);
    source.instead.set(`${METADATA_PATH}1.root.json`, reset);
    await expect(site.refresh(NOW)).rejects.toThrow('reset');
    source.instead.clear();
    await site.refresh(NOW);
    expect(source.requests.filter((path) => path.endsWith('/1.root.json'))).toHaveLength(2);
    expect(await site.document(PAGE, NOW)).toBeDefined();
  });
});

/** Counts the characters of JSON that are parsed during `work`. */
async function parsedCharacters(work: () => Promise<void>): Promise<number> {
  const parse = JSON.parse;
  let characters = 0;
  JSON.parse = (text: string, reviver?: never) => {
    characters += text.length;
    return parse(text, reviver);
  };
  try {
    await work();
  } finally {
    JSON.parse = parse;
  }
  return characters;
}

/** An update in which one request is answered like this leaves the old state in use, until it expires; the next update succeeds. */
async function expectOldStateWithout(path: string, answer: () => undefined): Promise<void> {
  const site = await readSite();
  await nextPublication(site.publication);
  site.source.instead.set(path, answer);
  const outcome = await site.site.refresh(LATER).catch((error: unknown) => error);
  expect(outcome, path).toBeInstanceOf(Error);
  await expectOldState(site, 1, LATER);
  await expect(site.site.document(PAGE, NOW + 9 * DAY)).rejects.toMatchObject({ code: 'publication-expired' });
  site.source.instead.clear();
  await site.site.refresh(LATER);
  expect(site.site.freshness(LATER).version).toBe(2);
}

function reset(): never {
  throw new Error('reset');
}

/** A second publication in which every file that an update reads has changed. */
async function nextPublication(publication: TestPublication): Promise<void> {
  publication.setSettings({ cleanUrls: true, grace: 7 * DAY, redirects: [] });
  await publishMore(publication, LATER);
}
