/** `wispr check`, on sites with one thing wrong each. */
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readDocuments } from '../../publisher/check/batches.ts';
import { checkSite } from '../../publisher/check/check-site.ts';
import type { OwnWord } from '../../publisher/check/content-check.ts';
import { type CheckKind, type CheckReport, Findings } from '../../publisher/check/report.ts';
import { addressesOfSrcset, referencesOfStyle } from '../../publisher/check/scan.ts';
import { SourceWalk } from '../../publisher/site/walk.ts';
import { readConfiguration } from '../../publisher/workspace/configuration/read.ts';
import type { ConfigurationInput } from '../../publisher/workspace/configuration/schema.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

const made: string[] = [];
afterEach(async () => {
  for (const directory of made.splice(0)) await rm(directory, { recursive: true });
});

async function siteOf(files: Files, settings: Partial<ConfigurationInput> = {}): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'wispr-check-'));
  made.push(directory);
  const configuration = {
    site: 'news.example',
    source: 'site',
    out: 'protected',
    content: ['http://news.example', 'https://cdn.example'],
    keyServer: 'https://keys.news.example',
    reading: 'https://read.news.example',
    ...settings,
  };
  await writeFile(join(directory, 'wispr.json'), JSON.stringify(configuration));
  await mkdir(join(directory, 'site'));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, 'site', path)), { recursive: true });
    await writeFile(join(directory, 'site', path), content);
  }
  return directory;
}

async function check(files: Files, settings: Partial<ConfigurationInput> = {}): Promise<CheckReport> {
  return checkSite({ configurationFile: join(await siteOf(files, settings), 'wispr.json') });
}

/** The subjects of one kind. */
function subjects({ groups }: CheckReport, kind: CheckKind): string[] {
  return groups.find((group) => group.kind === kind)?.findings.map(({ subject }) => subject) ?? [];
}

const page = (body: string, head = '') => `<!doctype html><meta charset="utf-8"><title>T</title>${head}<body>${body}`;

describe('documents', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => [
      `${index}.html`,
      page(`<a href="gone-${index % 7}.html">g</a>`, index % 2 === 0 ? '<meta name="wispr-set" content="even">' : ''),
    ]);

  it('are read on several threads with the same result as on one', async () => {
    const directory = await siteOf(Object.fromEntries(many(150)));
    const configuration = await readConfiguration(join(directory, 'wispr.json'));
    const files = [...new SourceWalk(join(directory, 'site'), () => false).files()];
    const data = { configuration, source: join(directory, 'site'), files, refused: new Set<string>() };
    const readOn = async (threads: number) => {
      const findings = new Findings();
      const words: OwnWord[] = [];
      for await (const batch of readDocuments(data, threads)) {
        findings.merge(batch.found);
        words.push(...batch.words);
      }
      return { words, groups: findings.groups() };
    };
    const one = await readOn(1);
    expect(one.words.filter(({ set }) => set === 'even').length).toBe(75);
    expect(one.groups[0]?.findings.map(({ count }) => count)).toEqual([22, 22, 22, 21, 21, 21, 21]);
    expect(await readOn(2)).toEqual(one);
  });

  it('that cannot be read are findings, and the others are read', async () => {
    const directory = await siteOf({ 'a.html': page('') });
    const configuration = await readConfiguration(join(directory, 'wispr.json'));
    const [file] = new SourceWalk(join(directory, 'site'), () => false).files();
    if (file === undefined) throw new Error('there is no file');
    const files = [{ ...file, path: '/gone.html', file: join(directory, 'gone') }, file];
    const data = { configuration, source: directory, files, refused: new Set<string>() };
    const { value } = await readDocuments(data, 1).next();
    expect(value?.words).toEqual([{ problem: 'it cannot be read: there is no such file or directory' }, {}]);
  });
});

