/** Documents of a publication, all of them: what is no good in one list is no matter of the others. */
import { expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import type { TufObject } from '../../core/publication/canonical.ts';
import { listDocuments } from '../../core/publication/listing.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { binMetadata, documentsMetadata, signMetadata } from '../../core/publication/writer.ts';
import { readerOf } from '../support/publication-source.ts';
import { TestPublication } from '../support/test-publication.ts';
import { DAY, NOW, PAGE, SET } from './reading.ts';

const MATCH = '/sports/match.html';
const LATER = NOW + 60;
const GOOD = { version: 5, expires: NOW + DAY };

/** A page, and a section with another, whose list the test makes. */
async function withSection(list: (targets: ReadonlyMap<string, TufObject>) => TufObject | Promise<TufObject>) {
  const publication = await TestPublication.create(NOW);
  await publication.addPublic(PAGE, utf8('head'), utf8('content'));
  const { targets, keys } = await publication.addSection('sports', ['sports/*']);
  await publication.addPublic(MATCH, utf8('head of match'), utf8('content of match'));
  await publication.addEncrypted('/sports/other.html', SET, utf8('other'));
  await publication.publish(NOW);
  publication.version++;
  await publication.force('sports', GOOD.version, signMetadata(await list(targets), keys.signers));
  await publication.publishSnapshot(NOW + 1);
  const reader = readerOf(publication);
  await reader.site.refresh(LATER);
  return { publication, ...reader };
}

async function listOf({ site }: Pick<Awaited<ReturnType<typeof withSection>>, 'site'>) {
  const paths: string[] = [];
  const failed: [name: string, code: string][] = [];
  for await (const { path } of listDocuments(site, LATER, ({ name, error }) => failed.push([name, error.code])))
    paths.push(path);
  return { paths: paths.sort(), failed };
}

const change = (targets: ReadonlyMap<string, TufObject>, wanted: string, entry: TufObject) =>
  binMetadata(
    GOOD,
    [...targets].map(([path, before]) => [path, path === wanted ? entry : before] as const),
  );

it('all that is good is listed', async () => {
  const site = await withSection((targets) => binMetadata(GOOD, targets));
  expect(await listOf(site)).toEqual({ paths: [PAGE, MATCH, '/sports/other.html'], failed: [] });
});

it('an entry that is malformed is left out, that of a content does no harm', async () => {
  const malformed = { hashes: {}, length: -1 };
  const head = await withSection((targets) => change(targets, `${MATCH.slice(1)}.protected`, malformed));
  expect(await listOf(head)).toEqual({ paths: [PAGE, '/sports/other.html'], failed: [] });
  const content = await withSection((targets) => change(targets, MATCH.slice(1), malformed));
  expect(await listOf(content)).toEqual({ paths: [PAGE, MATCH, '/sports/other.html'], failed: [] });
});

it.each([
  [
    'has expired',
    'metadata-expired',
    (targets: ReadonlyMap<string, TufObject>) => binMetadata({ version: 5, expires: NOW + 3 }, targets),
  ],
  ['delegates', 'metadata-malformed', () => documentsMetadata(GOOD, 1, { publicKeys: [], threshold: 1 })],
  [
    'has another version',
    'metadata-mismatch',
    (targets: ReadonlyMap<string, TufObject>) => binMetadata({ ...GOOD, version: 6 }, targets),
  ],
])('a section that %s is reported, and the rest is listed', async (_what, code, list) => {
  const site = await withSection(list);
  expect(await listOf(site)).toEqual({ paths: [PAGE], failed: [['sports', code]] });
  await expect(site.site.document(MATCH, LATER)).rejects.toMatchObject({ code });
});

it('a missing bin is reported as well', async () => {
  const site = await withSection((targets) => binMetadata(GOOD, targets));
  for (const bin of ['documents-0', 'documents-1'])
    site.source.instead.set(`${METADATA_PATH}1.${bin}.json`, () => undefined);
  expect(await listOf(site)).toEqual({
    paths: [MATCH, '/sports/other.html'],
    failed: [
      ['documents-0', 'metadata-missing'],
      ['documents-1', 'metadata-missing'],
    ],
  });
});

it('what ends the whole publication, or keeps its host from answering, ends the listing', async () => {
  const site = await withSection((targets) => binMetadata(GOOD, targets));
  const { publication } = site;
  const listing = listDocuments(site.site, LATER, () => undefined);
  expect((await listing.next()).done).toBe(false);
  await publication.close(LATER);
  await site.site.refresh(LATER);
  const rest = async () => {
    for (let next = await listing.next(); !next.done; next = await listing.next());
  };
  await expect(rest()).rejects.toMatchObject({ code: 'publication-withdrawn' });
  const other = await withSection((targets) => binMetadata(GOOD, targets));
  other.source.instead.set(`${METADATA_PATH}1.documents-0.json`, () => {
    throw new Error('no network');
  });
  await expect(listOf(other)).rejects.toThrow('no network');
});
