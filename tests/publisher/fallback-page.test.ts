import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { documentPathOf, isDocumentPath, urlPathOf } from '../../core/site/path.ts';
import { type FallbackSettings, fallbackPageOf } from '../../publisher/site/fallback/page.ts';
import { leadsTo, parseFallbackPage } from '../../publisher/site/fallback/recognise.ts';
import { builtInTemplate } from '../../publisher/site/fallback/template.ts';
import { readPage, type Teaser } from '../../publisher/site/page.ts';

const SETTINGS: FallbackSettings = {
  publisher: 'The News',
  site: 'news.example',
  content: 'http://news.example',
  reading: 'https://read.news.example',
  redirectAfter: 1,
};
const EMPTY: Teaser = {
  title: '',
  description: '',
  language: '',
  direction: '',
  canonical: '',
  openGraph: new Map(),
  excerpt: [],
};

const render = (teaser: Partial<Teaser>, settings: Partial<FallbackSettings> = {}, path = '/a/b.html') =>
  builtInTemplate.render(fallbackPageOf(path, { ...EMPTY, ...teaser }, { ...SETTINGS, ...settings }));

const page = render({
  title: 'A title',
  description: 'What it is',
  language: 'de',
  openGraph: new Map([['og:image', 'http://news.example/a.jpg']]),
  excerpt: ['One.', 'Two.'],
});

describe('a fallback page', () => {
  it.each([
    '<html lang="de">',
    '<title>A title</title>',
    '<meta name="description" content="What it is">',
    '<meta property="og:image" content="http://news.example/a.jpg">',
    '<link rel="canonical" href="http://news.example/a/b.html">',
    '"isAccessibleForFree":false',
    '<p>One.</p>',
    'href="https://read.news.example/a/b.html"',
    '<a id="reader" href="http://localhost:8001/connect?site=news.example&amp;path=/a/b.html" rel="nofollow noreferrer">Im Reader öffnen</a>',
    '<noscript><meta http-equiv="refresh" content="1;url=https://read.news.example/a/b.html"></noscript>',
  ])('has %s', (part) => {
    expect(page).toContain(part);
  });

  it.each([
    ['de-AT', 1, ['>Weiterlesen</a>', 'Für Abonnenten. Weiter zu read.news.example …', '>Im Reader öffnen</a>, wenn ']],
    [
      'ja',
      'never',
      ['>続きを読む</a>', '購読者限定です。read.news.example でお読みいただけます。', '>Reader で開く</a>（'],
    ],
  ] as const)('speaks the language of the page: %s', (language, redirectAfter, words) => {
    const html = render({ language }, { redirectAfter });
    for (const part of [`<html lang="${language}">`, '<footer>', ...words]) expect(html).toContain(part);
    expect(html).not.toMatch(/lang="en"|subscribers|Reader<\/a>, if/);
  });

  it('speaks the language of the site where the page names none, and English in any other', () => {
    expect(render({}, { language: 'fr' })).toMatch(/<html lang="fr">[\s\S]*Lire la suite/);
    expect(render({ language: 'de' }, { language: 'fr' })).toContain('>Weiterlesen</a>');
    expect(render({})).toMatch(/<html lang="en">[\s\S]*<footer>\n[\s\S]*For subscribers/);
    const arabic = render({ language: 'ar', direction: 'rtl' });
    expect(arabic).toMatch(/<html lang="ar" dir="rtl">[\s\S]*<footer lang="en" dir="ltr">\n[\s\S]*For subscribers/);
    expect(render({ language: 'constructor' })).toContain('For subscribers');
  });

  it('is smaller than 4 KB', () => {
    expect(Buffer.byteLength(page)).toBeLessThan(4000);
  });

  it('asks for no icon, which no host has for it', () => {
    expect(page).toContain('<link rel="icon" href="data:,">');
  });

  it('escapes what it shows', () => {
    const nasty = `"><script>alert(1)</script>&'</title></style>`;
    const html = render({
      title: nasty,
      description: nasty,
      canonical: 'javascript:alert(1)',
      openGraph: new Map([['og:title', nasty]]),
      excerpt: [nasty],
    });
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html).not.toContain('javascript:');
    expect(html).toContain('<link rel="canonical" href="http://news.example/a/b.html">');
  });

  it('leads to nothing by itself where it shall not', () => {
    const html = render({}, { redirectAfter: 'never' });
    expect(html).not.toMatch(/http-equiv|setTimeout|location\.replace/);
    expect(html).toContain('a.href+=location.search+location.hash');
  });

  it('names the directory and not its index.html', () => {
    const html = render({}, {}, '/a/index.html');
    expect(html).toContain('href="https://read.news.example/a/"');
    expect(render({}, {}, '/aindex.html')).toContain('href="https://read.news.example/aindex.html"');
  });

  it('attack 24: every path stays a path on the reading site', () => {
    const path = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
      .map((text) => `/${text.replaceAll('/', '')}x`)
      .filter(isDocumentPath); // no document has a backslash in its path
    fc.assert(
      fc.property(path, (name) => {
        const [, href = ''] = /id="read" href="([^"]*)"/.exec(render({}, {}, name)) ?? [];
        const url = new URL(href);
        expect([url.origin, decodeURIComponent(url.pathname)]).toEqual(['https://read.news.example', name]);
        expect([url.search, url.hash]).toEqual(['', '']);
        const { origin, pathname, searchParams } = new URL(readerLinkOf(render({}, {}, name)));
        expect([origin, pathname, searchParams.get('site')]).toEqual([
          'http://localhost:8001',
          '/connect',
          'news.example',
        ]);
        expect(documentPathOf(searchParams.get('path') ?? '')).toBe(name);
      }),
    );
  });
});

