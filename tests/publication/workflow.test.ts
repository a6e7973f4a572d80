/** Readers of an honest publication, and what they see: docs/spec/publication.md, sections 5 to 7. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { readerOf } from '../support/publication-source.ts';
import { LATER, NOW, PAGE, readSite, SET } from './reading.ts';

describe('a publication', () => {
  it('costs a cold start eight small requests, and the next look-up one', async () => {
    const { publication } = await readSite();
    const { site, source } = readerOf(publication);
    await site.refresh(NOW);
    await site.descriptor();
    await site.document(PAGE, NOW);
    expect(
      source.requests.map((path) =>
        path
          .replace(/[0-9a-f]{64}/, 'HASH')
          .split('/')
          .at(-1),
      ),
    ).toEqual([
      '1.root.json',
      '2.root.json',
      'timestamp.json',
      '1.snapshot.json',
      '1.targets.json',
      'HASH.wispr-settings',
      'HASH.wispr-provider',
      '1.documents.json',
      expect.stringMatching(/^1\.documents-[01]\.json$/),
    ]);
    const asked = source.requests.length;
    await site.document(PAGE, NOW);
    expect(source.requests.length).toBe(asked);
    await site.refresh(LATER);
    expect(source.requests.slice(asked).map((path) => path.split('/').at(-1))).toEqual([
      '2.root.json',
      'timestamp.json',
    ]);
  });

  it('is as fresh as the first place that has a fresh timestamp says', async () => {
    const { publication, site, source } = await readSite();
    const old = publication.files.get('/.well-known/wispr/timestamp.json');
    await publication.publishTimestamp(LATER);
    const newer = publication.files.get('/.well-known/wispr/timestamp.json');
    source.keyServers.push(
      () => Promise.reject(new Error('down')),
      async () => utf8('no JSON'),
      async () => newer,
    );
    publication.files.set('/.well-known/wispr/timestamp.json', old as Uint8Array);
    await site.refresh(LATER);
    expect(site.freshness(LATER)).toMatchObject({ confirmed: LATER, stale: false });
  });

  it('resolves addresses: clean URLs, folders, redirects, what is missing', async () => {
    const { site } = await readSite(async (publication) => {
      publication.setSettings({
        cleanUrls: true,
        grace: 0,
        redirects: [{ from: '/old', status: 301, to: '/news/today?x' }],
      });
      await publication.addEncrypted('/help/index.html', SET, utf8('help'));
      await publication.addSection('sports', ['sports/*']);
      await publication.addEncrypted('/sports/match.html', SET, utf8('match'));
    });
    expect(await site.resolve('/news/today?q', NOW)).toMatchObject({ path: PAGE, entry: { inBin: true } });
    expect(await site.resolve('/sports/match', NOW)).toMatchObject({ kind: 'document', entry: { inBin: false } });
    expect(await site.resolve('/help/', NOW)).toMatchObject({ kind: 'document', path: '/help/index.html' });
    expect(await site.resolve('/help?q=1', NOW)).toEqual({ kind: 'redirect', status: 308, location: '/help/?q=1' });
    expect(await site.resolve('/old', NOW)).toEqual({ kind: 'redirect', status: 301, location: '/news/today?x' });
    expect(await site.resolve('/none', NOW)).toEqual({ kind: 'missing', path: '/none' });
  });
});
