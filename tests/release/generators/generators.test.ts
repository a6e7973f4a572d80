/** Sites of common generators, small, each through its own program: `tests/generators` has their sources and lock files. */

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopAll } from '../../../cache-config/servers.ts';
import { GeneratedSite, type Generator } from './site.ts';

const GENERATORS: readonly Generator[] = [
  { folder: 'hugo', build: 'hugo --quiet', source: 'public', article: '/posts/tide/' },
  { folder: 'jekyll', build: 'jekyll build --quiet', source: '_site', article: '/posts/tide/' },
  {
    folder: 'eleventy',
    build: 'eleventy --quiet && pagefind --quiet --site _site',
    source: '_site',
    article: '/posts/tide/',
    copies: ['pagefind/fragment/*.pf_fragment'],
  },
  { folder: 'astro', build: 'astro build', source: 'dist', article: '/posts/tide/' },
  {
    folder: 'vitepress',
    build: 'vitepress build',
    source: '.vitepress/dist',
    article: '/tide.html',
    copies: ['assets/tide.md.*.js', 'assets/tide.md.*.lean.js'],
  },
  {
    folder: 'docusaurus',
    build: 'docusaurus build',
    source: 'build',
    article: '/tide',
    copies: ['assets/js/bc875f88.*.js'],
  },
  {
    folder: 'mkdocs',
    build: 'mkdocs build --quiet',
    source: 'site',
    article: '/tide/',
    copies: ['search/search_index.json'],
  },
  {
    folder: 'sphinx',
    build: 'sphinx-build -q . _build/html',
    source: '_build/html',
    article: '/tide.html',
  },
  {
    folder: 'next',
    build: 'next build',
    source: 'out',
    article: '/tide/',
    copies: ['tide/__next._full.txt', 'tide/__next.tide.__PAGE__.txt', 'tide/index.txt'],
  },
];

describe.each(GENERATORS)('a site of $folder', (generator) => {
  let site: GeneratedSite;
  beforeAll(async () => {
    site = await GeneratedSite.create(generator);
    site.build();
    await site.init();
  });
  afterAll(async () => {
    await site?.close();
    await stopAll();
  });

  it('is recognised by init, which names what it writes', async () => {
    const { source } = await site.settings();
    expect(source).toBe(join(site.directory, generator.source));
  });

  it('has nothing that breaks for readers once all files with the text of an article belong to its set', async () => {
    const copies = await site.copies();
    expect(copies.map((path) => path.replace(/[\w-]{8,}(?=\.(?:lean\.)?js$|\.pf)/, '*'))).toEqual(
      generator.copies ?? [],
    );
    await site.putIntoSet(copies, 'members');
    expect(await site.check()).toBe('');
  });

  it('is published, and shows the excerpt of an article to all and its text to readers', async () => {
    await site.publish();
    await site.expectTeaser();
    await site.readInReader();
    await site.readInBrowser();
  });
});
