/** `wispr check`, on sites with one thing wrong each. */
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { checkSite } from '../../publisher/check/check-site.ts';
import { CopyCheck, PrintMaker } from '../../publisher/check/copies.ts';
import { readText } from '../../publisher/check/read-text.ts';
import { type CheckReport, Findings } from '../../publisher/check/report.ts';
import type { ConfigurationInput } from '../../publisher/workspace/configuration/schema.ts';
import { referencesOfStyle, scanPage } from '../../teaser/scan.ts';
import { GOOD } from '../support/configured.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

const made: string[] = [];
afterEach(async () => {
  for (const directory of made.splice(0)) await rm(directory, { recursive: true });
});

async function siteOf(files: Files, settings: Partial<ConfigurationInput> = {}): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'wispr-check-'));
  made.push(directory);
  const configuration = { ...GOOD, content: [GOOD.content, 'https://cdn.example'], ...settings };
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

/** A line for each kind that was found, with its subjects. */
const found = ({ groups }: CheckReport): string[] =>
  groups.map(
    ({ kind, findings }) =>
      `${kind}: ${findings
        .map(({ subject }) => subject)
        .sort()
        .join(' ')}`,
  );

/** Returns of each finding: its subject, and the first place. */
const placesIn = ({ groups }: CheckReport): string[] =>
  groups.flatMap(({ findings }) => findings.map(({ subject, places: [at] }) => `${subject} ${at?.path}:${at?.line}`));

const page = (body: string, head = '') => `<!doctype html><meta charset="utf-8"><title>T</title>${head}<body>${body}`;
const links = (...urls: string[]) => page(urls.map((url) => `<a href="${url}">x</a>`).join('\n'));