describe('recognising a fallback page', () => {
  it('gives back the values of every page that was made', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 200 });
    const teaser = fc.record({
      title: text,
      description: text,
      language: fc.constantFrom('', 'de', 'zh-Hant', 'ar'),
      direction: fc.constantFrom('', 'rtl'),
      canonical: fc.oneof(fc.constant(''), fc.webUrl()),
      openGraph: fc
        .dictionary(fc.constantFrom('og:title', 'og:image'), text)
        .map((each) => new Map(Object.entries(each))),
      excerpt: fc.array(text, { maxLength: 3 }),
    });
    const redirectAfter = fc.constantFrom<FallbackSettings['redirectAfter']>(0, 1, 30, 'never');
    fc.assert(
      fc.property(teaser, redirectAfter, text, (given, after, publisher) => {
        // What the author wrote has been through the page's parser before.
        const html = `<title>${asHtml(given.title)}</title><meta name=description content="${asHtml(given.description)}">`;
        const cleaned = { ...given, title: readPage(Buffer.from(html)).teaser.title };
        const made = builtInTemplate.render(
          fallbackPageOf('/a.html', cleaned, { ...SETTINGS, redirectAfter: after, publisher: publisher || 'x' }),
        );
        const parsed = parseFallbackPage(Buffer.from(made));
        expect(parsed && builtInTemplate.render(parsed)).toBe(made);
      }),
    );
  });

  it.each([
    ['another script', (html: string) => html.replace('<script>\nvar', '<script>\nalert(1);var')],
    ['one more element', (html: string) => html.replace('</main>', '<iframe src="//evil.example"></iframe></main>')],
    ['another link', (html: string) => html.replace('id="read" href="https://read', 'id="read" href="https://evil')],
    ['another link for Readers', (html: string) => html.replace('localhost:8001/connect?', 'localhost:8001/settings?')],
    ['another port', (html: string) => html.replace('localhost:8001', 'localhost:8002')],
    ['another path for Readers', (html: string) => html.replace('path=/a/b.html', 'path=/a/c.html')],
    ['no link for Readers', (html: string) => html.replace(/<a id="reader".*?<\/a>/, '')],
    ['a handler', (html: string) => html.replace('<h1>', '<h1 onclick="alert(1)">')],
    ['another style', (html: string) => html.replace('margin:0', 'margin:1px')],
    ['bytes behind it', (html: string) => `${html}<script>alert(1)</script>`],
    ['nothing but a marker', () => '<meta name="generator" content="wispr fallback page">'],
    ['an image that is a script', (html: string) => html.replace('og:image', 'refresh')],
  ])('refuses %s', (_, change) => {
    expect(change(page)).not.toBe(page);
    expect(parseFallbackPage(Buffer.from(change(page)))).toBeUndefined();
  });

  it('knows where the page leads', () => {
    const parsed = parseFallbackPage(Buffer.from(page));
    const site = { site: 'news.example', reading: 'https://read.news.example' };
    expect(parsed && leadsTo(parsed, site, urlPathOf('/a/b.html'))).toBe(true);
    expect(parsed && leadsTo(parsed, { ...site, reading: 'https://read.evil.example' }, urlPathOf('/a/b.html'))).toBe(
      false,
    );
    expect(parsed && leadsTo(parsed, site, urlPathOf('/a/c.html'))).toBe(false);
    const foreign = parseFallbackPage(Buffer.from(page.replace('site=news.example', 'site=evil.example')));
    expect(foreign && leadsTo(foreign, site, urlPathOf('/a/b.html'))).toBe(false);
  });
});

function readerLinkOf(html: string): string {
  const [, href = ''] = /id="reader" href="([^"]*)"/.exec(html) ?? [];
  return href.replaceAll('&amp;', '&');
}

function asHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
