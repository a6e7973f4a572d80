/** Lists of metadata do not name themselves: what happens when one is put in the place of another of the same keys. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { listDocuments } from '../../core/publication/listing.ts';
import { binMetadata, signMetadata } from '../../core/publication/writer.ts';
import { readerOf } from '../support/publication-source.ts';
import { keyRing, TestPublication } from '../support/test-publication.ts';
import { DAY, NOW, PAGE, SET } from './reading.ts';

const forgedList = (path: string): TufObject => {
  const entry = { head: 'ee'.repeat(32), headLength: 5, set: SET, content: undefined, inPage: false };
  return binMetadata({ version: 9, expires: NOW + 100 * DAY }, [[`${path}.protected`, encodeDocumentTarget(entry)]]);
};

async function publishWith(targets: Awaited<ReturnType<typeof keyRing>>): Promise<TestPublication> {
  const publication = await TestPublication.create(NOW, { targets });
  await publication.addEncrypted(PAGE, SET, utf8('front'));
  await publication.publish(NOW);
  return publication;
}

describe('attack 36: a list in the place of another', () => {
  it('an earlier `targets` as `documents` restores no section', async () => {
    const publication = await publishWith(await keyRing(2, 2));
    const section = await publication.addSection('sports', ['sports/*']);
    await publication.addEncrypted('/sports/match.html', SET, utf8('match'));
    await publication.publish(NOW + 1);
    const earlier = publication.metadata('targets', publication.versionOf('targets'));
    publication.sections.splice(0);
    await publication.addEncrypted('/sports/match.html', SET, utf8('match'));
    await publication.publish(NOW + 2);
    const { site } = readerOf(publication);
    await site.refresh(NOW + 3);
    expect(await site.document('/sports/match.html', NOW + 3)).toMatchObject({ headLength: 5 });
    publication.version++;
    await publication.force('documents', 2, earlier);
    await publication.force('sports', 9, signMetadata(forgedList('sports/forged.html'), section.keys.signers));
    await publication.publishSnapshot(NOW + 4);
    await site.refresh(NOW + 5);
    for (const path of ['/sports/forged.html', '/sports/match.html'])
      await expect(site.document(path, NOW + 5)).rejects.toMatchObject({ code: 'metadata-malformed' });
  });

  it('an earlier `documents` leaves no key in power that the root has taken away', async () => {
    const keys = await keyRing(3, 2);
    const publication = await publishWith(keys);
    const [own, second, third] = keys.signers as [RoleSigner, RoleSigner, RoleSigner];
    const earlier = publication.metadata('documents', 1);
    await publication.rotate('targets', NOW + 1, { signers: [own, second], threshold: 2 });
    await publication.publish(NOW + 2);
    publication.version++;
    await publication.force('documents', 1, earlier);
    for (let bin = 0; bin < 2 ** publication.bits; bin++)
      await publication.force(`documents-${bin}`, 9, signMetadata(forgedList(PAGE.slice(1)), [own, third]));
    await publication.publishSnapshot(NOW + 4);
    const { site } = readerOf(publication); // a new reader has nothing to compare with
    await site.refresh(NOW + 5);
    await expect(site.document(PAGE, NOW + 5)).rejects.toMatchObject({ code: 'metadata-malformed' });
  });

  it('an earlier `targets` as a bin restores no section', async () => {
    const publication = await publishWith(await keyRing(2, 2));
    const section = await publication.addSection('sports', ['sports/*']);
    await publication.publish(NOW + 1);
    const version = publication.versionOf('targets');
    const earlier = publication.metadata('targets', version);
    publication.sections.splice(0);
    await publication.publish(NOW + 2);
    publication.version++;
    for (let bin = 0; bin < 2 ** publication.bits; bin++) await publication.force(`documents-${bin}`, version, earlier);
    await publication.force('sports', 9, signMetadata(forgedList('sports/forged.html'), section.keys.signers));
    await publication.publishSnapshot(NOW + 4);
    const { site } = readerOf(publication);
    await site.refresh(NOW + 5);
    await expect(site.document('/sports/forged.html', NOW + 5)).rejects.toMatchObject({ code: 'metadata-malformed' });
  });

  /** Two bins that hold something, each in the place of the other. */
  async function swapBins() {
    const publication = await TestPublication.create(NOW, { targets: await keyRing(2, 2) });
    const paths = Array.from({ length: 20 }, (_, index) => `/${index}.html`);
    for (const path of paths) await publication.addEncrypted(path, SET, utf8(path));
    await publication.publish(NOW);
    const reader = readerOf(publication);
    await reader.site.refresh(NOW);
    for (const path of paths) expect(await reader.site.document(path, NOW)).toBeDefined();
    publication.version++;
    const [first, second] = ['documents-0', 'documents-1'] as const;
    const [one, other] = [publication.metadata(first, 1), publication.metadata(second, 1)];
    await publication.force(first, 1, other);
    await publication.force(second, 1, one);
    await publication.publishSnapshot(NOW + 4);
    return { publication, paths, reader };
  }

  it('attack 29: one bin for another makes no document missing for who has read them', async () => {
    const { reader, paths } = await swapBins();
    await expect(reader.site.refresh(NOW + 5)).rejects.toMatchObject({ code: 'metadata-rollback' });
    for (const path of paths) expect(await reader.site.document(path, NOW + 5)).toBeDefined();
  });

  it('one bin for another is no signed 404 for a new reader, nor for one who lists all documents first', async () => {
    const { publication, paths } = await swapBins();
    const [site, listing] = [readerOf(publication).site, readerOf(publication).site];
    for (const each of [site, listing]) await each.refresh(NOW + 5);
    const failed: string[] = [];
    for await (const { path } of listDocuments(listing, NOW + 5, ({ name, error }) =>
      failed.push(`${name} ${error.code}`),
    ))
      expect(paths).toContain(path);
    expect(failed).toEqual(['documents-0 metadata-malformed', 'documents-1 metadata-malformed']);
    for (const each of [site, listing]) expect(await codesOf(each, paths)).not.toContain('signed 404');
  });

  /** Returns what a reader of exchanged bins gets for each document; expects at least one to be refused. */
  async function codesOf(site: ReturnType<typeof readerOf>['site'], paths: readonly string[]): Promise<string[]> {
    const codes = await Promise.all(
      paths.map((path) =>
        site.document(path, NOW + 5).then(
          (entry) => (entry ? 'there' : 'signed 404'),
          (error: { code: string }) => error.code,
        ),
      ),
    );
    expect(codes.filter((code) => code === 'metadata-malformed').length).toBeGreaterThan(0);
    return codes;
  }
});
