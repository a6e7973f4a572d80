/** Recognises the site generator of a directory by the name of its configuration, and where it writes by default. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigurationInput } from './workspace/configuration/schema.ts';

interface Generator {
  readonly name: string;
  /** Names of its configuration; one that is there is enough. */
  readonly files: readonly string[];
  readonly settings: Pick<ConfigurationInput, 'source' | 'cleanUrls'>;
}

const script = (name: string) => ['js', 'mjs', 'cjs', 'ts', 'mts'].map((ending) => `${name}.${ending}`);
const data = (name: string) => ['toml', 'yaml', 'yml', 'json'].map((ending) => `${name}.${ending}`);

const GENERATORS: readonly Generator[] = [
  { name: 'Hugo', files: [...data('hugo'), 'config.toml', 'config/_default'], settings: { source: 'public' } },
  { name: 'Jekyll', files: ['_config.yml', '_config.yaml', '_config.toml'], settings: { source: '_site' } },
  { name: 'Eleventy', files: ['.eleventy.js', ...script('eleventy.config')], settings: { source: '_site' } },
  { name: 'Astro', files: script('astro.config'), settings: { source: 'dist' } },
  { name: 'VitePress', files: script('.vitepress/config'), settings: { source: '.vitepress/dist' } },
  { name: 'VitePress', files: script('docs/.vitepress/config'), settings: { source: 'docs/.vitepress/dist' } },
  { name: 'Docusaurus', files: script('docusaurus.config'), settings: { source: 'build' } },
  { name: 'MkDocs', files: ['mkdocs.yml', 'mkdocs.yaml'], settings: { source: 'site' } },
  { name: 'Sphinx', files: ['conf.py'], settings: { source: '_build/html' } },
  { name: 'Sphinx', files: ['source/conf.py'], settings: { source: 'build/html' } },
  { name: 'Sphinx', files: ['docs/conf.py'], settings: { source: 'docs/_build/html' } },
  // An export has about.html, and links to /about.
  { name: 'Next.js', files: script('next.config'), settings: { source: 'out', cleanUrls: true } },
];

/** The generator whose configuration lies in `directory`, with the settings that fit what it writes by default. */
export function generatorOf(directory: string): Pick<Generator, 'name' | 'settings'> | undefined {
  return GENERATORS.find(({ files }) => files.some((file) => existsSync(join(directory, file))));
}
