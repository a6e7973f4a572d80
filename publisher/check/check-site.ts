/** `wispr check`: looks at a site before it is encrypted, for what would break for its readers. Needs no keys, and writes nothing. */
import { resolve } from 'node:path';
import { isReadable } from '../../core/site/accent.ts';
import { barOf } from '../../teaser/bar.ts';
import { fallbackPageOf } from '../../teaser/fallback-page.ts';
import { addRobotsTag, saysNoindex } from '../../teaser/machine-words.ts';
import { readPage } from '../../teaser/page.ts';
import type { FallbackTemplate } from '../../teaser/render.ts';
import { PublishError } from '../errors.ts';
import { fallbackSettingsOf } from '../site/fallback/settings.ts';
import { readFallbackTemplate } from '../site/fallback/template.ts';
import { HeaderRules } from '../site/headers.ts';
import { canNameSet, isInGzip, isPage, mediaTypeOf } from '../site/media-type.ts';
import { canBeNamed, NamedDocuments } from '../site/named.ts';
import { PathPatterns } from '../site/patterns.ts';
import { problemsOfRedirects, SiteMap } from '../site/redirects.ts';
import { type Decision, SetRules } from '../site/sets.ts';
import { type LookUpDocument, problemsOfFiles, settingsOf } from '../site/site-settings.ts';
import { SourceWalk } from '../site/walk.ts';
import { readConfiguration } from '../workspace/configuration/read.ts';
import { type Configuration, configurationSchema, originsOf } from '../workspace/configuration/schema.ts';
import { workspaceOf } from '../workspace/workspace.ts';
import { ContentCheck, checkFallbackPage, type OwnWord } from './content-check.ts';
import { CopyCheck } from './copies.ts';
import { oddityOf, SectionsCount, SetsCount } from './counts.ts';
import type { CheckKind } from './kinds.ts';
import { LinkCheck, type LinkedSite } from './links.ts';
import type { CheckedFile } from './read-text.ts';
import { type CheckReport, Findings } from './report.ts';

/** The site to check: that of a `wispr.json`, or a site that has none yet, with the defaults. */
export type CheckedSite = { readonly configurationFile: string } | { readonly directory: string };

export type CheckOptions = CheckedSite & {
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
};

/** Bytes above which some content delivery networks take a file only if that is switched on. */
const LARGE = 20 * 1024 * 1024;

/** Findings about a document that are dropped if pages make it public. */
const OF_ENCRYPTED: readonly CheckKind[] = ['preview-picture', 'public-loads-protected'];

/** A teaser with everything but addresses. */
const { teaser: WORDS } = readPage(
  Buffer.from(
    '<title>words</title><meta name="description" content="words"><meta name="author" content="words"><p data-wispr-excerpt>words',
  ),
);

/**
 * @throws PublishError `configuration-invalid`, `source-refused`; what is wrong with the site is not thrown, but
 *   stands in the report
 */
export async function checkSite({ onProgress, ...place }: CheckOptions): Promise<CheckReport> {
  const started = performance.now();
  const { directory, configuration } = await settingsAt(place);
  const check = new SiteCheck(configuration, resolve(directory, configuration.source));
  await check.checkTemplate(directory);
  for (const [index, file] of check.files.entries()) {
    check.read(file);
    onProgress?.({ done: index + 1, total: check.files.length });
  }
  check.finish();
  return check.report(Math.round(performance.now() - started));
}

async function settingsAt(place: CheckedSite) {
  if ('directory' in place) return { directory: place.directory, configuration: defaults() };
  const { configuration: file, directory } = workspaceOf(place.configurationFile);
  return { directory, configuration: await readConfiguration(file) };
}

/** Stands for the host of a site without a configuration; no address can have it (RFC 6761, 6.4). */
const UNKNOWN_SITE = 'site.invalid';

function defaults(): Configuration {
  const [content, reading] = [`https://${UNKNOWN_SITE}`, `https://read.${UNKNOWN_SITE}`];
  return configurationSchema.parse({ site: UNKNOWN_SITE, source: '.', out: '.', content, keyServer: reading, reading });
}

