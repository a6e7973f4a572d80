/** `wispr init`: a commented configuration and an encrypted key store, made once and never overwritten. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { KeyId } from '../core/crypto/key-id.ts';
import { utf8 } from '../core/encoding/bytes.ts';
import { isLoopback, isOrigin, isSite } from '../core/site/site.ts';
import type { Argon2idCost } from '../node-support/argon2id.ts';
import { readProgramFile } from '../node-support/program-files.ts';
import { PublishError } from './errors.ts';
import { createKeys } from './keys/create-keys.ts';
import { createFiles } from './keys/file-update.ts';
import { parseConfiguration } from './workspace/configuration/read.ts';
import type { ConfigurationInput } from './workspace/configuration/schema.ts';
import { configurationTemplate } from './workspace/configuration/template.ts';
import { CONFIGURATION_FILE, type Workspace, workspaceOf } from './workspace/workspace.ts';

interface InitOptions {
  /** Directory of the workspace; must exist. */
  readonly directory: string;
  /** The site's URL; `https:` is assumed where it has no scheme. */
  readonly url: string;
  readonly passphrase: string;
  /** Does without a key server: docs/serverless.md. */
  readonly serverless?: boolean;
  /** Settings that take the place of what `wispr init` guesses from the URL. */
  readonly settings?: Partial<ConfigurationInput>;
  /** A cheaper password hash for tests. */
  readonly cost?: Argon2idCost;
}

export interface InitResult {
  readonly workspace: Workspace;
  /** The root id: the publisher's identity, the fingerprint that a host proof names. */
  readonly publisher: KeyId;
  readonly settings: ConfigurationInput;
  readonly generator: string | undefined;
  readonly sourceExists: boolean;
}

/** The description of the settings, for editors: a copy beside them, because the program can be anywhere. */
const SCHEMA = 'wispr.schema.json';

/** Directories in which a site commonly lies; the first that is there is taken. */
const SOURCE_DIRECTORIES = ['site', 'public', '_site', 'dist', 'build', 'www', 'html'];

/**
 * Makes a workspace. Nothing that exists is overwritten; if anything fails, nothing is left behind.
 *
 * @throws PublishError `output-foreign`, `configuration-invalid`, `site-refused`, `passphrase-too-short`, `output-failed`
 */
export async function initWorkspace(options: InitOptions): Promise<InitResult> {
  const { directory, passphrase } = options;
  const workspace = workspaceOf(join(directory, CONFIGURATION_FILE));
  checkNothingThere(workspace);
  const { settings, text } = makeConfiguration(options);
  const keys = await createKeys(passphrase, options.cost);
  const schema = { file: join(directory, SCHEMA), bytes: readProgramFile(SCHEMA, import.meta.url), mode: 0o644 };
  createFiles([
    ...(existsSync(schema.file) ? [] : [schema]),
    { file: workspace.rootKeys, bytes: keys.rootKeys, mode: 0o600 },
    { file: workspace.keyStore, bytes: keys.keyStore, mode: 0o600 },
    { file: workspace.configuration, bytes: utf8(text), mode: 0o644 }, // comes last: without keys it would look finished
  ]);
  const sourceExists = existsSync(join(directory, settings.source));
  return { workspace, publisher: keys.rootId, settings, generator: generatorOf(directory)?.name, sourceExists };
}

/**
 * Says before a passphrase is asked for whether {@link initWorkspace} can do its work.
 *
 * @throws PublishError `output-foreign`, `configuration-invalid`, `site-refused`
 */
export function checkInit(options: Omit<InitOptions, 'passphrase'>): void {
  checkNothingThere(workspaceOf(join(options.directory, CONFIGURATION_FILE)));
  makeConfiguration(options);
}

function makeConfiguration(options: Omit<InitOptions, 'passphrase'>): { settings: ConfigurationInput; text: string } {
  const settings = { ...guessSettings(options.directory, options), ...options.settings };
  const text = configurationTemplate(settings, `./${SCHEMA}`);
  parseConfiguration(text, CONFIGURATION_FILE);
  return { settings, text };
}

function checkNothingThere(workspace: Workspace): void {
  for (const file of [workspace.configuration, workspace.keyStore, workspace.rootKeys]) {
    if (!existsSync(file)) continue;
    throw new PublishError('output-foreign', `${file} exists, and nothing was changed`);
  }
  if (existsSync(join(workspace.directory, 'index.html')) && generatorOf(workspace.directory) === undefined) {
    throw new PublishError(
      'configuration-invalid',
      'this directory is a site itself (it has an index.html): its keys must not lie inside it',
    );
  }
}

/** Freshness without a key server: no program confirms by the hour that nothing is newer, but the publisher does, once a month. */
export const SERVERLESS_FRESHNESS = { hours: 720, graceDays: 60 };

function guessSettings(
  directory: string,
  { url: text, serverless }: Pick<InitOptions, 'url' | 'serverless'>,
): ConfigurationInput {
  const url = parseSiteUrl(text);
  const found = SOURCE_DIRECTORIES.find((name) => existsSync(join(directory, name))) ?? 'site';
  const made = generatorOf(directory)?.settings ?? { source: found };
  const domain = url.hostname.replace(/^www\./, '');
  const place = { site: url.hostname, ...made, out: 'protected', content: url.origin };
  if (serverless && !isOrigin(url.origin, { allowLoopback: true }))
    throw new PublishError('site-refused', `${url.origin} is not https:, and browsers decrypt nowhere else`, {
      typed: true,
    });
  if (serverless) return { ...place, freshness: SERVERLESS_FRESHNESS };
  return {
    ...place,
    keyServer: isLoopback(url.hostname) ? 'http://127.0.0.1:8002' : `https://keys.${domain}`,
    reading: isLoopback(url.hostname) ? 'http://127.0.0.1:8003' : `https://read.${domain}`,
  };
}

function parseSiteUrl(text: string): URL {
  const absolute = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  const url = URL.canParse(absolute) ? new URL(absolute) : undefined;
  const whole = url && url.search === '' && url.hash === '' && url.username === '';
  const isOfSite = whole && isSite(url.hostname) && (url.protocol === 'https:' || url.protocol === 'http:');
  if (isOfSite && url.pathname === '/') return url;
  const why = isOfSite ? `has a path, ${url.pathname}` : 'is not the URL of a site';
  throw new PublishError('site-refused', `${JSON.stringify(text)} ${why}`, { typed: true });
}

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

/** Finds the generator whose configuration lies in `directory`, with the settings that fit what it writes by default. */
function generatorOf(directory: string): Pick<Generator, 'name' | 'settings'> | undefined {
  return GENERATORS.find(({ files }) => files.some((file) => existsSync(join(directory, file))));
}
