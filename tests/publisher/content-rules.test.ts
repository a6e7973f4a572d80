/** Rules of `wispr.json` about content, made into what is signed: headers, media types, settings, redirects. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Head } from '../../core/object/head.ts';
import { isMetadata } from '../../core/object/metadata.ts';
import { resolveUrl } from '../../core/publication/resolve.ts';
import { encodeSettings, parseSettings } from '../../core/publication/settings.ts';
import { HeaderRules } from '../../publisher/site/headers.ts';
import { isCompressible, mediaTypeOf } from '../../publisher/site/media-type.ts';
import { problemsOfRedirects, SiteMap } from '../../publisher/site/redirects.ts';
import { type LookUpDocument, siteSettingsOf } from '../../publisher/site/site-settings.ts';
import { signedResponseHeaders } from '../../reading/response-headers.ts';
import { configured } from '../support/configured.ts';

const documents =
  (...paths: string[]): LookUpDocument =>
  (path) =>
    paths.includes(path) ? 'public' : undefined;

describe('headers', () => {
  const rules = () =>
    new HeaderRules(
      configured({
        headers: [
          { path: '**/*.html', set: { 'Content-Language': 'en', 'Cache-Control': 'max-age=600' } },
          { path: 'de/', set: { 'Content-Language': 'de' } },
          { path: 'nowhere/**', set: { Link: '<a>' } },
        ],
      }),
    );

  it('are added up by the rules that fit, and for each header the last one wins', () => {
    expect(rules().headersOf('/a.html')).toEqual({ 'content-language': 'en', 'cache-control': 'max-age=600' });
    expect(rules().headersOf('/de/a.html')).toEqual({ 'content-language': 'de', 'cache-control': 'max-age=600' });
    expect(rules().headersOf('/de/a.css')).toEqual({ 'content-language': 'de' });
    expect(rules().headersOf('/a.css')).toBeUndefined();
  });

  it('can be signed', () => {
    const headers = rules().headersOf('/de/a.html') as Record<string, string>;
    expect(isMetadata({ contentLength: 1, mediaType: 'text/html', headers })).toBe(true);
  });

  it('of patterns that fit no document are reported', () => {
    const made = rules();
    for (const path of ['/a.html', '/de/b.css']) made.headersOf(path);
    expect(made.unused()).toEqual(['nowhere/**']);
  });
});

describe('the lifetime of a document', () => {
  it.each([
    [{ 'cache-control': 'max-age=600, immutable' }, 'private, max-age=600, immutable'],
    [undefined, undefined],
  ])('%j reaches browsers as %j: never a shared cache', async (headers, expected) => {
    const nothing = new Uint8Array(0);
    const head: Head = {
      header: {} as Head['header'],
      headerBytes: nothing,
      signature: nothing,
      digests: nothing,
      length: 0,
    };
    const sent = await signedResponseHeaders(head, { contentLength: 1, mediaType: 'a/b', ...(headers && { headers }) });
    expect(sent['cache-control']).toBe(expected);
  });
});

describe('media types', () => {
  it.each([
    ['texts and fonts are', true, 'svg json xml wasm ttf otf html css js csv map rss gltf obj vtt ico'],
    [
      'what clients ask for parts of, or is compressed in itself, is not',
      false,
      'jpeg png webp avif mp4 webm mp3 woff woff2 zip gz pdf epub docx xyz wav aiff flac tif bmp psd glb stl tar parquet pmtiles sqlite zarray',
    ],
  ])('%s compressed before they are encrypted', (_, expected, endings) => {
    for (const ending of endings.split(' '))
      expect([ending, isCompressible(mediaTypeOf(`/a.${ending}`))]).toEqual([ending, expected]);
  });
});

