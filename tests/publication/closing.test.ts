/** Closing publications: docs/spec/publication.md, section 7. */
import { describe, expect, it } from 'vitest';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { SitePublication } from '../../core/publication/site-publication.ts';
import { signMetadata, snapshotMetadata } from '../../core/publication/writer.ts';
import { type FetchFile, HostedSource } from '../../reading/hosted-source.ts';
import { READING_TIMES } from '../../reading/times.ts';
import { MemoryStore, readerOf } from '../support/publication-source.ts';
import type { TestPublication } from '../support/test-publication.ts';
import { DAY, HOUR, LATER, PAGE, publishMore, readSite, TIMESTAMP_PATH } from './reading.ts';

const CODE = 'publication-withdrawn';

/** The code by which a reader refuses the page; `undefined` where it shows it. */
function outcome(reader: SitePublication, now: number): Promise<string | undefined> {
  return reader.document(PAGE, now).then(
    () => undefined,
    (error: { code: string }) => error.code,
  );
}

/** Publication 1, read, and then withdrawn by the closing publication 2. */
async function withdrawn() {
  const made = await readSite();
  const { publication, site } = made;
  const before = publication.files.get(TIMESTAMP_PATH) as Uint8Array;
  await publication.close(LATER);
  await site.refresh(LATER);
  return { ...made, before };
}

describe('a closing publication', () => {
  it('refuses every document until there is a higher one, also after a restart', async () => {
    const { publication, site, store } = await withdrawn();
    expect(await outcome(site, LATER)).toBe(CODE);
    expect(() => site.freshness(LATER)).toThrow(expect.objectContaining({ code: CODE }));
    await expect(site.descriptor()).rejects.toMatchObject({ code: CODE });
    await publication.publishTimestamp(LATER + HOUR);
    await site.refresh(LATER + HOUR);
    const restarted = readerOf(publication, store).site;
    await restarted.load();
    expect([await outcome(site, LATER + HOUR), await outcome(restarted, LATER + HOUR)]).toEqual([CODE, CODE]);
    await publishMore(publication, LATER + DAY);
    await restarted.refresh(LATER + DAY);
    expect(restarted.freshness(LATER + DAY).version).toBe(3);
    expect(await outcome(restarted, LATER + DAY)).toBeUndefined();
  });

  it('is all that a new reader needs: nothing below the snapshot is asked for', async () => {
    const { publication } = await withdrawn();
    const { site, source } = readerOf(publication);
    await site.refresh(LATER);
    expect(await outcome(site, LATER)).toBe(CODE);
    expect(source.requests.at(-1)).toBe(`${METADATA_PATH}2.snapshot.json`);
  });

  it('is not undone by a host that shows the publication before', async () => {
    const { publication, site, store, before } = await withdrawn();
    publication.files.set(TIMESTAMP_PATH, before);
    await expect(site.refresh(LATER + 1)).rejects.toMatchObject({ code: 'metadata-rollback' });
    const restarted = readerOf(publication, store).site;
    await expect(restarted.refresh(LATER + 1)).rejects.toMatchObject({ code: 'metadata-rollback' });
    expect([await outcome(site, LATER + 1), await outcome(restarted, LATER + 1)]).toEqual([CODE, CODE]);
  });

  it('has nothing older come back where the higher publication does not arrive whole', async () => {
    const { publication, site, source, store } = await withdrawn();
    publication.wholeFiles.set('another', new Uint8Array(1));
    await publishMore(publication, LATER + 2);
    source.instead.set(`${METADATA_PATH}3.targets.json`, () => undefined);
    await expect(site.refresh(LATER + 2)).rejects.toMatchObject({ code: 'metadata-missing' });
    const restarted = readerOf(publication, store).site;
    await restarted.load();
    expect([await outcome(site, LATER + 2), await outcome(restarted, LATER + 2)]).toEqual(
      Array(2).fill('metadata-missing'),
    );
  });

  it('counts wherever the power fails while it is read', async () => {
    for (let writes = 0; writes < 6; writes++) {
      const { publication, store } = await readSite();
      await publication.close(LATER);
      store.writesLeft = writes;
      const site = readerOf(publication, store).site;
      await site.refresh(LATER).catch(() => undefined);
      const kept = new MemoryStore();
      for (const [name, bytes] of store.kept) kept.kept.set(name, bytes);
      const hasClosed = [...kept.kept.values()].some((bytes) => Buffer.from(bytes).includes('x-wispr-closed'));
      const restarted = readerOf(publication, kept).site;
      await restarted.load();
      expect(await outcome(restarted, LATER)).toBe(hasClosed ? CODE : undefined);
      await restarted.refresh(LATER);
      expect(await outcome(restarted, LATER)).toBe(CODE);
    }
  });

  it('stays after new keys that are none of its own', async () => {
    const { publication, site } = await withdrawn();
    await publication.rotate('root', LATER + 1);
    await publication.publishTimestamp(LATER + 1);
    await site.refresh(LATER + 1);
    expect(await outcome(site, LATER + 1)).toBe(CODE);
  });
});

