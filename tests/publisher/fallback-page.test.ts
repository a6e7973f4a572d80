import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_ACCENT } from '../../core/site/accent.ts';
import { documentPathOf, isDocumentPath, urlPathOf } from '../../core/site/path.ts';
import { leadsTo, parseFallbackPage } from '../../publisher/site/fallback/recognise.ts';
import { MAXIMUM_FALLBACK_PAGE } from '../../publisher/site/fallback/template.ts';
import { type FallbackPage, type FallbackSettings, fallbackPageOf } from '../../teaser/fallback-page.ts';
import { readPage, type Teaser } from '../../teaser/page.ts';
import { builtInTemplate } from '../../teaser/render.ts';
import { describingData } from '../../teaser/structured-data.ts';
import { runs } from '../support/tier.ts';

const SETTINGS: FallbackSettings = {
  publisher: 'The News',
  site: 'news.example',
  content: 'http://news.example',
  reading: 'https://read.news.example',
};
const EMPTY = readPage(Buffer.from('')).teaser;

const render = (teaser: Partial<Teaser>, settings: Partial<FallbackSettings> = {}, path = '/a/b.html') =>
  builtInTemplate.render(fallbackPageOf(path, { ...EMPTY, ...teaser }, { ...SETTINGS, ...settings }));

const json = (data: unknown) =>
  `<script type="application/ld+json">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>`;

