/** Sites of common generators, small, each through its own program: `tests/generators` has their sources and lock files. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopAll } from '../../../cache-config/servers.ts';
import { GeneratedSite, type Generator } from './site.ts';

const GENERATORS: readonly Generator[] = [
  {
    folder: 'hugo',
    build: ['hugo', '--quiet'],
    settings: { source: 'public' },
    article: '/posts/tide/',
  },
  {
    folder: 'eleventy',
    build: ['eleventy', '--quiet'],
    settings: { source: '_site' },
    article: '/posts/tide/',
  },
  {
    folder: 'mkdocs',
    build: ['mkdocs', 'build', '--quiet'],
    settings: { source: 'site' },
    article: '/tide/',
  },
];

describe.each(GENERATORS)('a site of $folder', (generator) => {
  let site: GeneratedSite;
  beforeAll(async () => {
    site = await GeneratedSite.build(generator);
    await site.init();
  });
  afterAll(async () => {
    await site?.close();
    await stopAll();
  });

  it('is recognised by init, which names what it writes', async () => {
    const { source, cleanUrls } = await site.settings();
    expect({ source, cleanUrls }).toEqual({
      cleanUrls: false,
      ...generator.settings,
      source: `${site.directory}/${generator.settings.source}`,
    });
  });

  it('has nothing that breaks for readers', async () => {
    const { code, groups } = await site.check();
    expect([code, groups]).toEqual([0, expect.any(Array)]);
  });

  it('is published, and shows the excerpt of an article to all and its text to readers', async () => {
    await site.publish();
    await site.expectTeaser();
    await site.readInReader();
    await site.readInBrowser();
  });
});