const LONG_NAME = 'x'.repeat(181);
const ODD_NAMES = ['50%.html', 'a?b.html', 'a#b.html', 'dot./x', 'space /x', ' lead.txt', 'a:b'];
const LOGO = { 'a.html': page('a'), 'logo.svg': '<svg/>', 'x.css': '' };
it('a document that cannot be read is a finding', () => {
  const gone = { path: '/gone.html', file: '/gone/for/ever.html', size: 1 };
  expect(readText(gone, 'text/html')).toBe('it cannot be read: there is no such file or directory');
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
        '.htaccess': 'x',
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

type Case = [title: string, files: Files, expected: readonly string[], settings?: Partial<ConfigurationInput>];

/** A file of the folder check/: a title, settings in JSON where there are some, files under their names, and what is found. */
function readCase(name: string): Case {
  const text = readFileSync(new URL(`check/${name}`, import.meta.url), 'utf8').slice(0, -1);
  const [start = '', ...parts] = text.split(/\n?^-- (.+) --$\n?/m);
  const [title = '', settings = '{}'] = start.slice('# '.length).split('\n');
  const files = Object.fromEntries(
    parts.flatMap((part, index) => (index % 2 === 0 ? [[part, parts[index + 1] ?? '']] : [])),
  );
  const { found: expected = '', ...site } = files;
  return [title, site, expected.split('\n').filter((line) => line !== ''), JSON.parse(settings)];
}

/** Cases that no text file can hold, or nobody could count in it. */
const MORE: Case[] = [
  [
    'pages and files that protect would refuse, and a template',
    {
      'a.html': page('', '<meta name="wispr-set" content="a"><meta name="wispr-set" content="b">'),
      'b.html': page('', '<meta name="wispr&#45;set" content="*">'),
      'c.html': `${page('')}\0`,
      'd.protected': 'x',
      '.well-known/wispr-site': 'x',
      '.well-known/wispr/x': 'x',
      [LONG_NAME]: 'x',
    },
    [
      `refused: "fallback.template" /.well-known/wispr-site /.well-known/wispr/x /a.html /b.html /c.html /d.protected /${LONG_NAME}`,
    ],
    { fallback: { template: 'gone.eta' } },
  ],
  [
    'service workers of public pages and scripts, where no server can refuse them',
    {
      'index.html': page("<script>navigator.serviceWorker.register('sw.js')</script>"),
      'app.js': "navigator['serviceWorker']?.register('sw.js')",
      'encrypted.js': "navigator.serviceWorker.register('sw.js')",
      'sw.js': 'onfetch = () => {}',
    },
    ['service-worker-first: /app.js /index.html', 'service-worker: /encrypted.js'],
    { content: 'https://news.example', keyServer: undefined, reading: undefined, public: ['index.html', 'app.js'] },
  ],
  [
    'names that hosts take for one, change or misread',
    {
      ...Object.fromEntries(ODD_NAMES.map((name) => [name, 'x'])),
      'A.txt': 'x',
      'a.txt': 'x',
      'd\u00fc.txt': 'x',
      'du\u0308.txt': 'x',
    },
    ['name-case: /a.txt /d\u00fc.txt', 'name-odd: / lead.txt /50%.html /a#b.html /a:b /a?b.html /dot./x /space /x'],
  ],
  [
    'empty pages, and pages in an unknown encoding',
    {
      'empty.html': ' \n',
      'nothing.html': '',
      'latin.html': Buffer.from('<title>caf\u00e9</title>', 'latin1'),
      'said.html': Buffer.from('<meta charset=iso-8859-1><title>caf\u00e9</title>', 'latin1'),
      'utf16.html': Buffer.from('\ufeff<title>x</title>', 'utf16le'),
    },
    ['charset: /latin.html', 'empty: /empty.html /nothing.html'],
  ],
];

it.each([...readdirSync(new URL('check', import.meta.url)).map(readCase), ...MORE])(
  '%s',
  async (_, files, expected, settings) => {
    expect(found(await check(files, settings))).toEqual(expected);
  },
);

describe('a finding', () => {
  it('names the places in pages, sheets and scripts, with their lines', async () => {
    const report = await check({
      'index.html': page('\n<a href=gone.html>x</a>'),
      'a.css': 'a{}\n@import "gone.css";',
      'a.js': "\n\nimport './gone.js'",
      'b.js': '\n// http://news.example/no\nload(`//news.example/1`)',
      'c.js': "\nnavigator.serviceWorker.register('/w.js'); 'serviceWorker' in navigator",
    });
    expect(placesIn(report)).toEqual([
      '//news.example/1 /b.js:3',
      '/gone.css /a.css:2',
      '/gone.html /index.html:2',
      '/gone.js /a.js:3',
      '/c.js /c.js:2',
    ]);
  });

  it('of a link names a redirect as "redirects" takes it, unless no document can have the address', async () => {
    const paths = ['/a//b', '/%2e%2e%2fx', '/-%2F'];
    const missing = ['/c%23d.html', '/caf%C3%A9.html', '/100%25.html', '/q%3F.html', '/e f.html'];
    const files = { 'index.html': links(...paths, ...missing) };
    const report = await check(files);
    expect(found(report)).toContain(`address-refused: ${paths.sort().join(' ')}`);
    const from = report.groups.find(({ kind }) => kind === 'missing')?.findings.map(({ subject }) => subject) ?? [];
    expect(from).toHaveLength(missing.length);
    const redirects = from.map((path) => ({ from: path, to: '/index.html' }));
    expect((await check(files, { redirects })).groups.map(({ kind }) => kind)).toEqual(['address-refused']);
  });

  it('of a file that is left out says so', async () => {
    const directory = await siteOf(
      { 'index.html': links('draft.html', 'link.html'), 'draft.html': 'x' },
      { ignore: ['draft.html'] },
    );
    await symlink('/etc/hostname', join(directory, 'site/link.html'));
    const report = await checkSite({ configurationFile: join(directory, 'wispr.json') });
    expect(found(report)).toContain('refused: /link.html');
    expect(report.groups.find(({ kind }) => kind === 'missing')?.findings).toMatchObject([
      { subject: '/draft.html', message: 'the file is there, but hidden or ignored' },
      { subject: '/link.html', message: 'the file is there, but would be refused' },
    ]);
  });

  it('names what is hidden or packed, unless nobody means it or the configuration includes it', async () => {
    const report = await check(
      {
        'a.zarr/.zarray': '{}',
        'b.zarr/.zarray': '{}',
        '.data/x': 'x',
        '.git/config': 'x',
        '.env': 'x',
        'a.svgz': 'x',
      },
      { include: ['.data/**', '**/.env', '.git/**', '**/.zgroup'], public: ['**/*.svgz'] },
    );
    expect(report).toMatchObject({ documents: 2, ignored: 4 });
    const subjects = ['hidden: .zarray', 'gzip-public: /a.svgz', 'pattern-unused: **/.env **/.zgroup .git/**'];
    expect(found(report)).toEqual(expect.arrayContaining(subjects));
  });

  it('of the site’s own host in data is one for each file: what becomes of it, only the scripts know', async () => {
    const index = JSON.stringify([{ url: 'http://news.example/1' }, { url: 'https://news.example/2' }], null, 1);
    const report = await check({
      'index.json': index,
      'a.js.map': index,
      'feed.xml': '<link>http://news.example/</link>',
    });
    const findings = [{ subject: '/index.json', message: 'such as http://news.example/1', count: 2 }];
    expect(report.groups).toMatchObject([{ kind: 'own-host-data', breaks: false, findings }]);
  });

  it.each([
    ['logo.svg', {}, '"logo" names logo.svg, which is not'],
    ['gone.svg', {}, '"logo" names gone.svg, which is not'],
    ['x.css', { public: ['x.css'] }, 'which is no picture'],
  ])('of the logo %s says why visitors cannot load it', async (logo, settings, message) => {
    const { groups } = await check(LOGO, { logo, ...settings });
    const findings = [{ message: expect.stringContaining(message) }];
    expect(groups).toMatchObject([{ kind: 'refused', total: 1, findings }]);
  });

  it('takes no quadratic time, in scripts and style sheets', async () => {
    const script = `x=[${'"http://news.example/a",'.repeat(40_000)}]`;
    const files = {
      'a.js': script,
      'b.js': `/*${script}`,
      'a.css': 'url('.repeat(200_000),
      'b.css': '/*'.repeat(200_000),
    };
    expect((await check(files)).groups[0]).toMatchObject({
      kind: 'own-host',
      findings: [{ count: expect.any(Number) }],
    });
  });
});

describe('copies of the text of encrypted pages', () => {
  const sentence = (number: number) =>
    `On day ${number} the “tide gauge” stood at ${number * 37} & the harbour master’s café said ${number ** 3}.`;
  const sentences = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => sentence(from + index));
  const paragraphs = sentences(0, 12);
  const html = paragraphs
    .map((text) => `<p>${text.replace('&', '&amp;').replace('tide', '<em>tide</em>')}</p>`)
    .join('\n');
  const json = JSON.stringify({ text: paragraphs.join('\n') });
  const escaped = JSON.stringify(html)
    .replaceAll('<', '\\u003c')
    .replace(/[^ -~]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const article = page(`<nav>${sentences(20, 30)}</nav><main>${html}</main>`, '<meta name="wispr-set" content="paid">');
  const item = `<item><description>${html.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</description></item>`;

  it.each<[string, string | Uint8Array]>([
    ['script.js', `export default ${JSON.stringify(html)}`],
    ['template.js', `const t = \`${html.replaceAll("'", "\\'")}\`;`],
    ['index.json', json],
    ['escaped.json', `{"html":${escaped}}`],
    ['twice.js', `self.push([1,${JSON.stringify(escaped)}])`],
    ['script.js.map', JSON.stringify({ sourcesContent: [`# Title\n\n${paragraphs.join('\n\n')}`] })],
    ['feed.xml', `<rss><channel>${item}</channel></rss>`],
    ['fragment.pf_fragment', gzipSync(`pagefind_dcd${json}`)],
    ['index.json.br', brotliCompressSync(json)],
    ['unnamed', json],
    ['shop.html', page(`<img alt="${paragraphs.join(' ')}">`)],
    ['state.html', page(`<script type="application/json">${json}</script>`)],
    ['list.html', page(`<div>${html}</div>`)],
    ['style.css', `/* ${paragraphs.join(' ')} */`],
    ['page.tex', paragraphs.join('\n')],
    ['dump.sql', json],
    ['part.txt', paragraphs.slice(2, 11).join(' ').toUpperCase()],
  ])('are found in %s, which is public or in another set', async (name, content) => {
    const files = { 'article.html': article, [name]: content };
    const places = [{ path: '/article.html' }];
    const isFeed = name === 'feed.xml'; // feeds are public
    for (const open of isFeed ? [true] : [true, false]) {
      const { groups } = await check(files, { public: open ? [name] : [] });
      const finding = { subject: `/${name}`, count: 1, message: open ? 'public' : 'in the set subscribers', places };
      expect(groups[0]).toMatchObject({ kind: 'copy', breaks: true, findings: expect.arrayContaining([finding]) });
    }
    const { groups } = await check(files, { sets: [{ path: name, name: 'paid' }] });
    expect(groups.filter(({ kind }) => kind === 'copy').length).toBe(isFeed ? 1 : 0);
  });

  it('are no navigation, text of many pages, teasers, or a sentence that is quoted', async () => {
    const nav = `<nav>${html}</nav>`;
    const side = `<div>${sentences(40, 60).join(' ')}</div>`;
    const body = (number: number) => page(`${nav}${side}${sentences(100 * number, 100 * number + 12).join(' ')}`);
    const shown = sentences(70, 80).join(' ');
    const excerpt = page(`<p data-wispr-excerpt>${shown}</p>`, `<meta name="description" content="${sentence(100)}">`);
    const files = {
      ...Object.fromEntries([1, 2, 3].map((number) => [`${number}.html`, body(number)])),
      'teaser.html': excerpt,
      'front.html': page(`${nav}${side}${sentence(100)}${sentence(201)}${shown}`),
      'index.json': JSON.stringify([paragraphs, sentences(40, 60), sentence(300), shown]),
    };
    expect((await check(files, { public: ['front.html', 'index.json'] })).groups).toEqual([]);
  });

  it('are only noted where three encrypted pages share a passage, which is less than half of each', async () => {
    const note = paragraphs.join(' ');
    const own = (number: number) => sentences(100 * number, 100 * number + 20).join(' ');
    const files = Object.fromEntries(
      Array.from({ length: 8 }, (_, n) => [`${n}.html`, page(`${n < 3 ? note : ''}${own(n + 1)}`)]),
    );
    const kindsWith = async (text: string) => {
      const { groups } = await check({ ...files, 'author.html': page(text) }, { public: ['author.html'] });
      return groups.filter(({ kind }) => kind.startsWith('copy')).map(({ kind, breaks }) => ({ kind, breaks }));
    };
    expect(await kindsWith(note)).toEqual([{ kind: 'copy-shared', breaks: false }]);
    expect(await kindsWith(note + own(1))).toContainEqual({ kind: 'copy', breaks: true });
  });

  it('are found where memory is bounded, in longer texts', () => {
    const copies = new CopyCheck(1000);
    const maker = new PrintMaker();
    const long = (number: number) => sentences(1000 * number, 1000 * number + 200).join(' ');
    for (const number of [1, 2, 3, 4, 5])
      copies.add(`/${number}.html`, maker.printsOf({ prose: long(number), rest: '' }));
    copies.add('/index.json', maker.printsOf({ rest: long(3) + long(5) }));
    const findings = new Findings();
    copies.find((path) => (path.endsWith('.html') ? 'paid' : undefined), findings);
    const places = [{ path: '/3.html' }, { path: '/5.html' }];
    expect(findings.groups()).toMatchObject([{ kind: 'copy', findings: [{ subject: '/index.json', count: 2 }] }]);
    expect(findings.groups()[0]?.findings[0]?.places).toEqual(expect.arrayContaining(places));
  });
});

it.each<[string, () => unknown]>([
  ['backslashes', () => new PrintMaker().printsOf({ rest: '\\'.repeat(100_000) })],
  ['spaces in a refresh', () => scanPage(`<meta http-equiv="refresh" content="${' '.repeat(300_000)}">`, false)],
])('no text takes more than linear time: %s', (_, read) => {
  read();
});

describe('addresses of a style', () => {
  it.each([
    ['a{b:url(x.png)}', ['x.png']],
    ['a{b:url( "x.png" ) url(\'y.png\')}', ['x.png', 'y.png']],
    ['@import "a.css"; @import/**/url(b.css);@charset "c"', ['a.css', 'b.css']],
    ['/* url(no.png) */ a{b:url(x.png)', ['x.png']],
    ['a{content:"/*";b:url(x.png)}', ['x.png']],
    ['a{content:"url(no.png)"}', []],
    ['a{b:url(a\\).png)}', ['a).png']],
    ['a{b:image-set("a.png" 1x, url(b.png) 2x, "c.png" type("image/png"))}', ['a.png', 'b.png', 'c.png']],
    ['a{b:u\\72l(a.png)}', ['a.png']],
    ['a{b:url("a\\"b.png")}', ['a"b.png']],
  ])('%s', (css, expected) => expect(referencesOfStyle(css).map(({ url }) => url)).toEqual(expected));
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
    expect((await check({})).groups).toMatchObject([{ kind: 'refused', total: 1 }]);
  });
});