const page = render(
  {
    title: 'A title',
    description: 'What it is',
    language: 'de',
    openGraph: new Map([['og:image', 'http://news.example/a.jpg']]),
    excerpt: ['One.', 'Two.'],
    author: 'Ada Byron',
    published: '2026-11-16',
  },
  { accent: '#a3301d', logo: '/front/logo & co.svg', subscribe: 'https://news.example/subscribe?a=1' },
);

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
    '<img class="picture" src="/a.jpg" alt="">',
    '<img class="logo" src="/front/logo%20%26%20co.svg" alt="The News">',
    '<a id="subscribe" href="https://news.example/subscribe?a=1">Abonnieren</a>',
    '<p class="by">Ada Byron</p>',
    ';--go:#a3301d;',
  ])('has %s', (part) => {
    expect(page).toContain(part);
  });

  it.each([
    ['de-AT', ['>Weiterlesen</a>', 'Für Abonnenten, auf read.news.example.', '>Im Reader öffnen</a>, wenn ']],
    ['ja', ['>続きを読む</a>', '購読者限定です。read.news.example でお読みいただけます。', '>Reader で開く</a>（']],
  ] as const)('speaks the language of the page: %s', (language, words) => {
    const html = render({ language });
    for (const part of [`<html lang="${language}">`, '<footer class="wispr-paid">', ...words])
      expect(html).toContain(part);
    expect(html).not.toMatch(/lang="en"|subscribers|Reader<\/a>, if/);
  });

  const address = 'http://news.example';
  it.each([
    ['<meta name="robots" content="noindex, nofollow">', '<meta name="robots" content="noindex, nofollow">'],
    [
      '<meta name=ROBOTS content=NoIndex><meta name=robots content=noarchive>',
      'name="robots" content="NoIndex, noarchive"',
    ],
    ['<meta name="googlebot-news" content="max-snippet:-1">', '<meta name="googlebot-news" content="max-snippet:-1">'],
    ['<meta name="GPTBot" content="noai">', '<meta name="gptbot" content="noai">'],
    ['<body><meta name="robots" content="noindex">', '<meta name="robots" content="noindex">'],
    [`<meta name="robots" content="${'index, '.repeat(60)}noindex">`, '<meta name="robots" content="none">'],
    ['<meta name="bingbot" content="&quot;><b>">', '<meta name="bingbot" content="none">'],
    ['<meta name="keywords" content="a, b">', '<meta name="keywords" content="a, b">'],
    ['<meta name="google-site-verification" content="x1">', '<meta name="google-site-verification" content="x1">'],
    ['<meta name="referrer" content="unsafe-url">', undefined],
    ['<meta http-equiv="refresh" content="0;url=/x">', undefined],
    ['<base href="/b/"><link rel="canonical" href="c">', `<link rel="canonical" href="${address}/b/c">`],
    [
      '<link rel="alternate" hreflang="de" href="../de/">',
      `<link rel="alternate" hreflang="de" href="${address}/de/">`,
    ],
    [
      '<link rel="alternate" hreflang="x-default" href="//o.example">',
      'hreflang="x-default" href="http://o.example/">',
    ],
    [
      '<link rel="alternate" type="application/atom+xml" href="/f.xml">',
      `<link rel="alternate" type="application/atom+xml" href="${address}/f.xml">`,
    ],
    ['<link rel="next" href="?page=2">', `<link rel="next" href="${address}/a/b.html?page=2">`],
    ['<link rel="prev stylesheet" href="p">', `<link rel="prev" href="${address}/a/p">`],
    ['<link rel="alternate stylesheet" href="/s.css" title="s">', undefined],
    ['<link rel="preload" href="/s.js" as="script">', undefined],
    ['<link rel="next" href="javascript:alert(1)">', undefined],
    ['<body><link rel="next" href="/n">', undefined],
    ['<meta property="og:url" content="/a/">', `<meta property="og:url" content="${address}/a/">`],
    ['<meta property="og:url" content="javascript:1">', undefined],
    ['<meta property="og:locale" content="de_AT">', '<meta property="og:locale" content="de_AT">'],
    ['<meta name="twitter:site" content="@news">', '<meta property="twitter:site" content="@news">'],
    ['<meta name="twitter:image" content="https://o.example/t.png">', 'content="https://o.example/t.png"'],
    ['<meta name="twitter:image" content="/encrypted.png">', undefined],
    ['<meta property="og:image:alt" content="A clock">', undefined],
    [
      '<meta property="og:image" content="/i.png"><meta property="og:image:alt" content="A clock">',
      'content="A clock"',
    ],
    [`<meta name="twitter:description" content="First. Then."><body>First. Then.`, 'content="First."'],
    ['<meta property="og:video" content="/v.mp4">', undefined],
    [
      json({ '@type': 'TechArticle', dateModified: '2026-11-17' }),
      /"@type":"TechArticle".*"dateModified":"2026-11-17"/,
    ],
    [
      json({ '@graph': [{ '@type': 'Person' }, { '@type': ['Thing', 'Course'], courseCode: 'A1' }] }),
      '"courseCode":"A1"',
    ],
    [json({ '@type': 'Article', author: [{ name: 'Ada', email: 'no' }] }), '"author":[{"name":"Ada"}]'],
    [json({ '@type': 'Article', keywords: ['</script><script>alert(1)'] }), '"\\u003c/script>'],
    [`${json({ '@type': 'Article', description: 'First. Then.' })}<body>First. Then.`, '"description":"First."'],
    [json({ '@type': 'Article', isAccessibleForFree: true }), '"isAccessibleForFree":false'],
    [
      json({ '@type': 'Article', articleBody: 'secret', text: 'secret', hasPart: 'secret', url: 'x' }),
      '"@type":"Article"',
    ],
    [json({ '@type': 'FAQPage', mainEntity: { name: 'secret', acceptedAnswer: 'secret' } }), '"@type":"FAQPage"'],
    [json({ '@type': 'VideoObject', name: 'x', transcript: 'secret' }), undefined],
    [json([{ '@type': 'Article', about: { name: { text: 'secret' }, text: 'secret' } }]), '"@type":"Article"'],
    ['<script type="application/ld+json">{"@type":"Article",</script>', undefined],
    [`<body>${json({ '@type': 'Article', keywords: 'secret' })}`, undefined],
    ['<html xml:lang="fr">', '<html lang="fr">'],
  ])('repeats what the head says to machines, from closed lists: %s', (html, expected) => {
    const made = render(readPage(Buffer.from(html)).teaser);
    if (expected === undefined) expect(made).toBe(render({}));
    else expect(made).toMatch(expected);
    expect(made).not.toContain('secret');
    expect(made.match(/<script/g)).toHaveLength(2);
    expect(builtInTemplate.render(parseFallbackPage(Buffer.from(made)) as FallbackPage)).toBe(made);
  });

  it.each([
    ['noindex, max-snippet:20', { robots: 'noindex, max-snippet:20' }],
    ['googlebot: nofollow,noindex, OtherBot: none', { googlebot: 'nofollow, noindex', otherbot: 'none' }],
    [
      'unavailable_after: Sunday, 25-Jun-2028 15:00 UTC',
      { robots: 'unavailable_after: Sunday, 25-Jun-2028 15:00 UTC' },
    ],
    ['some reader: noindex', { robots: 'noindex' }],
    ['googlebot: noindex, unknown: none', { googlebot: 'noindex', robots: 'none' }],
  ])('repeats what X-Robots-Tag says: %s', (tag, robots) => {
    const made = fallbackPageOf('/a.html', EMPTY, SETTINGS, { 'x-robots-tag': tag });
    expect(Object.fromEntries(made.robots)).toEqual(robots);
  });

  it('is structured data for search engines: an article, a part of which is paid for', () => {
    const [, json = ''] = /<script type="application\/ld\+json">(.*)<\/script>/.exec(page) ?? [];
    expect(JSON.parse(json)).toEqual({
      '@context': 'https://schema.org',
      '@type': 'NewsArticle',
      headline: 'A title',
      description: 'What it is',
      image: ['http://news.example/a.jpg'],
      datePublished: '2026-11-16',
      author: { '@type': 'Person', name: 'Ada Byron' },
      publisher: { '@type': 'Organization', name: 'The News' },
      url: 'http://news.example/a/b.html',
      isAccessibleForFree: false,
      hasPart: { '@type': 'WebPageElement', isAccessibleForFree: false, cssSelector: '.wispr-paid' },
    });
    expect(page).toContain('class="wispr-paid"');
    expect(render({ openGraph: new Map([['og:type', 'website']]) })).toContain('"@type":"WebPage"');
  });

  it.each([
    ['/front/x.jpg', {}, 'http://news.example/front/x.jpg', '/front/x.jpg'],
    ['../x.jpg?v=1', {}, 'http://news.example/x.jpg?v=1', '/x.jpg?v=1'],
    ['https://news.example/x.jpg', { content: 'https://cdn.example' }, 'https://cdn.example/x.jpg', '/x.jpg'],
    ['https://other.example/x.jpg', {}, 'https://other.example/x.jpg', undefined],
    ['/x.jpg', { previews: 'none' }, undefined, undefined],
    ['javascript:alert(1)', {}, undefined, undefined],
    ['data:image/png;base64,AA', {}, undefined, undefined],
  ] as const)(
    'has the picture %s where programs find it, and loads only what is the site’s own',
    (given, settings, image, shown) => {
      const html = render({ openGraph: new Map([['og:image', given]]) }, settings);
      expect(/<meta property="og:image" content="([^"]*)">/.exec(html)?.[1]).toBe(image);
      expect(/<img class="picture" src="([^"]*)"/.exec(html)?.[1]).toBe(shown);
      expect(html.includes('twitter:card')).toBe(image !== undefined);
    },
  );

  it('has wispr’s own colour in place of one that cannot be read', () => {
    expect(render({}, { accent: '#ffee00' })).toContain(`;--go:${BUILT_IN_ACCENT.light};`);
  });

  it('speaks the language of the site where the page names none, and English in any other', () => {
    expect(render({}, { language: 'fr' })).toMatch(/<html lang="fr">[\s\S]*Lire la suite/);
    expect(render({ language: 'de' }, { language: 'fr' })).toContain('>Weiterlesen</a>');
    expect(render({})).toMatch(/<html lang="en">[\s\S]*<footer class="wispr-paid">\n[\s\S]*For subscribers/);
    const arabic = render({ language: 'ar', direction: 'rtl' });
    expect(arabic).toMatch(
      /<html lang="ar" dir="rtl">[\s\S]*<footer class="wispr-paid" lang="en" dir="ltr">\n[\s\S]*For subscribers/,
    );
    expect(render({ language: 'constructor' })).toContain('For subscribers');
  });

  it('is smaller than 5 KB, and asks for no icon, which no host has for it', () => {
    expect(Buffer.byteLength(page)).toBeLessThan(5000);
    expect(page).toContain('<link rel="icon" href="data:,">');
  });

  it('is no larger than what recognises it reads, whatever the head', () => {
    const each = (i: number) =>
      `<meta name="${i}bot" content="${'a'.repeat(300)}"><meta name="${i}-verification" content="${'&'.repeat(900)}">
      <link rel="next" href="${'&'.repeat(900)}${i}">`;
    const long = json({ '@type': 'Article', keywords: Array(99).fill('<'.repeat(999)) });
    const html = Array.from({ length: 200 }, (_, i) => each(i)).join('') + long;
    const made = Buffer.from(render(readPage(Buffer.from(html)).teaser));
    expect(made.length).toBeLessThan(MAXIMUM_FALLBACK_PAGE);
    expect(parseFallbackPage(made)).toBeDefined();
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

  it('leads to nothing by itself (WCAG 2.2.1)', () => {
    const html = render({});
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
      author: text,
      published: fc.constantFrom('', '2026-11-16', '2026-11-16T10:00:00+01:00'),
      feeds: fc.constant([]),
      base: fc.constantFrom('', '/b/'),
      robots: text.map((content) => new Map([['robots', content]])),
      meta: text.map((content) => new Map([['keywords', content]])),
      links: fc.constant([{ rel: 'next', href: 'n', hreflang: '', type: '' }]),
      structured: fc
        .record({ '@type': fc.constant('Article'), about: fc.jsonValue(), author: fc.array(fc.record({ name: text })) })
        .map((data) => describingData(data)),
    });
    const look = fc.record(
      {
        accent: fc.stringMatching(/^#[0-9a-f]{6}$/),
        logo: fc.constantFrom('/logo.svg', '/a b/é"&.png'),
        subscribe: fc.constantFrom('https://shop.example/', 'https://shop.example/?a="&b'),
        previews: fc.constantFrom('public' as const, 'none' as const),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(teaser, look, text, (given, looks, publisher) => {
        // What the author wrote has been through the page's parser before.
        const html = `<title>${asHtml(given.title)}</title><meta name=description content="${asHtml(given.description)}">`;
        const cleaned = { ...given, title: readPage(Buffer.from(html)).teaser.title };
        const made = builtInTemplate.render(
          fallbackPageOf('/a.html', cleaned, { ...SETTINGS, ...looks, publisher: publisher || 'x' }),
        );
        const parsed = parseFallbackPage(Buffer.from(made));
        expect(parsed && builtInTemplate.render(parsed)).toBe(made);
      }),
      { numRuns: runs(30) },
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
    ['a picture of another host', (html: string) => html.replace('src="/a.jpg"', 'src="//evil.example/a.jpg"')],
    ['a logo of another host', (html: string) => html.replace('src="/front/', 'src="https://evil.example/front/')],
    ['a style sheet of another host', (html: string) => html.replace('rel="canonical"', 'rel="stylesheet"')],
    ['another meta', (html: string) => html.replace('<title>', '<meta name="referrer" content="unsafe-url"><title>')],
    ['structured data with the text', (html: string) => html.replace('"url":', '"articleBody":"x","url":')],
    ['an image that is a script', (html: string) => html.replace('og:image', 'refresh')],
  ])('refuses %s', (_, change) => {
    expect(change(page)).not.toBe(page);
    expect(parseFallbackPage(Buffer.from(change(page)))).toBeUndefined();
  });

  it('knows where the page leads', () => {
    const parsed = parseFallbackPage(Buffer.from(page));
    const subscribe = 'https://news.example/subscribe?a=1';
    const site = { site: 'news.example', reading: 'https://read.news.example', subscribe };
    expect(parsed && leadsTo(parsed, site, urlPathOf('/a/b.html'))).toBe(true);
    expect(parsed && leadsTo(parsed, { ...site, reading: 'https://read.evil.example' }, urlPathOf('/a/b.html'))).toBe(
      false,
    );
    expect(parsed && leadsTo(parsed, site, urlPathOf('/a/c.html'))).toBe(false);
    expect(parsed && leadsTo(parsed, { ...site, subscribe: '' }, urlPathOf('/a/b.html'))).toBe(false);
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
