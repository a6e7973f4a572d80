/** Attacks by the numbers of docs/threat-model.md, on core/publication alone: metadata that are too old. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { binMetadata, ROLE_VALIDITY, signMetadata } from '../../core/publication/writer.ts';
import { readerOf } from '../support/publication-source.ts';
import type { TestPublication } from '../support/test-publication.ts';
import {
  DAY,
  expectRefused,
  fileOf,
  HOUR,
  LATER,
  NOW,
  PAGE,
  publishMore,
  readSite,
  TIMESTAMP_PATH,
  tamper,
} from './reading.ts';

describe('metadata that are old', () => {
  it.each([
    ['of a publication before', publishMore],
    ['of the very same publication', (publication: TestPublication, now: number) => publication.publishTimestamp(now)],
  ])('attack 28: a timestamp that is older than the one before, %s', async (_, move) => {
    const site = await readSite();
    const old = site.publication.files.get(TIMESTAMP_PATH) as Uint8Array;
    await move(site.publication, LATER);
    await site.site.refresh(LATER);
    site.publication.files.set(TIMESTAMP_PATH, old);
    await expectRefused(site, 'metadata-rollback', LATER);
    expect(site.site.freshness(LATER).confirmed).toBe(LATER);
  });

  it('attack 28: a new timestamp that names an older snapshot', async () => {
    const site = await readSite();
    await publishMore(site.publication, LATER);
    await site.site.refresh(LATER);
    site.publication.version = 1;
    await site.publication.publishTimestamp(LATER + 1);
    await expectRefused(site, 'metadata-rollback', LATER);
    // The loss of the timestamp that was seen changes nothing.
    for (const name of site.store.kept.keys()) if (name.endsWith('timestamp')) site.store.kept.delete(name);
    const restarted = readerOf(site.publication, site.store);
    await expect(restarted.site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-rollback' });
  });

  it('attack 28, attack 108: a new timestamp that names an older snapshot, although all else is the same', async () => {
    const site = await readSite();
    site.publication.version++;
    await site.publication.publishSnapshot(LATER);
    await site.site.refresh(LATER);
    site.publication.version--;
    await site.publication.publishTimestamp(LATER + 1);
    await expectRefused(site, 'metadata-rollback', LATER + 1);
  });

  it.each(['targets', 'documents', 'documents-0'])('attack 28: a new snapshot that names an older %s', async (role) => {
    const site = await readSite();
    const { publication } = site;
    const old = publication.metadata(role, 1);
    publication.signAllAnew();
    await publishMore(publication, LATER);
    await site.site.refresh(LATER);
    expect(publication.versionOf(role)).toBe(2);
    await publication.force(role, 1, old);
    publication.version++;
    await publication.publishSnapshot(LATER + 1);
    await expectRefused(site, 'metadata-rollback', LATER + 1);
  });

  it('attack 28: a root that is older, or skips a version', async () => {
    const site = await readSite();
    const { publication } = site;
    publication.files.set(`${METADATA_PATH}2.root.json`, publication.metadata('root', 1));
    await expectRefused(site, 'metadata-rollback');
    await publication.publishRoot(NOW);
    publication.files.set(`${METADATA_PATH}2.root.json`, await publication.publishRoot(NOW));
    await expectRefused(site, 'metadata-rollback');
  });

  it('attack 29: the same version with other content', async () => {
    const site = await readSite();
    const { publication } = site;
    const before = site.site.state?.timestamp;
    await publication.publishTimestamp(NOW, { version: before?.version ?? 0, expires: LATER + DAY });
    await site.site.refresh(LATER);
    expect(site.site.state?.timestamp).toBe(before);
    expect(site.site.freshness(LATER).version).toBe(1);
    publication.wholeFiles.set('.well-known/other', utf8('other'));
    await publishMore(publication, LATER);
    for (const role of ['snapshot', 'targets']) {
      const good = publication.metadata(role, 2);
      const { signers } = publication.roles[role as 'snapshot'];
      const signed = (JSON.parse(new TextDecoder().decode(good)) as { signed: { [member: string]: string } }).signed;
      tamper(publication, fileOf(role, 2), () => signMetadata({ ...signed, expires: '2099-01-01T00:00:00Z' }, signers));
      await expectRefused(site, 'metadata-mismatch', LATER);
      tamper(publication, fileOf(role, 2), () => good);
    }
    await site.site.refresh(LATER);
    expect(site.site.freshness(LATER).version).toBe(2);
  });

  it('attack 30: metadata that have expired', async () => {
    const expiring: [string, number, string][] = [
      ['timestamp', NOW + 48 * HOUR + 7 * DAY, 'publication-expired'],
      ['snapshot', NOW + ROLE_VALIDITY.snapshot, 'metadata-expired'],
      ['targets', NOW + ROLE_VALIDITY.targets, 'metadata-expired'],
    ];
    for (const [role, at, code] of expiring) {
      const { publication, site } = await readSite();
      if (role !== 'timestamp') await publication.publishTimestamp(at - HOUR);
      await site.refresh(at - HOUR);
      expect(site.freshness(at - 1).version, role).toBe(1);
      if (role !== 'timestamp') await publication.publishTimestamp(at);
      if (role !== 'timestamp') await expect(site.refresh(at), role).rejects.toMatchObject({ code });
      await expect(site.document(PAGE, at), role).rejects.toMatchObject({ code });
    }
  });

  it('attack 30: a root that has expired', async () => {
    const { publication, site } = await readSite();
    const at = NOW + ROLE_VALIDITY.root;
    publication.signAllAnew();
    await publication.publish(at - DAY);
    await site.refresh(at - DAY);
    expect(await site.document(PAGE, at - 1)).toBeDefined();
    await expect(site.document(PAGE, at)).rejects.toMatchObject({ code: 'metadata-expired' });
    await expect(site.refresh(at)).rejects.toMatchObject({ code: 'metadata-expired' });
  });

  it('attack 30: bins that have expired', async () => {
    const { publication, site } = await readSite();
    const { signers } = publication.roles.targets;
    const bin = signMetadata(binMetadata({ version: 2, expires: LATER }, publication.documents), signers);
    for (const role of ['documents-0', 'documents-1']) await publication.force(role, 2, bin);
    publication.version++;
    await publication.publishSnapshot(LATER - 60);
    await site.refresh(LATER - 60);
    expect(await site.document(PAGE, LATER - 1)).toBeDefined();
    await expect(site.document(PAGE, LATER)).rejects.toMatchObject({ code: 'metadata-expired' });
  });

  it('attack 80: expiry is seen at the next look-up, without any refresh', async () => {
    const { site } = await readSite();
    const [fresh, shown] = [NOW + 48 * HOUR, NOW + 48 * HOUR + 7 * DAY];
    expect(site.freshness(fresh - 1)).toMatchObject({
      stale: false,
      confirmed: NOW,
      freshUntil: fresh,
      shownUntil: shown,
    });
    expect(site.freshness(fresh).stale).toBe(true);
    expect(await site.document(PAGE, shown - 1)).toBeDefined();
    await expect(site.document(PAGE, shown)).rejects.toMatchObject({ code: 'publication-expired' });
    await expect(site.document('/none', shown)).rejects.toMatchObject({ code: 'publication-expired' });
    await expect(site.resolve('/none', shown)).rejects.toMatchObject({ code: 'publication-expired' });
  });

  it('attack 69: a clock that is behind or ahead', async () => {
    const site = await readSite();
    expect(site.site.freshness(NOW - 300).version).toBe(1);
    await expect(site.site.document(PAGE, NOW - 301)).rejects.toMatchObject({
      code: 'clock-off',
      message: expect.stringMatching(/2026-09-21T.*2026-09-21T/),
    });
    await expect(site.site.document(PAGE, NOW + 400 * DAY)).rejects.toMatchObject({ code: 'publication-expired' });
    // A timestamp of the future is not remembered: current ones stay newer.
    await site.publication.publishTimestamp(NOW + 365 * DAY);
    await expectRefused(site, 'clock-off', LATER);
    await site.publication.publishTimestamp(LATER, { version: LATER });
    await site.site.refresh(LATER);
    expect(site.site.freshness(LATER).confirmed).toBe(LATER);
  });
});