class SiteCheck {
  /** Ordered by their paths. */
  readonly files: readonly CheckedFile[];
  readonly #paths: ReadonlySet<string>;
  readonly #source: string;
  readonly #refused = new Set<string>();
  readonly #configuration: Configuration;
  readonly #findings = new Findings();
  readonly #rules: SetRules;
  readonly #headers: HeaderRules;
  readonly #uncompressed: PathPatterns;
  readonly #ignored: number;
  readonly #unusedIgnores: readonly string[];
  readonly #decisions = new Map<string, Decision>();
  readonly #sets = new SetsCount();
  readonly #sections: SectionsCount;
  /** Paths by the name that file systems see which ignore letters' cases and compositions. */
  readonly #folded = new Map<string, string>();
  /** The publisher's own template, if valid. */
  #template: { readonly file: string; readonly read: FallbackTemplate } | undefined;
  readonly #named: NamedDocuments;
  /** Files that are decided about after all pages have been read. */
  readonly #later: { readonly file: CheckedFile; readonly word: OwnWord }[] = [];
  readonly #content: ContentCheck;
  readonly #copies = new CopyCheck();
  #pages = 0;

  constructor(configuration: Configuration, source: string) {
    this.#configuration = configuration;
    this.#source = source;
    this.#rules = new SetRules(configuration);
    this.#headers = new HeaderRules(configuration);
    this.#named = new NamedDocuments(configuration, this.#rules);
    this.#sections = new SectionsCount(configuration.sections);
    this.#uncompressed = new PathPatterns(configuration.uncompressed);
    const walk = new SourceWalk(source, configuration);
    this.files = [...walk.files()].sort((a, b) => (a.path < b.path ? -1 : 1));
    this.#paths = new Set(this.files.map(({ path }) => path));
    this.#ignored = walk.ignored;
    this.#unusedIgnores = walk.unused();
    for (const [name, path] of walk.hidden) this.#findings.add('hidden', name, { path });
    for (const problem of walk.problems.first) {
      const [path = '', reason = ''] = problem.split(/: (.*)/s);
      this.#refused.add(path);
      this.#findings.add('refused', path, undefined, reason);
    }
    const site = this.#linkedSite(this.#isPublic);
    this.#content = new ContentCheck(new LinkCheck(site, this.#findings), this.#findings, site.hosts, configuration);
  }

  /** Decides by the path alone, for documents that may not have been read. */
  readonly #isPublic = (path: string): boolean => this.#rules.decide(path, undefined).set === undefined;

