import { describe, expect, it } from 'vitest';
import { readPage } from '../../teaser/page.ts';
import { shorten } from '../../teaser/shorten.ts';

const read = (html: string) => readPage(Buffer.from(html));

describe('the set that a page names', () => {
  it.each([
    ['<html><head><meta name="wispr-set" content="gold"></head>', 'gold'],
    ["<HTML><META NAME='Wispr-Set' CONTENT=' gold  card '>", 'gold card'],
    ['<title>a</title><style>p{}</style><script>1</script><link rel=x><meta content=gold name=wispr-set />', 'gold'],
    ['<meta name="wispr-set" content="cafe\u0301">', 'caf\u00e9'],
    ['<meta name="wispr-set" content="a"><meta name="wispr-set" content="a">', 'a'],
    ['<meta name="wispr-set" content="a &amp; b">', 'a & b'],
    ['<!-- <meta name="wispr-set" content="gold"> --><p>', undefined],
    ['<script>"<meta name=wispr-set content=gold>"</script>', undefined],
    ['<title><meta name=wispr-set content=gold></title>', undefined],
    ['', undefined],
  ])('in %s', (html, set) => {
    const page = read(html);
    expect([page.set, page.problem]).toEqual([set, undefined]);
  });

  it.each([
    '<head></head><body><meta name="wispr-set" content="gold">',
    '<p>a</p><meta name="wispr-set" content="public">',
    '<head><title>x</title></head><meta name="wispr-set" content="gold">',
    '<meta name="wispr-set" content="gold"><div><meta name="wispr-set" content="public"></div>',
  ])('is refused outside the head: %s', (html) => expect(read(html).problem).toContain('outside the head'));

  it('is refused where there are two', () => {
    const page = read('<meta name="wispr-set" content="gold"><meta name="wispr-set" content="public">');
    expect(page.problem).toBe('it names more than one set: gold, public');
  });

  it.each([
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><meta name="wispr-set" content="gold"/></head></html>',
    '<html><head><script src="a.js"/><meta name="wispr-set" content="gold"></meta></head></html>',
    '<h:html><h:head><h:title>a</h:title><h:meta name="wispr-set" content="gold"/></h:head></h:html>',
  ])('is found in XML: %s', (xhtml) => {
    expect(readPage(Buffer.from(xhtml), { xml: true })).toMatchObject({ set: 'gold', problem: undefined });
  });

  it('is found in other encodings', () => {
    const html = '<meta charset="iso-8859-1"><meta name="wispr-set" content="\u00e9t\u00e9">';
    expect(readPage(Buffer.from(html, 'latin1')).set).toBe('\u00e9t\u00e9');
    expect(readPage(Buffer.from(`\ufeff${html}`, 'utf16le')).set).toBe('\u00e9t\u00e9');
  });
});