describe('a site with nothing wrong', () => {
  it('has no findings, and says what is public, why, and what belongs where', async () => {
    const report = await check(
      {
        'index.html': page(
          '<a href="a/">A</a> <a href="#x">x</a> <a href="mailto:a@b.example">m</a> <img src="data:,x">',
        ),
        'a/index.html': page(
          '<a href="../caf%C3%A9%20%231.html?q#f">é</a> <a href="//other.example/x">o</a>',
          '<meta name="wispr-set" content="a">',
        ),
        'café #1.html': page('<a href="/">home</a>'),
        'robots.txt': 'x',
        '.hidden': 'x',
      },
      { public: ['index.html'] },
    );
    expect(report.groups.filter(({ kind }) => kind !== 'name-odd')).toEqual([]);
    expect(report).toMatchObject({ site: 'news.example', documents: 4, pages: 3, ignored: 1 });
    expect(report.sets).toEqual([
      { name: 'a', documents: 1 },
      { name: 'subscribers', documents: 1 },
    ]);
    expect(report.public).toEqual([
      { reason: '"public" names index.html', documents: 1, paths: ['/index.html'] },
      { reason: 'crawlers read it', documents: 1, paths: ['/robots.txt'] },
    ]);
  });
});

describe('links', () => {
  it('to what is not there are found wherever browsers follow or load them, with their lines', async () => {
    const body = `<p>
<a href=gone-1.html>1</a><area href="/gone-2.html#f">
<img src=gone-3.png srcset="gone-4.png 1x, gone-5.png 2x"><picture><source srcset=gone-6.webp></picture>
<video src=gone-7.mp4 poster=gone-8.jpg><track src=gone-9.vtt></video><audio src=gone-10.mp3></audio>
<iframe src=gone-11.html></iframe><object data=gone-12.svg></object><embed src=gone-13.pdf>
<p style="background:url(gone-14.png)"><svg><use xlink:href="gone-15.svg#a"/></svg>
<script src="gone-16.js"></script><style>@import "gone-17.css"; a { b: url('gone-18.png') } /* url(fine.png) */</style>
<form action="gone-19.html"></form>`;
    const head =
      '<link rel=stylesheet href=gone-20.css><link rel="shortcut icon" href=gone-21.ico><meta http-equiv=refresh content="5; url=gone-22.html">';
    const report = await check({ 'index.html': page(body, head) });
    const found = subjects(report, 'missing').map((path) => Number(/\d+/.exec(path)));
    expect(found.sort((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, index) => index + 1));
    const first = report.groups[0]?.findings.find(({ subject }) => subject === '/gone-1.html');
    expect(first?.places).toEqual([{ path: '/index.html', line: 2 }]);
  });

  it('are not followed for search engines, out of comments, and to other hosts', async () => {
    const head =
      '<link rel=canonical href="http://news.example/x"><link rel="author license" href=/y><link rel=alternate href=https://other.example/>';
    const body = '<!-- <a href=z> --><a href="https://other.example/z">z</a><a href="http://my-news.example/">n</a>';
    expect((await check({ 'index.html': page(body, head) })).groups).toEqual([]);
  });

  it('to feeds, other languages and further pages are found, with or without the host', async () => {
    const link = (rel: string, href: string) => `<link rel="${rel}" href="${href}">`;
    const head = [
      link('alternate', 'http://news.example/feed.xml'),
      link('ALTERNATE', '/de/'),
      link('next', 'http://news.example/2.html'),
      link('prev', '0.html'),
    ];
    const report = await check({ 'index.html': page('', head.join('')), '2.html': 'x' });
    expect(subjects(report, 'missing')).toEqual(['/0.html', '/de/', '/feed.xml']);
    expect(subjects(report, 'own-host')).toEqual([]);
  });

  it('in scripts are their imports by literals', async () => {
    const script = `import a from './gone-1.js';\nexport * from "../gone-2.js"; import('./gone-3.js'); import 'lib'; import(a);
// import './no.js'
const text = "import('./no.js')", more = \`import './no.js'\`, found = /import('.[/]no.js')/; import './there.js';`;
    const report = await check({
      'js/a.js': script,
      'js/b.mjs': "export { b } from '/gone-4.js'",
      'js/there.js': 'this is no script: import "./no.js" (',
      'd/index.html': page(
        `<script type=module>\nimport './gone-5.js'</script><script>import('/gone-6.js')</script>
<script type="text/template">import './no.js'</script><script type="application/json">{"a": "import './no.js'"}</script>`,
        '<base href="/base/">',
      ),
    });
    expect(subjects(report, 'missing').sort()).toEqual([
      '/base/gone-5.js',
      '/gone-2.js',
      '/gone-4.js',
      '/gone-6.js',
      '/js/gone-1.js',
      '/js/gone-3.js',
    ]);
    const places = report.groups[0]?.findings.find(({ subject }) => subject === '/gone-2.js')?.places;
    expect(places).toEqual([{ path: '/js/a.js', line: 2 }]);
  });

  it('that no document can have are not advised to be redirected, and others are named as redirects take them', async () => {
    const paths = ['/a//b', '/%2e%2e%2fx', '/-%2F'];
    const missing = ['/c%23d.html', '/caf%C3%A9.html', '/100%25.html', '/q%3F.html', '/e f.html'];
    const files = { 'index.html': page([...paths, ...missing].map((path) => `<a href="${path}">x</a>`).join('')) };
    const report = await check(files);
    expect(subjects(report, 'address-refused')).toEqual(paths.sort());
    const from = subjects(report, 'missing');
    expect(from).toHaveLength(missing.length);
    const redirects = from.map((path) => ({ from: path, to: '/index.html' }));
    expect((await check(files, { redirects })).groups.map(({ kind }) => kind)).toEqual(['address-refused']);
  });

  it('are resolved as readers will resolve them', async () => {
    const links = (...urls: string[]) => page(urls.map((url) => `<a href="${url}">x</a>`).join('\n'));
    const files = { 'd/index.html': 'x', 'about.html': 'x', 'a b/ü.html': 'x', 'index.html': '' };
    const redirects = [{ from: '/old', to: '/about.html' }];
    const good = [
      'd/',
      'd',
      '/d/index.html',
      './d/../about.html',
      'a%20b/%C3%BC.html',
      'a b/ü.html',
      '/%61bout.html',
      '/old?x',
      '\n about.html',
    ];
    const bad = ['/about', 'D/', '/d/x', '/about.html/'];
    const report = await check({ ...files, 'index.html': links(...good, ...bad) }, { redirects });
    expect(subjects(report, 'missing').sort()).toEqual(['/D/', '/about', '/about.html/', '/d/x']);
    const clean = await check({ ...files, 'index.html': links('about', 'd', 'nothing') }, { cleanUrls: true });
    expect(subjects(clean, 'missing')).toEqual(['/nothing']);
  });

  it('follow <base href>', async () => {
    const report = await check({
      'index.html': page('<a href="a.html">a</a><a href="b.html">b</a>', '<base href="/sub/">'),
      'sub/a.html': 'x',
      'b.html': 'x',
    });
    expect(subjects(report, 'missing')).toEqual(['/sub/b.html']);
  });

  it('to files that are left out say so', async () => {
    const files = { 'index.html': page('<a href=draft.html>d</a><a href=link.html>l</a>'), 'draft.html': 'x' };
    const directory = await siteOf(files, { ignore: ['draft.html'] });
    await symlink('/etc/hostname', join(directory, 'site/link.html'));
    const report = await checkSite({ configurationFile: join(directory, 'wispr.json') });
    expect(subjects(report, 'refused')).toEqual(['/link.html']);
    const missing = report.groups.find(({ kind }) => kind === 'missing')?.findings;
    expect(missing?.map(({ subject, message }) => [subject, message])).toEqual([
      ['/draft.html', 'the file is there, but hidden or ignored'],
      ['/link.html', 'the file is there, but would be refused'],
    ]);
  });

  it('in style sheets are relative to the sheet', async () => {
    const report = await check({
      'css/a.css':
        '/* url(no.png) */ a{b:url( "../i.png" )} @import url(b.css); c{d:url(data:,x);e:url(#f)}\n@import "gone.css";',
      'css/b.css': 'x',
      'i.png': 'x',
    });
    const [missing] = report.groups;
    expect(missing?.findings).toMatchObject([{ subject: '/css/gone.css', places: [{ path: '/css/a.css', line: 2 }] }]);
  });

  it.each([
    ['a.png', ['a.png']],
    ['a.png 1x, b.png 2x', ['a.png', 'b.png']],
    [' a.png , b.png 100w,c.png', ['a.png', 'b.png', 'c.png']],
    ['data:image/png;base64,AA== 1x, b.png', ['data:image/png;base64,AA==', 'b.png']],
    ['a,b.png 2x', ['a,b.png']],
    ['', []],
    [',,', []],
  ])('srcset %j', (srcset, expected) => {
    expect(addressesOfSrcset(srcset)).toEqual(expected);
  });

  it('in styles are found with their places', () => {
    expect(referencesOfStyle('a{b:url(x.png)}', 10)).toEqual([{ url: 'x.png', use: 'load', offset: 14 }]);
  });
});