  readonly #lookUp: LookUpDocument = (path) => {
    const decision = this.#decisions.get(path);
    return decision && (decision.set === undefined ? 'public' : 'protected');
  };

  /** @param isPublic - asked for documents only */
  #linkedSite(isPublic: (path: string) => boolean): LinkedSite {
    const has = (path: string) => this.#paths.has(path);
    const settings = settingsOf(this.#configuration, (path) =>
      has(path) ? (isPublic(path) ? 'public' : 'protected') : undefined,
    );
    return {
      site: this.#configuration.site,
      hosts: hostsOf(this.#configuration),
      source: this.#source,
      map: new SiteMap(settings, has),
      refused: this.#refused,
      isProtected: (path) => has(path) && !isPublic(path),
    };
  }

  async checkTemplate(directory: string): Promise<void> {
    const { template } = this.#configuration.fallback;
    try {
      const read = await readFallbackTemplate(template && resolve(directory, template));
      if (template !== undefined) this.#template = { file: template, read };
    } catch (error) {
      if (!(error instanceof PublishError)) throw error;
      this.#findings.add('refused', '"fallback.template"', undefined, error.message);
    }
  }

  read(file: CheckedFile): void {
    const { path } = file;
    const mediaType = mediaTypeOf(path);
    const word = this.#content.read(file, mediaType, this.#isPublic(path));
    this.#copies.add(path, word.prints);
    if (word.named !== undefined) this.#named.add(word.named, path);
    if (canBeNamed(mediaType)) this.#later.push({ file, word: { ...word, prints: undefined } });
    else this.#count(file, word);
  }

  #count({ path, size }: CheckedFile, { set, problem }: OwnWord): void {
    if (problem !== undefined) this.#findings.add('refused', path, undefined, problem);
    const isNamed = this.#named.has(path);
    const decision = this.#rules.decide(path, set, isNamed);
    this.#decisions.set(path, decision);
    if (isNamed) for (const kind of OF_ENCRYPTED) this.#findings.drop(kind, path);
    this.#sets.add(path, decision, set !== undefined);
    if (!this.#sections.add(path)) this.#findings.add('refused', path, undefined, 'it lies too deep below its section');
    const robots = new Map<string, string>();
    addRobotsTag(robots, this.#headers.headersOf(path)?.['x-robots-tag'] ?? '');
    if ([...robots.values()].some(saysNoindex)) this.#findings.add('noindex', path);
    this.#uncompressed.fits(path.slice(1));
    if (decision.set === undefined && isInGzip(path)) this.#findings.add('gzip-public', path);
    if (canNameSet(mediaTypeOf(path))) this.#pages++;
    if (size > LARGE) this.#findings.add('large', path, undefined, `${Math.round(size / 1024 / 1024)} MiB`);
    if (decision.isDefault && this.#configuration.sets.length > 0) this.#findings.add('set-default', path);
    this.#checkName(path);
  }

  #checkName(path: string): void {
    const odd = oddityOf(path);
    if (odd !== undefined) this.#findings.add('name-odd', path, undefined, odd);
    const folded = path.normalize('NFC').toLowerCase();
    const clash = this.#folded.get(folded);
    if (clash === undefined) this.#folded.set(folded, path);
    else this.#findings.add('name-case', path, undefined, `as ${clash}`);
  }

  /** Adds the findings that need all files to be read. */
  finish(): void {
    for (const { file, word } of this.#later) this.#count(file, word);
    const { redirects, ...configuration } = this.#configuration;
    if (this.files.length === 0) this.#findings.add('refused', this.#source, undefined, 'it holds no documents');
    const settings = settingsOf({ ...configuration, redirects }, this.#lookUp);
    const { loops, dangling, shadowed } = problemsOfRedirects(settings, (path) => this.#paths.has(path));
    const to = new Map(settings.redirects.map((redirect) => [redirect.from, redirect.to]));
    for (const from of loops) this.#findings.add('refused', from, undefined, 'its redirect never ends');
    for (const from of dangling) this.#findings.add('redirect-missing', from, undefined, `to ${to.get(from)}`);
    for (const from of shadowed) this.#findings.add('redirect-unused', from);
    const { accent } = settings;
    if (accent !== undefined && !isReadable(accent)) this.#findings.add('accent-pale', accent);
    for (const problem of problemsOfFiles(this.#configuration, this.#lookUp))
      this.#findings.add('refused', 'wispr.json', undefined, problem);
    const rules = [this.#rules, this.#headers, this.#uncompressed, this.#sections];
    const unused = [...rules.flatMap((each) => each.unused()), ...this.#sets.unusedOf(this.#configuration.plans)];
    for (const text of [...unused, ...this.#unusedIgnores]) this.#findings.add('pattern-unused', text);
    this.#sets.findLoneSets(this.#findings);
    this.#copies.find((path) => this.#decisions.get(path)?.set, this.#findings);
    this.#checkFallbackPage();
  }

  /** Checks files that a publisher's own template loads, since visitors without access load them. One page stands for all. */
  #checkFallbackPage(): void {
    if (this.#template === undefined) return;
    const isFit = (path: string) => this.#lookUp(path) === 'protected' && isPage(mediaTypeOf(path));
    const path = this.files.find((file) => isFit(file.path))?.path;
    if (path === undefined) return;
    const settings = fallbackSettingsOf(this.#configuration);
    const page = fallbackPageOf(path, WORDS, settings);
    const html = this.#template.read.render(page, barOf(page, settings));
    const linked = this.#linkedSite((each) => this.#lookUp(each) === 'public');
    checkFallbackPage(html, { path, madeOf: this.#template.file }, new LinkCheck(linked, this.#findings));
  }

  report(milliseconds: number): CheckReport {
    const { site } = this.#configuration;
    return {
      ...(site !== UNKNOWN_SITE && { site }),
      source: this.#source,
      documents: this.files.length,
      pages: this.#pages,
      bytes: this.files.reduce((sum, { size }) => sum + size, 0),
      ignored: this.#ignored,
      ...this.#sets.summary(),
      sections: this.#sections.summary(),
      groups: this.#findings.groups(),
      milliseconds,
    };
  }
}

/** Lists hosts that are the site, or serve what is published of it: none of them has a Reader in front of it. */
function hostsOf(configuration: Configuration): Set<string> {
  return new Set([configuration.site, ...originsOf(configuration).map((origin) => new URL(origin).hostname)]);
}
