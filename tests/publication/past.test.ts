/** Documents kept where they are read, after the grace period: docs/spec/publication.md section 6. */
import { describe, expect, it } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { readerOf } from '../support/publication-source.ts';
import { TEST_SETTINGS, type TestPublication } from '../support/test-publication.ts';
import { DAY, NOW, PAGE, publishMore, readSite, SET } from './reading.ts';

const permit = async (publication: TestPublication) =>
  publication.setSettings({ ...TEST_SETTINGS, grace: 3 * DAY, keptAfterGrace: true });

describe('attack 30: after the grace period', () => {
  it('a publication is judged by the last moment at which it was good, and nothing is fetched', async () => {
    const { site, source, publication, store } = await readSite(permit);
    const { shownUntil, confirmed } = site.freshness(NOW);
    expect(await site.asOf(shownUntil - 1)).toBeUndefined();
    const restarted = readerOf(publication, store, source).site; // has what was read, and no more
    source.requests.length = 0;
    for (const reader of [site, restarted]) {
      const past = await reader.asOf(shownUntil + 400 * DAY);
      expect(past).toMatchObject({ time: shownUntil - 1, freshness: { confirmed, version: 1 } });
      expect(await past?.publication.document(PAGE, past.time)).toMatchObject({ set: SET });
      await expect(reader.document(PAGE, shownUntil)).rejects.toMatchObject({ code: 'publication-expired' });
    }
    expect(source.requests).toEqual([]);
  });

  it('it ends with the role that ended first', async () => {
    const { site } = await readSite(async (publication) => {
      publication.setSettings({ ...TEST_SETTINGS, grace: 90 * DAY, keptAfterGrace: true });
    });
    const { snapshot, targets, root, timestamp } = site.state ?? expect.unreachable();
    const end = Math.min(snapshot.expires, targets.expires, root.expires, timestamp.expires + 90 * DAY);
    expect((await site.asOf(end))?.time).toBe(end - 1);
  });

  it('a part of it that was not read is not there', async () => {
    const { publication, store } = await readSite(permit);
    for (const name of store.kept.keys()) if (name.includes('documents-')) store.kept.delete(name);
    const past = await readerOf(publication, store).site.asOf(NOW + 400 * DAY);
    await expect(past?.publication.document(PAGE, past.time)).rejects.toMatchObject({ code: 'metadata-missing' });
  });

  it('nothing is shown where the publisher does not permit it', async () => {
    const { site } = await readSite();
    expect(await site.asOf(NOW + 400 * DAY)).toBeUndefined();
  });

  it('nothing is shown of what was withdrawn, also after a restart', async () => {
    const { publication, site, store } = await readSite(permit);
    await publication.close(NOW + DAY);
    await site.refresh(NOW + DAY);
    for (const reader of [site, readerOf(publication, store).site])
      expect(await reader.asOf(NOW + 400 * DAY)).toBeUndefined();
  });

  it('nothing is shown where a newer publication is known that a host holds back: it could be a closing one', async () => {
    const { publication, site, store } = await readSite(permit);
    await publishMore(publication, NOW + DAY);
    publication.files.delete(`${METADATA_PATH}2.snapshot.json`);
    await expect(site.refresh(NOW + DAY)).rejects.toThrow();
    for (const reader of [site, readerOf(publication, store).site])
      expect(await reader.asOf(NOW + 400 * DAY)).toBeUndefined();
  });
});