/** Returns what a reader finds through hosts that answer so, and a key server that has everything. */
async function found(
  { publication, store }: { publication: TestPublication; store: MemoryStore },
  answer: FetchFile<string>,
): Promise<string | undefined> {
  const source = new HostedSource({
    hosts: () => ['a', 'b'],
    fetch: answer,
    keyServer: async ({ path }) => publication.files.get(path),
    times: READING_TIMES,
  });
  const site = new SitePublication({ rootId: publication.rootId, source, store });
  await site.refresh(LATER);
  return outcome(site, LATER);
}

it('a closing publication that every host hides comes from the key server', async () => {
  const { publication } = await readSite();
  const hiding = new Map(publication.files);
  await publication.close(LATER);
  expect(await found({ publication, store: new MemoryStore() }, async (_, { path }) => hiding.get(path))).toBe(CODE);
});

describe('a host that answers the question for the next root', () => {
  const ROOT = /\/2\.root\.json$/;
  const answers: Record<string, () => Uint8Array | undefined> = {
    'with an error': () => {
      throw new Error('503');
    },
    'with other bytes': () => new TextEncoder().encode('<html>not here</html>'),
    'with too many bytes': () => new Uint8Array(PUBLICATION_LIMITS.rootLength + 1),
  };

  it.each(Object.keys(answers))('%s does not hide a withdrawal that the key server has', async (how) => {
    const made = await readSite();
    const hiding = new Map(made.publication.files);
    await made.publication.close(LATER);
    expect(await found(made, async (_, { path }) => (ROOT.test(path) ? answers[how]?.() : hiding.get(path)))).toBe(
      CODE,
    );
  });

  it('with other bytes does not keep readers from what the other hosts have', async () => {
    const made = await readSite();
    await made.publication.close(LATER);
    const answer: FetchFile<string> = async (host, { path }) =>
      host === 'a' && ROOT.test(path) ? answers['with other bytes']?.() : made.publication.files.get(path);
    expect(await found(made, answer)).toBe(CODE);
  });
});

it('the timestamp key alone neither withdraws nor reopens', async () => {
  const { publication, site } = await readSite();
  const { timestamp } = publication.roles;
  const closing = JSON.parse(Buffer.from(publication.metadata('snapshot', 1)).toString()).signed;
  const forged = signMetadata({ ...closing, version: 2, 'x-wispr-closed': true }, timestamp.signers);
  await publication.uploadSnapshot(2, forged, LATER);
  await expect(site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-signature' });
  expect(await outcome(site, LATER)).toBeUndefined();

  const closed = await withdrawn();
  const opened = signMetadata(
    snapshotMetadata({ version: 3, expires: LATER + DAY }, []),
    closed.publication.roles.timestamp.signers,
  );
  await closed.publication.uploadSnapshot(3, opened, LATER + 1);
  await expect(closed.site.refresh(LATER + 1)).rejects.toMatchObject({ code: 'metadata-signature' });
  expect(await outcome(closed.site, LATER + 1)).toBe(CODE);
});

it.each([false, 'true', 1, null])('a snapshot says that it is closed by `true` alone: %j', async (closed) => {
  const { publication, site } = await readSite();
  const { signed } = JSON.parse(Buffer.from(publication.metadata('snapshot', 1)).toString());
  const bytes = signMetadata({ ...signed, version: 2, 'x-wispr-closed': closed }, publication.roles.snapshot.signers);
  await publication.uploadSnapshot(2, bytes, LATER);
  await expect(site.refresh(LATER)).rejects.toMatchObject({ code: 'metadata-malformed' });
});
