/** Fallback pages from a template of the publisher's own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseFallbackPage, recogniseFallbackPage } from '../../publisher/site/fallback/recognise.ts';
import { compileFallbackTemplate, readFallbackTemplate } from '../../publisher/site/fallback/template.ts';
import { barOf } from '../../teaser/bar.ts';
import { BUILT_IN_TEMPLATE } from '../../teaser/built-in.ts';
import { type FallbackPage, fallbackPageOf } from '../../teaser/fallback-page.ts';
import { readPage } from '../../teaser/page.ts';
import { builtInTemplate, type FallbackTemplate } from '../../teaser/render.ts';

const LINK = '<a id="read" href="<%= it.reading %>">Read on</a>';
const SCRIPT = '<script><%~ it.script %></script>';
const GOOD = `<!doctype html><html lang="<%= it.language %>"><head><meta charset="utf-8"><title><%= it.title %></title>
<% for (const [name, content] of it.robots) { %><meta name="<%= name %>" content="<%= content %>"><% } %>
<meta name="description" content="<%= it.description %>"><link rel="canonical" href="<%= it.canonical %>">
<% for (const [property, content] of it.openGraph) { %><meta property="<%= property %>" content="<%= content %>">
<% } %><script type="application/ld+json"><%~ it.jsonLd %></script></head>
<body><% if (it.openGraph.get('og:image')) { %><img src="<%= it.openGraph.get('og:image') %>" alt=""><% } %>
<% for (const paragraph of it.excerpt) { %><p><%= paragraph %></p><% } %>${LINK}<a href="<%= it.reader %>">Open in Reader</a>${SCRIPT}</body></html>
`;

function pageOf(html: string, path = '/a/b.html'): FallbackPage {
  return fallbackPageOf(path, readPage(Buffer.from(html)).teaser, {
    publisher: 'The <News>',
    site: 'news.example',
    content: 'http://news.example',
    reading: 'https://read.news.example',
  });
}

const renderBy = (template: FallbackTemplate, html: string) => {
  const page = pageOf(html);
  return template.render(page, barOf(page, {}));
};

describe('a template of the publisher’s own', () => {
  const own = compileFallbackTemplate(GOOD, 'teaser.eta');

  it('is given what wispr’s own is given', () => {
    const html = renderBy(
      own,
      '<html lang=de><title>A & B</title><meta name=description content=D><p data-wispr-excerpt>One.',
    );
    for (const part of [
      '<html lang="de">',
      '<title>A &amp; B</title>',
      'content="D"',
      '<link rel="canonical" href="http://news.example/a/b.html">',
      '"isAccessibleForFree":false',
      '<p>One.</p>',
      'href="https://read.news.example/a/b.html"',
      'a.href+=',
      '<a href="http://localhost:8001/connect?site=news.example&amp;path=/a/b.html">',
    ])
      expect(html).toContain(part);
  });

  it.each([
    ['<p><%= it.titel %></p>', 'there is no it.titel; there are accent, author, '],
    ['<% if (it.subtitle) { %><p>…</p><% } %>', 'there is no it.subtitle'],
    ["<p><%= it.openGraph.get('og:titel') %></p>", 'a value that is not there'],
    ["<p><%= it.openGraph.get('og:title') %></p>", 'a value that is not there'], // pages may have none
    ['<p><%= it.excerpt[7] %></p>', 'a value that is not there'],
  ])('with a slip is refused, and never publishes "undefined": %s', (slip, reason) => {
    const template = GOOD.replace('<body>', `<body>${slip}`);
    expect(() => compileFallbackTemplate(template, 'teaser.eta')).toThrow(
      expect.objectContaining({ code: 'configuration-invalid', message: expect.stringContaining(reason) }),
    );
  });

  it('attack 49: escapes what documents say', () => {
    const nasty = `&quot;>&lt;script>alert(1)&lt;/script>&lt;img src=x onerror=alert(1)>'\\`;
    const html = renderBy(
      own,
      `<title>${nasty}</title><meta name=description content="${nasty}"><meta property=og:title content="${nasty}">` +
        `<meta property=og:image content="${nasty}"><link rel=canonical href="javascript:alert(1)"><p data-wispr-excerpt>${nasty}`,
    );
    expect(html.match(/<script/g)).toHaveLength(2);
    expect(html.match(/<img/g)).toHaveLength(1);
    expect(html).not.toContain('javascript:');
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
  });

  it('can be wispr’s own, with the Read link of others', () => {
    const text = BUILT_IN_TEMPLATE.replace('</aside>', `${LINK}</aside>`);
    const html = renderBy(compileFallbackTemplate(text.replace('id="read" data', 'data'), 'x.eta'), '');
    expect(html).toContain(renderBy(builtInTemplate, '').split('<aside')[0]);
  });

  const elsewhere = GOOD.replace('<%= it.reading %>', 'https://evil.example');
  const some = GOOD.replace(LINK, `<% if (it.excerpt.length) { %>${LINK}<% } %>`);
  const changes = 'change more of its page';

  it.each([
    ['no Read link', GOOD.replace(LINK, ''), 'it has no Read link'],
    ['a Read link that leads elsewhere', elsewhere, 'it has no Read link'],
    ['a Read link for some documents only', some, 'without description'],
    ['no word to crawlers', GOOD.replace(/<% for \(const \[name.*?<% } %>/, ''), 'of it.robots'],
    ['a Read link that loses query and fragment', GOOD.replace(SCRIPT, ''), 'would lose query and fragment'],
    [
      'values that are not escaped',
      GOOD.replace('<%= it.title %>', '<%~ it.title %>'),
      'only it.jsonLd and it.script and it.style',
    ],
    ['values that are not escaped, by a detour', '<% __eta.res += it.title %>', changes],
    ['values as attributes', '<p title=<%= it.title %>>x</p>', changes],
    ['values as attribute names', '<p <%= it.publisher %>>x</p>', changes],
    ['values in a script', '<script>var title = "<%= it.title %>";</script>', changes],
    ['values in a style', '<style>p::before{content:"<%= it.title %>"}</style>', changes],
    ['values in a style attribute', '<p style="<%= it.title %>">x</p>', changes],
    ['values that scripts run', `<p onclick="f('<%= it.title %>')">x</p>`, changes],
    ['values that are followed', `<a href="<%= it.openGraph.get('og:image') %>">x</a>`, changes],
    ['values that are loaded as a page', '<iframe src="<%= it.title %>"></iframe>', changes],
    ['values that lead elsewhere', '<meta http-equiv="refresh" content="<%= it.title %>">', changes],
    [
      'structured data by hand',
      '<script type="application/ld+json">{"name":"<%= it.title %>"}</script>',
      'it.jsonLd %>',
    ],
    ['a value that does not exist', '<%= it.editor.name %>', 'there is no it.editor'],
    ['something that is no program', '<% if ( { %>', ''],
    ['a tag that does not end', '<% it.title', ''],
    ['another file', `<%~ include('/etc/passwd') %>`, 'only it.jsonLd and it.script and it.style'],
  ])('attack 49: is refused with %s', (_, text, message) => {
    const template = text.startsWith('<!doctype') ? text : `${GOOD}${text}`;
    expect(() => compileFallbackTemplate(template, 'teaser.eta')).toThrowError(
      expect.objectContaining({ code: 'configuration-invalid', message: expect.stringContaining(message) }),
    );
  });

  it.each([
    ['in a tag', 'one\n\n<%= it.( %>\n<%= it.title %>', 'line 3, '],
    ['before a tag', '<p>\n<% if (it.title { %>x<% } %>', 'line 2, '],
    ['at the end', 'one\n<% if (it.title) { %>\n\n', 'line 2, '],
  ])('says in which line a slip is: %s', (_, text, line) => {
    expect(() => compileFallbackTemplate(text, 'teaser.eta')).toThrow(line);
  });

  it.each([
    ['in its text', `${GOOD}<% while (true); %>`],
    ['where a value is missing', `${GOOD}<% while (!it.description); %>`],
  ])('is refused where it has no end: %s', (_, text) => {
    expect(() => compileFallbackTemplate(text, 'teaser.eta', 300)).toThrowError(
      expect.objectContaining({ code: 'configuration-invalid', message: expect.stringContaining('no page in 0.3 s') }),
    );
  });

  it('is refused for a document whose page has no Read link', () => {
    const secret = compileFallbackTemplate(
      GOOD.replace(LINK, `<% if (it.title !== 'Secret') { %>${LINK}<% } %>`),
      'x.eta',
    );
    expect(renderBy(secret, '<title>Open</title>')).toContain('read');
    expect(() => renderBy(secret, '<title>Secret</title>')).toThrowError(
      expect.objectContaining({ code: 'configuration-invalid' }),
    );
  });

  it('is read from its file, or refused with its name', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'wispr-template-'));
    const file = join(directory, 'teaser.eta');
    await writeFile(file, GOOD);
    expect(renderBy(await readFallbackTemplate(file), '<title>T</title>')).toContain('<title>T</title>');
    await writeFile(file, Buffer.from([0xff, 0xfe]));
    await expect(readFallbackTemplate(file)).rejects.toMatchObject({ code: 'configuration-invalid' });
    await rm(directory, { recursive: true });
    await expect(readFallbackTemplate(file)).rejects.toMatchObject({
      code: 'configuration-invalid',
      message: expect.stringContaining(file),
    });
    expect(await readFallbackTemplate(undefined)).toBe(builtInTemplate);
  });

  it('makes pages that a mirror recognises, and knows it cannot make again', () => {
    const html = Buffer.from(renderBy(own, '<title>T</title>'));
    expect(parseFallbackPage(html)).toBeUndefined();
    expect(recogniseFallbackPage(html)).toEqual({
      reading: 'https://read.news.example/a/b.html',
      site: undefined,
      language: '',
      bar: undefined,
      ownTemplate: true,
    });
    const built = Buffer.from(renderBy(builtInTemplate, '<title>T</title>'));
    expect(recogniseFallbackPage(built)).toEqual({
      reading: 'https://read.news.example/a/b.html',
      site: 'news.example',
      language: 'en',
      bar: barOf(pageOf(''), {}),
      ownTemplate: false,
    });
    expect(recogniseFallbackPage(Buffer.from('<a id=read href=x>x</a>'))).toBeUndefined();
  });
});
