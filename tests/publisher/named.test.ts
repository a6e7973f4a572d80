/** Pictures for previews and feeds: public because pages name them. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import { checkSite } from '../../publisher/check/check-site.ts';
import { namedBy } from '../../publisher/site/named.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { readPage } from '../../teaser/page.ts';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

const SITE = { site: 'news.example', content: ['http://news.example', 'https://cdn.example'] };
const page = (image: string) => `<title>T</title><meta property="og:image" content="${image}"><p>Text`;

describe('what a page names', () => {
  const named = (html: string) => namedBy('/2026/a.html', readPage(Buffer.from(html)).teaser, SITE);

  it.each([
    ['/x.png', ['/x.png']],
    ['x%20y.jpg?v=1', ['/2026/x y.jpg']],
    ['https://cdn.example/x.svg', ['/x.svg']],
    ['http://news.example/x.webp', ['/x.webp']],
    ['https://other.example/x.png', []],
    ['/secret.pdf', []],
    ['/secret.html', []],
    ['/', []],
    ['data:image/png;base64,AA', []],
    ['/a//b.png', []],
    ['', []],
  ])('is a picture of the site, and nothing else: %s', (image, paths) => expect(named(page(image))).toEqual(paths));

  it('are feeds in its head, by their type', () => {
    const link = (type: string, href: string) => `<link rel="alternate" type="${type}" href="${href}">`;
    const html = `<title>T</title>${link('application/rss+xml', '/index.xml')}${link('application/atom+xml', 'b.atom')}
      ${link('text/html', '/c.xml')}${link('application/rss+xml', '/d.html')}<body>${link('application/rss+xml', '/e.xml')}`;
    expect(named(html)).toEqual(['/index.xml', '/2026/b.atom']);
  });
});

describe('a site', () => {
  let workspace: TestWorkspace;
  afterEach(() => workspace.remove());
  const publicPaths = async () => {
    const { paths, entry } = await workspace.published();
    const entries = await Promise.all(paths.map(async (path) => ({ path, entry: await entry(path) })));
    return entries.flatMap(({ path, entry: { set } }) => (set === undefined ? [path] : []));
  };

  it('has the pictures of its previews in clear, whichever file is found first, for as long as a page names them', async () => {
    const files = { 'a.html': page('/z.png'), 'z.png': 'z', 'b/a.png': 'a', 'b/b.html': page('a.png'), 'c.png': 'c' };
    workspace = await createWorkspace(files);
    await workspace.protect();
    expect(await publicPaths()).toEqual(['/b/a.png', '/z.png']);
    // A page that did not change is not read again, and still counts.
    expect((await workspace.protect()).publication.isNew).toBe(false);
    await workspace.write('c.png', 'other');
    await workspace.protect();
    expect(await publicPaths()).toEqual(['/b/a.png', '/z.png']);
    await workspace.write('a.html', page('/c.png'));
    expect((await workspace.plan()).changes).toMatchObject({ moved: 2 });
    await workspace.protect();
    expect(await publicPaths()).toEqual(['/b/a.png', '/c.png']);
    await rm(join(workspace.source, 'b/b.html'));
    await workspace.protect();
    expect(await publicPaths()).toEqual(['/c.png']);
    expect((await verifyTree(workspace.out)).findings).toEqual([]);
  });

  it('shows nothing of a set for what a page outside it names, whatever set that page says it is in', async () => {
    const feed = '<link rel="alternate" type="application/rss+xml" href="/premium/index.xml">';
    workspace = await createWorkspace(
      {
        'blog/a.html': `${feed}${page('/premium/scan-1.png')}`,
        'blog/b.html': `<meta name="wispr-set" content="premium">${page('/premium/scan-2.png')}`,
        'blog/c.html': page('/rest.png'),
        'index.html': page('/premium/scan-3.png'),
        'premium/a.html': page('/premium/cover.png'),
        'premium/b.html': `<meta name="wispr-set" content="gold">${page('/premium/other.png')}`,
        ...Object.fromEntries(
          ['scan-1', 'scan-2', 'scan-3', 'cover', 'other'].map((name) => [`premium/${name}.png`, name]),
        ),
        ...{ 'premium/index.xml': '<rss/>', 'rest.png': 'r' },
      },
      {
        public: ['index.html'],
        sets: [
          { name: 'blog', path: 'blog/**' },
          { name: 'premium', path: 'premium/**' },
        ],
      },
    );
    const shown = ['/index.html', '/premium/cover.png', '/premium/other.png', '/rest.png'];
    // The second run goes by what the index says of pages.
    for (let run = 0; run < 2; run++) {
      await workspace.protect();
      expect(await publicPaths()).toEqual(shown);
    }
    const report = await checkSite({ configurationFile: workspace.configurationFile });
    expect(report.public.flatMap(({ paths }) => paths).sort()).toEqual(shown);
    const pictures = report.groups.find(({ kind }) => kind === 'preview-picture')?.findings;
    expect(pictures?.map(({ subject }) => subject)).toEqual([1, 2, 3].map((number) => `/premium/scan-${number}.png`));
    await workspace.write('premium/scan-1.png', 'changed');
    await workspace.protect();
    expect(await publicPaths()).toEqual(shown);
  });

  it('has none in clear where it does not want to', async () => {
    workspace = await createWorkspace({ 'a.html': page('/z.png'), 'z.png': 'z' }, { previews: 'none' });
    await workspace.protect();
    expect(await publicPaths()).toEqual([]);
  });

  it('shows no picture for what another program has written into the index', async () => {
    workspace = await createWorkspace({ 'a.html': page('/z.png'), 'z.png': 'z', 'secret.png': 'secret' });
    await workspace.protect();
    const index = new DatabaseSync(join(workspace.directory, 'publisher.db'));
    index.exec(
      `UPDATE document SET teaser = json_set(teaser, '$.named', json('["/secret.png"]')) WHERE path = '/a.html'`,
    );
    index.close();
    await workspace.protect();
    expect(await publicPaths()).not.toContain('/secret.png');
    await workspace.write('a.html', `${page('/z.png')} and more`);
    await workspace.protect();
    expect(await publicPaths()).toEqual(['/z.png']);
  });
});
