import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_ACCENT } from '../../core/site/accent.ts';
import { documentPathOf, isDocumentPath, urlPathOf } from '../../core/site/path.ts';
import { leadsTo, parseFallbackPage, recogniseFallbackPage } from '../../publisher/site/fallback/recognise.ts';
import { MAXIMUM_FALLBACK_PAGE } from '../../publisher/site/fallback/template.ts';
import { barOf } from '../../teaser/bar.ts';
import { type FallbackSettings, fallbackPageOf } from '../../teaser/fallback-page.ts';
import { readPage, type Teaser } from '../../teaser/page.ts';
import { renderTeaser } from '../../teaser/render.ts';
import { scriptOf } from '../../teaser/script.ts';
import { describingData } from '../../teaser/structured-data.ts';
import { runs } from '../support/tier.ts';

const SETTINGS: FallbackSettings = {
  publisher: 'The News',
  site: 'news.example',
  content: 'http://news.example',
  reading: 'https://read.news.example',
};
const DAILY = { name: 'daily', title: 'Weekday paper', price: '€6 a month', buy: 'https://buy.example/' };
const EMPTY = readPage(Buffer.from('')).teaser;

const render = (teaser: Partial<Teaser>, settings: Partial<FallbackSettings> = {}, path = '/a/b.html') => {
  const made = fallbackPageOf(path, { ...EMPTY, ...teaser }, { ...SETTINGS, ...settings });
  return renderTeaser(made, barOf(made, settings), { script: true });
};

/** Makes the page again, out of the values that are read from it. */
const madeAgain = (html: string) => {
  const parsed = parseFallbackPage(Buffer.from(html));
  return parsed && renderTeaser(parsed.page, parsed.bar, { script: true });
};

const json = (data: unknown) =>
  `<script type="application/ld+json">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>`;

