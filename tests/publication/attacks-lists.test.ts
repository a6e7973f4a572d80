/** Lists of metadata do not name themselves: what comes of one that is brought in the place of another of the same keys. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { encodeDocumentTarget } from '../../core/publication/document-entry.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { binMetadata, signMetadata } from '../../core/publication/writer.ts';
import { readerOf } from '../support/publication-source.ts';
import { keyRing, TestPublication } from '../support/test-publication.ts';
import { DAY, NOW, PAGE, SET } from './reading.ts';

const PATH = PAGE.slice(1);
const FORGED = encodeDocumentTarget({
  head: 'ee'.repeat(32),
  headLength: 5,
  set: SET,
  content: undefined,
  inPage: false,
});

const forgedList = (path: string): TufObject =>
  binMetadata({ version: 9, expires: NOW + 100 * DAY }, [[`${path}.protected`, FORGED]]);

/** Puts a forged document into every bin, signed by these keys. @param documents - version 1 of the list */
async function forgeBins(
  publication: TestPublication,
  documents: Uint8Array,
  signers: readonly RoleSigner[],
): Promise<void> {
  publication.version++;
  await publication.force('documents', 1, documents);
  for (let bin = 0; bin < 2 ** publication.bits; bin++)
    await publication.force(`documents-${bin}`, 9, signMetadata(forgedList(PATH), signers));
  await publication.publishSnapshot(NOW + 4);
}

async function publishWith(targets: Awaited<ReturnType<typeof keyRing>>): Promise<TestPublication> {
  const publication = await TestPublication.create(NOW, { targets });
  await publication.addEncrypted(PAGE, SET, utf8('front'));
  await publication.publish(NOW);
  return publication;
}

/** A new reader, who has nothing to compare with. */
async function expectNewReaderRefuses(publication: TestPublication): Promise<void> {
  const { site } = readerOf(publication);
  await site.refresh(NOW + 5);
  await expect(site.document(PAGE, NOW + 5)).rejects.toMatchObject({ code: 'metadata-malformed' });
}

describe('attack 36: a list in the place of another', () => {
  it('an earlier `targets` as `documents` brings no section back', async () => {
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
    await forgeBins(publication, earlier, [own, third]);
    await expectNewReaderRefuses(publication);
  });

  it('an earlier `documents` does not lower the threshold again', async () => {
    const keys = await keyRing(2, 1);
    const publication = await publishWith(keys);
    const earlier = publication.metadata('documents', 1);
    await publication.rotate('targets', NOW + 1, { signers: keys.signers, threshold: 2 });
    await publication.publish(NOW + 2);
    await forgeBins(publication, earlier, keys.signers.slice(0, 1));
    await expectNewReaderRefuses(publication);
  });

  it('a bin delegates to nobody', async () => {
    const publication = await publishWith(await keyRing(2, 2));
    const documents = publication.metadata('documents', 1);
    publication.version++;
    for (let bin = 0; bin < 2 ** publication.bits; bin++) await publication.force(`documents-${bin}`, 1, documents);
    await publication.publishSnapshot(NOW + 4);
    await expectNewReaderRefuses(publication);
  });
});
