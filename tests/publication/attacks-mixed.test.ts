/** Attacks by the numbers of docs/threat-model.md, on core/publication alone: metadata that do not belong together. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { binMetadata, signMetadata, targetsMetadata } from '../../core/publication/writer.ts';
import { MemorySource, MemoryStore, readerOf } from '../support/publication-source.ts';
import { keyRing } from '../support/test-publication.ts';
import { DAY, expectRefused, fileOf, LATER, NOW, PAGE, publishMore, readSite, SET, tamper } from './reading.ts';

describe('metadata that do not belong together', () => {
  it('attack 32: files of two publications of one site', async () => {
    const site = await readSite();
    const { publication } = site;
    publication.wholeFiles.set('.well-known/other', utf8('other'));
    await publishMore(publication, LATER);
    const second = new Map(publication.files);
    for (const role of ['snapshot', 'targets']) {
      publication.files.set(METADATA_PATH + fileOf(role, 2), publication.metadata(role, 1));
      await expectRefused(site, 'metadata-mismatch', LATER);
      publication.files.set(METADATA_PATH + fileOf(role, 2), second.get(METADATA_PATH + fileOf(role, 2)) as Uint8Array);
    }
    for (const role of ['documents-0', 'documents-1']) {
      if (publication.versionOf(role) === 2) tamper(publication, fileOf(role, 2), () => publication.metadata(role, 1));
    }
    await site.site.refresh(LATER);
    const cold = readerOf(publication);
    await cold.site.refresh(LATER);
    await expect(cold.site.document('/more/1.html', LATER)).rejects.toMatchObject({ code: 'metadata-mismatch' });
  });

  it('attack 32: files of another publisher', async () => {
    const site = await readSite();
    const other = await readSite();
    await publishMore(other.publication, LATER);
    for (const [path, bytes] of other.publication.files)
      if (!path.includes('root')) site.publication.files.set(path, bytes);
    await expectRefused(site, 'metadata-signature', LATER);
    // The whole of it is given to a reader who begins, and to one who keeps what it has in the same place.
    const source = new MemorySource(other.publication.files);
    const cold = readerOf(site.publication, new MemoryStore(), source);
    await expect(cold.site.refresh(LATER)).rejects.toMatchObject({ code: 'root-unexpected' });
    const rebound = readerOf(other.publication, site.store);
    await rebound.site.load();
    expect(rebound.site.state).toBeUndefined();
  });

  it('attack 33: a section that names what is outside of it', async () => {
    const site = await readSite(async (publication) => {
      const section = await publication.addSection('sport', ['sport/*']);
      await publication.addEncrypted('/sport/match.html', SET, utf8('match'));
      for (const stolen of ['news/today.html.protected', 'news/extra.html.protected', 'sport/a/b.html.protected'])
        section.targets.set(stolen, { ...section.targets.get('sport/match.html.protected') });
    });
    expect(await site.site.document('/sport/match.html', NOW)).toMatchObject({ headLength: 5 });
    expect(await site.site.document(PAGE, NOW)).toMatchObject({ headLength: 13 });
    expect(await site.site.document('/news/extra.html', NOW)).toBeUndefined();
    expect(await site.site.document('/sport/a/b.html', NOW)).toBeUndefined();
  });

  it('attack 33: the rest of the publication is not asked for what a section holds', async () => {
    const site = await readSite(async (publication) => {
      await publication.addEncrypted('/sport/old.html', SET, utf8('old'));
      await publication.addSection('sport', ['sport/*']);
    });
    expect(await site.site.document('/sport/old.html', NOW)).toBeUndefined();
  });

  it('attack 33: editors who have lost their key, whose file did not change', async () => {
    const { publication, site } = await readSite(async (publication) => {
      await publication.addSection('sport', ['sport/*']);
      await publication.addEncrypted('/sport/match.html', SET, utf8('match'));
    });
    expect(await site.document('/sport/match.html', NOW)).toBeDefined();
    const [section] = publication.sections;
    if (section === undefined) throw new Error('no section');
    const old = publication.metadata('sport', 1);
    section.keys = await keyRing();
    publication.version++;
    await publication.sign('targets', publication.roles.targets, await publication.targets(LATER));
    await publication.force('sport', 1, old);
    await publication.publishSnapshot(LATER);
    await site.refresh(LATER);
    await expect(site.document('/sport/match.html', LATER)).rejects.toMatchObject({ code: 'metadata-signature' });
  });

  it('attack 33: a section that delegates to the name of another role', async () => {
    for (const name of ['timestamp', 'snapshot', 'wispr:timestamp', 'x wispr:settings']) {
      const { publication, site, store } = await readSite(async (publication) => {
        await publication.addSection('sport', ['sport/*']);
      });
      const keys = publication.sections[0]?.keys;
      if (keys === undefined) throw new Error('no section');
      const about = { version: 2, expires: NOW + DAY };
      const ring = { publicKeys: keys.signers.map(({ publicKey }) => publicKey), threshold: 1 };
      const signed = await targetsMetadata(about, [], ring, [{ ...ring, name, paths: ['sport/*'] }]);
      await publication.force('sport', 2, signMetadata(signed, keys.signers));
      await publication.force(name, 2, signMetadata(binMetadata(about, []), keys.signers));
      publication.version++;
      await publication.publishSnapshot(LATER);
      await site.refresh(LATER);
      const before = new Map(store.kept);
      await expect(site.document('/sport/x', LATER)).rejects.toMatchObject({ code: 'metadata-malformed' });
      expect(new Map(store.kept)).toEqual(before);
    }
  });

  it.each(['targets', 'documents', 'documents-0', 'documents-1'])(
    'attack 37: %s has vanished from the snapshot',
    async (role) => {
      const site = await readSite();
      site.publication.forget(role);
      site.publication.version++;
      await site.publication.publishSnapshot(LATER);
      await expectRefused(site, 'metadata-rollback', LATER);
    },
  );

  it('attack 83: the number of bins changes', async () => {
    const { publication, site } = await readSite();
    for (let n = 0; n < 40; n++) await publication.addEncrypted(`/many/${n}`, SET, utf8(`${n}`));
    await publication.publish(LATER);
    expect(publication.bits).toBe(4);
    await site.refresh(LATER);
    for (let n = 0; n < 40; n++) expect(await site.document(`/many/${n}`, LATER), `${n}`).toBeDefined();
    expect(await site.document(PAGE, LATER)).toMatchObject({ set: SET });
    expect(site.state?.snapshot.roles.has('documents-0')).toBe(true);
    const cold = readerOf(publication).site;
    await cold.refresh(LATER);
    expect(await cold.document('/many/7', LATER)).toBeDefined();
  });

  it('attack 92: a head that the publication does not name', async () => {
    const { publication, site } = await readSite();
    const before = await site.document(PAGE, NOW);
    publication.remove(PAGE);
    await publication.addEncrypted('/other.html', SET, utf8('head'));
    await publication.publish(LATER);
    await site.refresh(LATER);
    expect(publication.files.has(`/news/${before?.head}.today.html.protected`)).toBe(true);
    expect(await site.document(PAGE, LATER)).toBeUndefined();
    expect(await site.resolve(PAGE, LATER)).toEqual({ kind: 'missing', path: PAGE });
  });

  it('attack 76: what the publication does not name is an authenticated 404', async () => {
    const { site, source } = await readSite();
    expect(await site.resolve('/sw.js?x=1', NOW)).toEqual({ kind: 'missing', path: '/sw.js' });
    expect(await site.resolve('/news/', NOW)).toEqual({ kind: 'missing', path: '/news/index.html' });
    expect(source.requests.filter((path) => path.includes('sw.js') || path.includes('index'))).toEqual([]);
  });
});