describe('the site’s own host', () => {
  it('is found in pages, styles and scripts, by every name the site has', async () => {
    const report = await check({
      'index.html': page(
        `<a href="https://news.example/1">a</a><img src="//cdn.example/2.png"><div data-src="http://news.example/3">
<script>fetch("http:\\/\\/news.example\\/4"); // and http://news.example/no
/* http://news.example/no */</script><a href="http://NEWS.example:8080/5">p</a><p onclick="go('//news.example/6')">`,
        '<meta property="og:url" content="http://news.example/"><script type="application/ld+json">{"@id":"http://news.example/no"}</script>',
      ),
      'a.js':
        'var ok = "https://news.example.org/";\n  // http://news.example/no\nload(`//news.example/7`); glob("**/*.js"); x("http://news.example/8")',
      'a.css': 'a { b: url(http://news.example/9.png) }',
    });
    const found = subjects(report, 'own-host').map((url) => Number(/\/(\d)/.exec(url.replace(':8080', ''))?.[1]));
    expect(found.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const inScript = report.groups[0]?.findings.find(({ subject }) => subject.endsWith('/7'));
    expect(inScript).toMatchObject({ subject: '//news.example/7', places: [{ path: '/a.js', line: 3 }] });
  });
});

describe('the site’s own host in data', () => {
  it('is noted by file: what becomes of it, only the scripts know', async () => {
    const index = JSON.stringify([{ url: 'http://news.example/1' }, { url: 'https://news.example/2' }], null, 1);
    const report = await check({
      'index.json': index,
      'a.js.map': index,
      'feed.xml': '<link>http://news.example/</link>',
    });
    expect(report.groups).toMatchObject([
      {
        kind: 'own-host-data',
        breaks: false,
        findings: [{ subject: '/index.json', message: 'such as http://news.example/1', count: 2 }],
      },
    ]);
  });

  it('and in scripts takes no quadratic time, nor do style sheets', async () => {
    const script = `x=[${'"http://news.example/a",'.repeat(40_000)}]`;
    const report = await check({
      'a.js': script,
      'b.js': `/*${script}`,
      'a.css': 'url('.repeat(200_000),
      'b.css': '/*'.repeat(200_000),
    });
    expect(report.groups[0]).toMatchObject({ kind: 'own-host', findings: [{ count: expect.any(Number) }] });
  });
});

describe('what does not work', () => {
  it('is what pages load over plain http from elsewhere', async () => {
    const report = await check({
      'index.html': page(
        `<script src="http://other.example/a.js"></script><img src=" HTTP://other.example/b.png"><img src="//other.example/no.png">
<img src="https://other.example/no.png"><a href="http://other.example/no.html">n</a><img src="http://news.example/no.png">
<script type=module>import 'http://other.example/c.js'</script>`,
      ),
      'a.css': 'a { b: url(http://other.example/d.png) }',
      'based.html': page(
        '<img src="e.png"><img src="https://x.example/no.png">',
        '<base href="http://other.example/">',
      ),
    });
    const found = subjects(report, 'mixed-content').map((url) => url.replace('http://other.example/', ''));
    expect(found).toEqual(['a.js', 'b.png', 'c.js', 'd.png', 'e.png']);
  });

  it('are forms that are sent to the site; other forms are noted', async () => {
    const report = await check({
      'index.html': page(
        `<form method=POST action="/comment">x</form><form action="/"><button formaction="/vote" formmethod=post></form>
<form method=post></form><form method=post action="https://mail.example/send"></form><form method=dialog></form><form></form>`,
      ),
    });
    expect(subjects(report, 'form').sort()).toEqual(['POST /comment', 'POST /index.html', 'POST /vote']);
    expect(subjects(report, 'form-elsewhere')).toEqual(['https://mail.example']);
  });

  it('are service workers', async () => {
    const report = await check({
      'a.js': "\nnavigator.serviceWorker.register('/w.js')",
      'b.js': "'serviceWorker' in navigator",
    });
    expect(report.groups).toMatchObject([
      { kind: 'service-worker', breaks: false, findings: [{ subject: '/a.js', places: [{ line: 2 }] }] },
    ]);
  });

  it('are redirects in a ring, to nowhere, and from documents', async () => {
    const report = await check(
      { 'a.html': 'x' },
      {
        redirects: [
          { from: '/1', to: '/2' },
          { from: '/2', to: '/1' },
          { from: '/3', to: '/gone' },
          { from: '/a.html', to: '/3' },
        ],
        notFound: 'no.html',
      },
    );
    expect(subjects(report, 'refused')).toEqual(['/1', '/2', 'wispr.json']);
    expect(subjects(report, 'redirect-missing')).toEqual(['/3']);
    expect(subjects(report, 'redirect-unused')).toEqual(['/a.html']);
  });

  it('are what a template for fallback pages loads, and browsers may not see or find', async () => {
    const template = `<!doctype html><html lang="<%= it.language %>"><title><%= it.title %></title>
<link rel="canonical" href="<%= it.canonical %>"><link rel="stylesheet" href="/hidden.css"><link rel="stylesheet" href="/open.css">
<script type="application/ld+json"><%~ it.jsonLd %></script><img src="/gone.png" alt=""><img src="https://news.example/open.css" alt="">
<a id="read" href="<%= it.reading %>">Read</a><script><%~ it.script %></script>`;
    const files = { 'a/b.html': page(''), 'hidden.css': 'p {}', 'open.css': 'p {}', '.teaser.eta': template };
    const report = await check(files, { public: ['open.css'], fallback: { template: 'site/.teaser.eta' } });
    expect(subjects(report, 'refused')).toEqual([]);
    expect(subjects(report, 'public-loads-protected')).toEqual(['/hidden.css']);
    expect(subjects(report, 'missing')).toEqual(['/gone.png']);
    expect(subjects(report, 'own-host')).toEqual([]);
    expect(report.groups.find(({ kind }) => kind === 'missing')?.findings[0]?.places).toEqual([
      { path: 'site/.teaser.eta' },
    ]);
  });

  it('are pages and files that protect would refuse, and a template', async () => {
    const report = await check(
      {
        'a.html': page('', '<meta name="wispr-set" content="a"><meta name="wispr-set" content="b">'),
        'b.html': page('', '<meta name="wispr&#45;set" content="*">'),
        'c.html': `${page('')}\0`,
        'd.protected': 'x',
        '.well-known/wispr-site': 'x',
        '.well-known/wispr/x': 'x',
        [`${'x'.repeat(181)}`]: 'x',
      },
      { fallback: { template: 'gone.eta' } },
    );
    expect(subjects(report, 'refused').sort()).toEqual(
      [
        '"fallback.template"',
        '/.well-known/wispr-site',
        '/.well-known/wispr/x',
        '/a.html',
        '/b.html',
        '/c.html',
        '/d.protected',
        `/${'x'.repeat(181)}`,
      ].sort(),
    );
  });
});

describe('what is worth knowing', () => {
  it('is what public pages load that is encrypted, and previews without a picture', async () => {
    const head = '<link rel=stylesheet href=a.css><meta property="og:image" content="http://news.example/a.png">';
    const files = { 'a.css': 'a{b:url(b.png)}', 'a.png': 'x', 'b.png': 'x' };
    const all = {
      ...files,
      'index.html': page('<a href=x.html>x</a><img src=b.png><img src=a.png>', head),
      'x.html': page('<img src=b.png>'),
    };
    const report = await check(all, { public: ['index.html', 'b.png'], previews: 'none' });
    expect(subjects(report, 'public-loads-protected')).toEqual(['/a.css', '/a.png']);
    expect(subjects(report, 'preview-picture')).toEqual(['/a.png']);
    const shown = await check(all, { public: ['index.html', 'b.png'] });
    expect(shown.groups.map(({ kind }) => kind)).toEqual(['public-loads-protected']);
    expect(subjects(shown, 'public-loads-protected')).toEqual(['/a.css']);
    expect(shown.public.flatMap(({ paths }) => paths)).toContain('/a.png');
    const gone = page('', '<meta property="og:image" content="/gone.png">');
    expect(subjects(await check({ 'x.html': gone }), 'preview-picture')).toEqual(['/gone.png']);
    const byPage = await check({
      ...files,
      'x.html': page('<img src=b.png>', '<meta name="wispr-set" content="public">'),
    });
    expect(subjects(byPage, 'public-loads-protected')).toEqual(['/b.png']);
  });

  it('is a colour that cannot be read, and a logo that visitors cannot load', async () => {
    const files = { 'a.html': page('a'), 'logo.svg': '<svg/>', 'x.css': '' };
    expect(subjects(await check(files, { accent: '#ffee00' }), 'accent-pale')).toEqual(['#ffee00']);
    expect((await check(files, { accent: '#a3301d', logo: 'logo.svg', public: ['logo.svg'] })).groups).toEqual([]);
    for (const logo of ['logo.svg', 'gone.svg']) {
      const [group] = (await check(files, { logo })).groups;
      expect(group).toMatchObject({ kind: 'refused', total: 1 });
      expect(group?.findings[0]?.message).toContain(`"logo" names ${logo}, which is not`);
    }
    expect((await check(files, { logo: 'x.css', public: ['x.css'] })).groups[0]?.findings[0]?.message).toContain(
      'which is no picture',
    );
  });

  it('are feeds with whole articles in them', async () => {
    const item = (name: string, text: string) => `<${name}><![CDATA[${text}]]></${name}>`;
    const rss = (text: string) => `<?xml version="1.0"?><rss><channel><item>${text}</item></channel></rss>`;
    const atom = (text: string) => `<feed xmlns="http://www.w3.org/2005/Atom"><entry>${text}</entry></feed>`;
    const link = '<link rel="alternate" type="application/atom+xml" href="/en/index.xml">';
    const report = await check({
      'index.html': page('a', link),
      'feed.xml': rss(item('content:encoded', 'a'.repeat(501))),
      'short.rss': rss(item('content:encoded', 'a'.repeat(500)).repeat(3) + item('description', 'a'.repeat(900))),
      'en/index.xml': atom(item('content', 'a'.repeat(501))),
      'short.atom': atom(item('content', 'a'.repeat(500)) + item('summary', 'a'.repeat(900))),
      'data.xml': `<data>${item('content', 'a'.repeat(600))}</data>`,
    });
    expect(subjects(report, 'feed-whole')).toEqual(['/en/index.xml', '/feed.xml']);
    const shown = report.public.flatMap(({ paths }) => paths).sort();
    expect(shown).toEqual(['/en/index.xml', '/feed.xml', '/short.atom', '/short.rss']);
  });

  it('are names that hosts take for one, change or misread', async () => {
    const odd = ['50%.html', 'a?b.html', 'a#b.html', 'dot./x', 'space /x', ' lead.txt', 'a:b'];
    const report = await check({
      ...Object.fromEntries(odd.map((name) => [name, 'x'])),
      'A.txt': 'x',
      'a.txt': 'x',
      'd\u00fc.txt': 'x',
      'du\u0308.txt': 'x',
    });
    expect(subjects(report, 'name-odd').sort()).toEqual(odd.map((name) => `/${name}`).sort());
    expect(subjects(report, 'name-case').length).toBe(2);
  });

  it('are empty pages, and pages in an unknown encoding', async () => {
    const report = await check({
      'empty.html': ' \n',
      'nothing.html': '',
      'latin.html': Buffer.from('<title>caf\u00e9</title>', 'latin1'),
      'said.html': Buffer.from('<meta charset=iso-8859-1><title>caf\u00e9</title>', 'latin1'),
      'utf16.html': Buffer.from('\ufeff<title>x</title>', 'utf16le'),
    });
    expect(subjects(report, 'empty')).toEqual(['/empty.html', '/nothing.html']);
    expect(subjects(report, 'charset')).toEqual(['/latin.html']);
  });

  it('are large files', async () => {
    const directory = await siteOf({ 'index.html': 'x' });
    await writeFile(join(directory, 'site/film.mp4'), '');
    await truncate(join(directory, 'site/film.mp4'), 20 * 1024 * 1024 + 1);
    const report = await checkSite({ configurationFile: join(directory, 'wispr.json') });
    expect(report.groups).toMatchObject([{ kind: 'large', findings: [{ subject: '/film.mp4', message: '20 MiB' }] }]);
  });

  it('are documents that no rule names, patterns that fit nothing, and sets that look misspelt', async () => {
    const named = (set: string) => page('', `<meta name="wispr-set" content="${set}">`);
    const report = await check(
      {
        '1.html': named('premium'),
        '2.html': named('premium'),
        '3.html': named('Premium'),
        '4.html': named('premum'),
        '5.html': named('day-2026-11-18'),
        '6.html': named('day-2026-11-17'),
        'other.html': 'x',
      },
      {
        sets: [{ name: 'x', path: 'x/**' }],
        public: ['y.html'],
        ignore: ['z/**'],
        headers: [{ path: '*.png', set: { Link: '<a>' } }],
      },
    );
    expect(subjects(report, 'set-default')).toEqual(['/other.html']);
    expect(subjects(report, 'pattern-unused').sort()).toEqual(['*.png', 'x/**', 'y.html', 'z/**']);
    expect(subjects(report, 'set-lone')).toEqual(['Premium', 'premum']);
  });
});

describe('the report', () => {
  it('has the worst first, what is found most often first, and keeps few places of each', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`${index}.html`, page('<a href=gone.html>x</a><a href=here.html>')]),
    );
    const report = await check({
      ...many,
      'a.html': page('<a href=rare.html>x</a><form method=post></form>'),
      'here.html': '',
    });
    expect(report.groups.map(({ kind, breaks }) => [kind, breaks])).toEqual([
      ['missing', true],
      ['form', true],
      ['empty', false],
    ]);
    const [missing] = report.groups;
    expect(missing?.findings.map(({ subject, count, places }) => [subject, count, places.length])).toEqual([
      ['/gone.html', 30, 20],
      ['/rare.html', 1, 1],
    ]);
  });

  it('shows nothing that a terminal would act on', async () => {
    const report = await check({
      'index.html': page('<a href="a%1B[2J%0Ab">x</a><a href="http://news.example/%1b">y</a>'),
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    expect(JSON.stringify(report.groups)).not.toMatch(/[\u0000-\u001f]|\\u001b|\\n/);
  });

  it('refuses a source that is not there', async () => {
    await expect(check({}, { source: 'nowhere' })).rejects.toMatchObject({ code: 'source-refused' });
    expect(subjects(await check({}), 'refused').length).toBe(1);
  });
});
