/** Attacks by the numbers of docs/threat-model.md, on core/publication alone: metadata with names that mean something elsewhere. */
import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { clientOf, readerOf } from '../support/publication-source.ts';
import { TestPublication } from '../support/test-publication.ts';
import { LATER, NOW, readSite, SET } from './reading.ts';

describe('names', () => {
  it('attack 81: paths that JavaScript has given a meaning', async () => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', '__defineGetter__'];
    const { publication, site } = await readSite();
    for (const name of names) {
      expect(await site.document(`/${name}`, NOW), name).toBeUndefined();
      expect(await site.resolve(`/${name}`, NOW), name).toEqual({ kind: 'missing', path: `/${name}` });
    }
    for (const name of names) await publication.addPublic(`/${name}`, utf8(`head ${name}`), utf8(name));
    publication.documents.set('__proto__.protected', publication.documents.get('constructor.protected') ?? {});
    await publication.publish(LATER);
    await site.refresh(LATER);
    for (const name of names) expect(await site.document(`/${name}`, LATER), name).toMatchObject({ inPage: false });
  });

  it('attack 39: names with signs that mean something in URLs', async () => {
    const names = [
      '/a?b.html',
      '/a#b.html',
      '/100%.html',
      '/a b.html',
      '/Zürich ☕.html',
      '/%2e%2e/x',
      "/~a/(b)*'!.html",
      '/a"b.html',
    ];
    const { publication, site, source } = await readSite(async (publication) => {
      for (const name of names) await publication.addEncrypted(name, SET, utf8(`head of ${name}`));
    });
    for (const name of names) {
      const entry = await site.document(name, NOW);
      expect(entry, name).toMatchObject({ headLength: utf8(`head of ${name}`).length });
    }
    expect(source.requests.filter((path) => !/^\/[A-Za-z0-9._~/%-]*$/.test(path))).toEqual([]);
    const heads = [...publication.files.keys()].filter((path) => path.endsWith('.protected'));
    expect(heads.filter((path) => !/^\/[A-Za-z0-9._~/%-]+$/.test(path) || path.includes('/../'))).toEqual([]);
  });

  it('attack 39: spellings that no document has are refused before anything is looked up', async () => {
    const { site, source } = await readSite();
    const asked = source.requests.length;
    for (const path of ['//a', '/../a', '/a/../b', '/./a', '/a//b', '/a%2fb', '/a%5Cb', '/%00', '/%ff', 'a', ''])
      expect(await site.resolve(path, NOW), path).toEqual({ kind: 'refused' });
    expect(source.requests.length).toBe(asked);
  });

  it.each(['?', '#', '../up', '/slash', 'a b', 'ü', '%2e'])('attack 39: a role called %s', async (name) => {
    const publication = await TestPublication.create(NOW);
    await publication.addSection(name, ['sport/*']);
    await publication.addEncrypted('/sport/match.html', SET, utf8('match'));
    await publication.publish(NOW);
    const { site } = readerOf(publication);
    const { client, source } = clientOf(publication);
    await client.refresh(NOW);
    expect(await client.target('sport/match.html.protected', NOW)).toBeDefined();
    const file = source.requests.at(-1) ?? '';
    expect(file).toMatch(/^\/\.well-known\/wispr\/1\.[A-Za-z0-9._~%-]+\.json$/);
    expect(decodeURIComponent(file)).toBe(`/.well-known/wispr/1.${name}.json`);
    await expect(site.refresh(NOW)).rejects.toMatchObject({ code: 'metadata-malformed' });
  });

  it('attack 39: no two sections have one name, and there are at most 16', async () => {
    const publish = async (names: readonly string[]) => {
      const publication = await TestPublication.create(NOW);
      for (const name of names) await publication.addSection(name, ['sport/*']);
      await publication.publish(NOW);
      return readerOf(publication).site.refresh(NOW);
    };
    const many = (count: number) => Array.from({ length: count }, (_, n) => `sport-${n}`);
    await publish(many(16));
    await expect(publish(many(17))).rejects.toMatchObject({ code: 'metadata-malformed' });
    await expect(publish(['sport', 'more', 'sport'])).rejects.toMatchObject({ code: 'metadata-malformed' });
    await expect(publish(['sport', 'documents'])).rejects.toMatchObject({ code: 'metadata-malformed' });
  });
});