describe('the teaser of a page', () => {
  it('is what its head and its author’s excerpt say', () => {
    const { teaser } = read(`<!doctype html><html lang="ar" dir="RTL"><head><title> A &lt;b&gt;
      title</title><meta name="description" content="what it is"><meta property="og:title" content="Graph">
      <meta property="og:audio" content="no"><link rel="nofollow Canonical" href="/a.html">
      <meta name="Author" content=" Ada  Byron "><meta property="article:published_time" content="2026-11-16T08:00Z">
      <link rel="alternate" type="application/rss+xml" href="/index.xml"></head>
      <body><meta name="author" content="A comment"><p>not this<div data-wispr-excerpt><h2>Head</h2><p>one <b>two</b>&nbsp;three<p>four<script>no</script>
      <style>no</style><br>five</div><p>nor this</p></body></html>`);
    expect(teaser).toEqual({
      title: 'A <b> title',
      description: 'what it is',
      language: 'ar',
      direction: 'rtl',
      canonical: '/a.html',
      openGraph: new Map([['og:title', 'Graph']]),
      excerpt: ['Head', 'one two three', 'four', 'five'],
      author: 'Ada Byron',
      published: '2026-11-16T08:00Z',
      feeds: ['/index.xml'],
      base: '',
      robots: new Map(),
      meta: new Map(),
      links: [{ rel: 'alternate', href: '/index.xml', hreflang: '', type: 'application/rss+xml' }],
      structured: {},
    });
  });

  it.each(['yesterday', '2026-11', '2026-11-16T08:00', '<b>'])('has no date where it says %j', (date) => {
    expect(read(`<meta property="article:published_time" content="${date}">`).teaser.published).toBe('');
  });

  it('takes nothing from a body without an excerpt', () => {
    expect(
      JSON.stringify(read('<title>t</title><body><h1>secret</h1><svg><title>secret</title></svg>').teaser),
    ).not.toContain('secret');
  });

  it('ends with the marked element, also where tags are left open or wrong', () => {
    expect(read('<p data-wispr-excerpt>one<p>two').teaser.excerpt).toEqual(['one']);
    expect(read('<div data-wispr-excerpt>one</span></div>two').teaser.excerpt).toEqual(['one']);
    expect(read('<div><span data-wispr-excerpt>one<b>two</div>three').teaser.excerpt).toEqual(['onetwo']);
    expect(read('<img data-wispr-excerpt>none').teaser.excerpt).toEqual([]);
  });

  it('stays small, whatever the page', () => {
    const long = 'word '.repeat(100_000);
    const { teaser } = read(`<title>${long}</title><div data-wispr-excerpt><p>${long}<p>${long}</div>`);
    expect(JSON.stringify({ ...teaser, openGraph: [] }).length).toBeLessThan(10_000);
  });

  describe('has no more of the page than its first sentence, where a generator copied the text', () => {
    const copied = (description: string, body: string) => {
      const meta = `<meta name="description" content="${description}"><meta property="og:description" content="${description}">`;
      const { teaser } = read(`<title>T</title>${meta}<body><header>News</header>${body}`);
      expect(teaser.openGraph.get('og:description')).toBe(teaser.description);
      return teaser.description;
    };
    const first = 'The mayor resigned on Monday.';

    it.each([
      [
        'the whole body',
        `${first} She gave no reason.`,
        `<h1>T</h1><p>${first}</p><script>1</script><p>She gave <b>no</b> reason.`,
      ],
      ['its beginning', `${first} She gave …`, `<p>${first}\n She gave no reason.`],
      ['its beginning, with brackets', `${first} She gave [...]`, `<p>${first} She gave no reason.`],
      ['a long text that the page does not have', `${first} ${'It goes on. '.repeat(20)}`, '<p>Something else.'],
    ])('%s', (_, description, body) => expect(copied(description, body)).toBe(first));

    it('into a headline, a name, a genre or keywords', () => {
      const text = `${first} She gave no reason at all. Her deputy takes over until the election in May.`;
      const metas = ['og:title', 'twitter:title', 'og:site_name', 'article:section', 'keywords', 'author'];
      const data = { '@type': 'Article', headline: text, alternativeHeadline: text, name: text, genre: text };
      const structured = { ...data, about: { name: text }, keywords: [text, 'a'], author: [{ name: 'J. F. Doe' }] };
      const { teaser } = read(
        `<title>T</title>${metas.map((name) => `<meta name="${name}" content="${text}">`).join('')}
        <script type="application/ld+json">${JSON.stringify(structured)}</script><body><p>J. F. Doe</p><p>${text}`,
      );
      const short = shorten(text, 80);
      expect(short.length).toBeLessThanOrEqual(80);
      expect([...teaser.openGraph.values(), ...teaser.meta.values(), teaser.author]).toEqual(metas.map(() => short));
      expect(teaser.structured).toEqual(JSON.parse(JSON.stringify(structured).replaceAll(text, short)));
      const pieces = text.match(/.{1,40}/g) ?? [];
      const listed = `<script type="application/ld+json">${JSON.stringify({ '@type': 'Article', keywords: [...pieces, ...pieces, ...pieces] })}</script>`;
      expect(JSON.stringify(read(listed).teaser.structured.keywords).length).toBeLessThan(250);
      const title = `<title>${text} | News</title><meta property="og:title" content="${text}"><body>${text}`;
      expect(read(title).teaser.openGraph.get('og:title')).toBe(text);
    });

    it('in Japanese', () => {
      expect(copied('市長が辞任した。理由は不明だ。', '<p>市長が辞任した。理由は不明だ。続報を待つ。')).toBe(
        '市長が辞任した。',
      );
    });

    it('and at most 200 characters of that, whole ones', () => {
      const words = copied('word '.repeat(100), '<p>x');
      expect(words).toMatch(/ word…$/);
      expect(words.length).toBeLessThanOrEqual(200);
      const family = '👩‍👩‍👧‍👦';
      const shown = copied(family.repeat(40), '<p>x');
      expect(shown).toBe(`${family.repeat(Math.floor(199 / family.length))}…`);
    });

    it('but all that an author wrote himself, and marked', () => {
      const own = 'A mayor leaves. What now?';
      expect(copied(own, `<p>${first} She gave no reason.`)).toBe(own);
      const marked = `${first} She gave no reason.`;
      expect(read(`<body><p data-wispr-excerpt>${marked}`).teaser.excerpt).toEqual([marked]);
    });
  });
});

it('a page of very many elements in its excerpt is read in a time by its length', () => {
  const before = performance.now();
  const { excerpt } = read(`<body><div data-wispr-excerpt>${'<p>a</p>'.repeat(450_000)}`).teaser;
  expect(excerpt).toHaveLength(2000);
  expect(read(`<body><p data-wispr-excerpt>${'<b>x'.repeat(40_000)}`).teaser.excerpt[0]?.length).toBeLessThan(600);
  expect(performance.now() - before).toBeLessThan(8000);
});