const page = render(
  {
    title: 'A title',
    description: 'What it is',
    language: 'de',
    openGraph: new Map([
      ['og:image', 'http://news.example/a.jpg'],
      ['article:section', 'Meer'],
    ]),
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
    '<a id="reader" href="http://localhost:8001/connect?site=news.example&amp;path=/a/b.html" rel="nofollow noreferrer">In der App „wispr Reader“ öffnen</a>',
    '<img class="picture" src="/a.jpg" alt="">',
    '<img class="logo" src="/front/logo%20%26%20co.svg" alt="The News">',
    '<a class="go" href="https://read.news.example/a/b.html">Weiterlesen</a>',
    '<a href="https://news.example/subscribe?a=1">Abonnieren</a>',
    '<p class="kicker">Meer</p>',
    '<p class="by">Von Ada Byron · <time datetime="2026-11-16">Montag, 16. November 2026</time></p>',
    ';--go:#a3301d;',
  ])('has %s', (part) => expect(page).toContain(part));

  it.each([
    ['de-AT', ['>Weiterlesen</a>', 'Für Abonnenten, auf read.news.example.', '>In der App „wispr Reader“ öffnen</a>']],
    [
      'ja',
      [
        '>続きを読む</a>',
        '購読者限定です。read.news.example でお読みいただけます。',
        '>アプリ「wispr Reader」で開く</a>',
      ],
    ],
  ] as const)('speaks the language of the page: %s', (language, words) => {
    const html = render({ language });
    for (const part of [`<html lang="${language}">`, 'aria-labelledby="offer">', ...words])
      expect(html).toContain(part);
    expect(html).not.toMatch(/lang="en"|subscribers|Reader<\/a>/);
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
    expect(madeAgain(made)).toBe(made);
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
    expect(page).toContain('<aside class="wispr-paid"');
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
    expect(render({})).toMatch(/<html lang="en">[\s\S]*aria-labelledby="offer">\n[\s\S]*For subscribers/);
    const arabic = render({ language: 'ar', direction: 'rtl' });
    expect(arabic).toMatch(
      /<html lang="ar" dir="rtl">[\s\S]*aria-labelledby="offer" lang="en" dir="ltr">\n[\s\S]*For subscribers/,
    );
    expect(render({ language: 'constructor' })).toContain('For subscribers');
    expect(render({ language: 'sv', author: 'Ada Byron' })).toContain('<p class="by">Ada Byron</p>');
  });

  it('is smaller than 6.5 KB, and asks for no icon, which no host has for it', () => {
    expect(Buffer.byteLength(page)).toBeLessThan(6500);
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

  it('leads on at once as the settings say: by the meta element of the paper’s figure 3, by its script, or never', () => {
    const path = "/it's.html";
    const always = render({}, { redirect: 'always' }, path);
    expect(always).toContain(
      '<meta http-equiv="refresh" content="1;URL=&#39;https://read.news.example/it%27s.html&#39;">',
    );
    for (const html of [always, render({}, { redirect: 'readers' }, path), render({}, { redirect: 'never' }, path)])
      expect(madeAgain(html)).toBe(html);
    expect(render({})).not.toContain('http-equiv');
    expect(render({})).toContain(scriptOf('readers'));
    expect(render({}, { redirect: 'never' })).not.toMatch(/http-equiv|replace\(/);
  });

  it('names the directory and not its index.html', () => {
    const html = render({}, {}, '/a/index.html');
    expect(html).toContain('data-to="https://read.news.example/a/"');
    expect(render({}, {}, '/aindex.html')).toContain('data-to="https://read.news.example/aindex.html"');
  });

  it('attack 24: every path stays a path on the reading site', () => {
    const path = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
      .map((text) => `/${text.replaceAll('/', '')}x`)
      .filter(isDocumentPath); // a document's path has no backslash
    fc.assert(
      fc.property(path, (name) => {
        const [, href = ''] = /id="read" data-to="([^"]*)"/.exec(render({}, {}, name)) ?? [];
        const url = new URL(href);
        expect([url.origin, decodeURIComponent(url.pathname)]).toEqual(['https://read.news.example', name]);
        expect([url.search, url.hash]).toEqual(['', '']);
        const [, link = ''] = /id="reader" href="([^"]*)"/.exec(render({}, {}, name)) ?? [];
        const { origin, pathname, searchParams } = new URL(link.replaceAll('&amp;', '&'));
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

describe('the bar', () => {
  const to = '?to=/caf%25C3%25A9/b.html';
  const reading = 'https://read.news.example/caf%C3%A9/b.html';
  const page = { language: 'en', reading };
  const signIn = { text: 'Sign in', url: `https://read.news.example/-/sign-in${to}` };
  const subscriptions = `https://read.news.example/-/subscribe${to}`;
  const subscribe = 'https://shop.example/';

  it('offers the first trial: by a field at the account’s origin, elsewhere by links alone', () => {
    const plans = [DAILY, { ...DAILY, name: 'all', price: '€9 a month', trial: 14 }];
    const shown = {
      language: '',
      title: 'Read on, free for 14 days',
      lead: 'Then €9 a month. Stop whenever you like.',
    };
    const links = [signIn, { text: 'See all subscriptions', url: subscriptions }];
    expect(barOf(page, { plans })).toEqual({ ...shown, button: { text: 'Start reading', url: reading }, links });
    const field = {
      action: '/-/sign-up',
      to: '/caf%C3%A9/b.html',
      label: 'Your mail address',
      button: 'Start reading',
    };
    expect(barOf(page, { plans }, { signUp: true })).toEqual({ ...shown, field, links });
    expect(barOf(page, { plans }, { signUp: false })).toEqual(barOf(page, { plans: [DAILY] }));
  });

  it('leads to the subscriptions where there is no trial, and to the publisher’s own page where the reading site sells none', () => {
    const shown = { language: '', title: 'Read on with a subscription', lead: 'Weekday paper · €6 a month' };
    const button = { text: 'Subscribe', url: subscriptions };
    expect(barOf(page, { plans: [DAILY], subscribe })).toEqual({ ...shown, button, links: [signIn] });
    const plans = [{ name: 'daily', title: 'Weekday paper', price: '€6 a month' }];
    expect(barOf(page, { plans, subscribe }).button?.url).toBe(subscribe);
    expect(barOf(page, { plans }).button?.url).toBe(subscriptions);
  });

  it('says who may read where the settings offer nothing', () => {
    const links = [{ text: 'Subscribe', url: subscribe }];
    const bar = barOf(page, { subscribe });
    expect(bar).toMatchObject({ lead: 'For subscribers, at read.news.example.', links });
    expect(bar.button).toEqual({ text: 'Read', url: reading });
    expect(barOf(page, {}, { signUp: true })).toMatchObject({ button: signIn, links: [] });
  });

  it('speaks of links and passwords, and of no subscription, where the site has no key server', () => {
    const button = { text: 'Weiterlesen', url: reading };
    const title = 'Weiterlesen mit Ihrem Link oder Passwort';
    expect(barOf({ language: 'de', reading }, { serverless: true })).toMatchObject({
      title,
      lead: '',
      button,
      links: [],
    });
    expect(render({}, { serverless: true })).not.toMatch(/subscri/i);
  });

  it.each([
    ['en', 1, 'Read on, free for 1 day'],
    ['de-AT', 14, 'Weiterlesen, 14 Tage kostenlos'],
    ['pl', 1, 'Czytaj dalej, 1 dzień za darmo'],
    ['pl', 22, 'Czytaj dalej, 22 dni za darmo'],
    ['ja', 7, '続きを 7 日間無料で読む'],
  ])('counts days as the language does: %s, %i', (language, trial, title) => {
    expect(barOf({ language, reading }, { plans: [{ ...DAILY, trial }] }).title).toBe(title);
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
        redirect: fc.constantFrom('readers' as const, 'always' as const, 'never' as const),
        plans: fc.constantFrom([DAILY], [{ ...DAILY, title: '<&"', trial: 1 }]),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(teaser, look, text, (given, looks, publisher) => {
        // Texts of the author have been through the page's parser before.
        const html = `<title>${asHtml(given.title)}</title><meta name=description content="${asHtml(given.description)}">`;
        const cleaned = { ...given, title: readPage(Buffer.from(html)).teaser.title };
        const made = render(cleaned, { ...looks, publisher: publisher || 'x' }, '/a.html');
        expect(madeAgain(made)).toBe(made);
      }),
      { numRuns: runs(30) },
    );
  });

  it.each([
    ['another script', (html: string) => html.replace('<script>\nvar', '<script>\nalert(1);var')],
    ['one more element', (html: string) => html.replace('</main>', '<iframe src="//evil.example"></iframe></main>')],
    ['another link', (html: string) => html.replace('data-to="https://read', 'data-to="//read')],
    ['another link for Readers', (html: string) => html.replace('localhost:8001/connect?', 'localhost:8001/settings?')],
    ['another port', (html: string) => html.replace('localhost:8001', 'localhost:8002')],
    ['a field', (html: string) => html.replace('<a class="go"', '<form><input></form><a class="go"')],
    ['another path for Readers', (html: string) => html.replace('path=/a/b.html', 'path=/a/c.html')],
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
    const parsed = recogniseFallbackPage(Buffer.from(page));
    const subscribe = 'https://news.example/subscribe?a=1';
    const site = { site: 'news.example', reading: 'https://read.news.example', subscribe };
    expect(parsed && leadsTo(parsed, site, urlPathOf('/a/b.html'))).toBe(true);
    expect(parsed && leadsTo(parsed, { ...site, reading: 'https://read.evil.example' }, urlPathOf('/a/b.html'))).toBe(
      false,
    );
    expect(parsed && leadsTo(parsed, site, urlPathOf('/a/c.html'))).toBe(false);
    expect(parsed && leadsTo(parsed, { ...site, subscribe: '' }, urlPathOf('/a/b.html'))).toBe(false);
    expect(parsed && leadsTo(parsed, { ...site, plans: [DAILY] }, urlPathOf('/a/b.html'))).toBe(false);
    for (const change of [
      page.replace('site=news.example', 'site=evil.example'),
      page.replace(/<a id="reader".*?<\/a>/, ''),
      page.replace('class="go" href="https://read', 'class="go" href="https://evil'),
    ]) {
      const foreign = recogniseFallbackPage(Buffer.from(change));
      expect(foreign && leadsTo(foreign, site, urlPathOf('/a/b.html'))).toBe(false);
    }
  });
});

function asHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