describe('the site settings', () => {
  it('are made from the configuration, and can be signed', () => {
    const settings = siteSettingsOf(
      configured({
        cleanUrls: true,
        freshness: { graceDays: 2 },
        notFound: 'missing.html',
        redirects: [
          { from: '/old/', to: '/new dir/é?x=1#y' },
          { from: '/caf%C3%A9', to: 'https://other.example', status: 307 },
        ],
      }),
      documents('/missing.html'),
    );
    expect(settings).toEqual({
      cleanUrls: true,
      grace: 172_800,
      notFound: '/missing.html',
      redirects: [
        { from: '/old/index.html', status: 301, to: '/new%20dir/%C3%A9?x=1#y' },
        { from: '/café', status: 307, to: 'https://other.example/' },
      ],
    });
    expect(parseSettings(encodeSettings(settings))).toEqual(settings);
  });

  it('name 404.html where the site has one that is public', () => {
    expect(siteSettingsOf(configured({}), documents('/404.html')).notFound).toBe('/404.html');
    expect(siteSettingsOf(configured({}), documents())).not.toHaveProperty('notFound');
    expect(siteSettingsOf(configured({}), () => 'protected')).not.toHaveProperty('notFound');
  });

  it.each([
    ['a page that is not there', { notFound: 'gone.html' }, 'which is not there'],
    ['a page that is not public', { notFound: 'secret.html' }, 'which is not public'],
    [
      'redirects that lead to each other',
      {
        redirects: [
          { from: '/a', to: '/b' },
          { from: '/b', to: '/a#x' },
        ],
      },
      'the redirects from /a, /b never end',
    ],
    ['a redirect to itself', { redirects: [{ from: '/a/', to: '/a/index.html' }] }, 'never end'],
  ])('refuse %s', (_, changes, message) => {
    const lookUp: LookUpDocument = (path) => (path === '/secret.html' ? 'protected' : undefined);
    expect(() => siteSettingsOf(configured(changes), lookUp)).toThrowError(
      expect.objectContaining({ code: 'configuration-invalid', message: expect.stringContaining(message) }),
    );
  });
});

describe('redirects', () => {
  const problems = (redirects: [string, string][], ...paths: string[]) => {
    const list = redirects.map(([from, to]) => ({ from, to, status: 301 as const }));
    const has = (path: string) => paths.includes(path);
    return problemsOfRedirects({ cleanUrls: true, grace: 0, redirects: list }, has);
  };

  it('are followed to their end', () => {
    const given: [string, string][] = [
      ['/a', '/b'],
      ['/b', '/c?x'],
      ['/gone', '/nowhere'],
      ['/out', 'https://other.example/'],
      ['/page.html', '/c'],
      ['/refused', '/a//b'],
      ['/dir', '/sub'],
    ];
    expect(problems(given, '/c.html', '/page.html', '/sub/index.html')).toEqual({
      loops: [],
      dangling: ['/gone', '/refused'],
      shadowed: ['/page.html'],
    });
  });

  it('that form a ring are loops, unless a document stands in it', () => {
    const ring: [string, string][] = [
      ['/a', '/b'],
      ['/b', '/c'],
      ['/c', '/a'],
    ];
    expect(problems(ring).loops).toEqual(['/a', '/b', '/c']);
    expect(problems(ring, '/b').loops).toEqual([]);
  });

  it('in a chain longer than browsers follow count as loops', () => {
    const chain = (length: number) =>
      problems(
        Array.from({ length }, (_, at) => [`/${at}`, `/${at + 1}`]),
        `/${length}`,
      );
    expect(chain(20).loops).toEqual([]);
    expect(chain(30).loops).toEqual(
      ['/0', '/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8'].slice(0, chain(30).loops.length),
    );
    expect(chain(30).loops.length).toBeGreaterThan(5);
  });

  it('and everything else are resolved as readers resolve them', async () => {
    const paths = ['/a', '/a/', '/a.html', '/a/index.html', '/b', '/b/c', '/b/c.html', '/%61', '/x//y', '/%2F', '/b/'];
    const path = fc.constantFrom(...paths);
    const redirect = fc.record({
      from: fc.constantFrom('/a', '/b', '/a/index.html', '/c'),
      to: fc.constantFrom('/a', '/b/', '/c'),
      status: fc.constant(301 as const),
    });
    const site = fc.subarray(['/a', '/a.html', '/a/index.html', '/b/c.html', '/b/index.html', '/c']);
    await fc.assert(
      fc.asyncProperty(
        path,
        fc.uniqueArray(redirect, { selector: ({ from }) => from }),
        site,
        fc.boolean(),
        async (url, redirects, has, cleanUrls) => {
          const settings = { cleanUrls, grace: 0, redirects };
          const find = async (each: string) => (has.includes(each) ? ({} as never) : undefined);
          const theirs = await resolveUrl(url, find, settings);
          const ours = new SiteMap(settings, (each) => has.includes(each)).resolve(url);
          if (theirs.kind === 'redirect' && theirs.status === 308) {
            // A directory without its slash: readers are led to its index.
            expect(ours).toEqual({ kind: 'document', path: `${decodeURIComponent(url)}/index.html` });
          } else if (theirs.kind === 'redirect') expect(ours).toMatchObject({ kind: 'redirect', to: theirs.location });
          else if (theirs.kind === 'refused') expect(ours).toEqual({ kind: 'refused' });
          else expect(ours).toEqual({ kind: theirs.kind, path: theirs.path });
        },
      ),
    );
  });
});
