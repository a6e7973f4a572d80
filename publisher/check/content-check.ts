/** Looks into pages, style sheets and scripts. */
import { closeSync, openSync, readSync } from 'node:fs';
import { systemReason } from '../../node-support/system-error.ts';
import { saysNoindex } from '../site/machine-words.ts';
import { isPage, isXmlPage, mayBeFeed } from '../site/media-type.ts';
import { namedBy } from '../site/named.ts';
import { decodePage, encodingOf, readPage } from '../site/page.ts';
import { problemOfPageSet } from '../site/sets.ts';
import type { SourceFile } from '../site/walk.ts';
import { PUBLIC } from '../workspace/configuration/names.ts';
import { type Configuration, hasReadingSite } from '../workspace/configuration/schema.ts';
import { hasHost, type LinkCheck, type Referrer } from './links.ts';
import type { Findings } from './report.ts';
import { HostFinder, importsOf, isWholeFeed, referencesOfStyle, scanPage, workersIn } from './scan.ts';

/** What a page says about its own set, as `wispr protect` reads it. */
export interface OwnWord {
  readonly set?: string | undefined;
  /** Why `wispr protect` would refuse it. */
  readonly problem?: string | undefined;
  /** Paths of the documents that it names for previews, or as feeds. */
  readonly named?: readonly string[];
}

/** Bytes of a text that are looked at. */
const TEXT_LENGTH = 8 * 1024 * 1024;

const STYLE = 'text/css';
/** What scripts read, and may make links of; source maps are for tools. */
const DATA = /^application\/(?:json|manifest\+json)$/;
/** Site generators write it into their programs, for canonical addresses. */
const ORIGIN = /^https?:\/\/[^/]+$/;
const SCRIPT = /^(?:text|application)\/javascript$/;

export class ContentCheck {
  readonly #links: LinkCheck;
  readonly #findings: Findings;
  readonly #hosts: HostFinder;
  readonly #configuration: Configuration;

  constructor(links: LinkCheck, findings: Findings, hosts: ReadonlySet<string>, configuration: Configuration) {
    this.#configuration = configuration;
    this.#links = links;
    this.#findings = findings;
    this.#hosts = new HostFinder([...hosts]);
  }

  /**
   * Looks into a document of a kind that can refer to others.
   *
   * @param isPublic - whether it is public if it says nothing else itself
   */
  read(source: SourceFile, mediaType: string, isPublic: boolean): OwnWord {
    const xml = isXmlPage(mediaType);
    const page = xml || isPage(mediaType);
    const data = DATA.test(mediaType) && !source.path.endsWith('.map');
    const feed = !page && mayBeFeed(mediaType);
    if (!page && !data && !feed && mediaType !== STYLE && !SCRIPT.test(mediaType)) return {};
    const bytes = readStart(source, TEXT_LENGTH);
    if (typeof bytes === 'string') return { problem: bytes };
    if (source.size > bytes.length) this.#findings.add('partly', source.path);
    if (page) return this.#page(source, bytes, xml, isPublic);
    const text = bytes.toString('utf8');
    const lines = new Lines(text);
    const lineAt = (offset: number) => lines.at(offset);
    const { path } = source;
    if (feed) {
      if (isWholeFeed(text)) this.#findings.add('feed-whole', path);
    } else if (mediaType === STYLE) this.#links.check(referencesOfStyle(text), { path, isPublic, lineAt });
    else if (data) this.#data(text, path, lineAt);
    else {
      this.#links.check(importsOf(text), { path, isPublic, lineAt });
      this.#script(text, { path, isPublic, lineAt });
    }
    return {};
  }

  #page({ path, size }: SourceFile, bytes: Uint8Array, xml: boolean, isPublic: boolean): OwnWord {
    const text = decodePage(bytes);
    if (text.trim() === '') this.#findings.add('empty', path);
    if (!xml && encodingOf(bytes) === undefined) this.#findings.add('charset', path);
    const scanned = scanPage(text, xml);
    if ([...scanned.robots.values()].some(saysNoindex)) this.#findings.add('noindex', path);
    const cut = size > bytes.length;
    const unsure = scanned.namesSet || cut || text.includes('\0'); // others say nothing: no need to read them twice
    const { set, problem } = unsure ? readPage(bytes, { xml, cut }) : { set: undefined, problem: undefined };
    const refused = problem ?? problemOfPageSet(set);
    const lines = new Lines(text);
    const open = set === undefined ? isPublic : set === PUBLIC;
    const referrer = { path, base: scanned.base, isPublic: open, lineAt: (offset: number) => lines.at(offset) };
    this.#links.check(scanned.references, referrer);
    this.#links.checkForms(scanned.forms, referrer);
    for (const { text, offset } of scanned.scripts)
      this.#script(text, { ...referrer, lineAt: (at) => lines.at(offset + at) });
    if (refused !== undefined) return { problem: refused };
    const named = xml ? [] : namedBy(path, scanned, this.#configuration);
    return named.length > 0 ? { set, named } : { set };
  }

  #data(text: string, path: string, lineAt: (offset: number) => number): void {
    for (const { text: found, offset } of this.#hosts.inScript(text)) {
      this.#findings.add('own-host-data', path, () => ({ path, line: lineAt(offset) }), `such as ${found}`);
    }
  }

  #script(script: string, { path, isPublic, lineAt }: Referrer): void {
    for (const { text, offset } of this.#hosts.inScript(script)) {
      const found = text.replaceAll('\\/', '/');
      const place = () => ({ path, line: lineAt(offset) });
      if (ORIGIN.test(found)) this.#findings.add('own-host-data', path, place, `such as ${found}`);
      else this.#findings.add('own-host', found, place);
    }
    const kind = isPublic && !hasReadingSite(this.#configuration) ? 'service-worker-first' : 'service-worker';
    for (const offset of workersIn(script)) this.#findings.add(kind, path, { path, line: lineAt(offset) });
  }
}

/**
 * Follows what a fallback page refers to. It is public, at the site's own host: addresses with that host lead where they should.
 *
 * @param page - the path of a document that has it, and what messages name
 */
export function checkFallbackPage(
  html: string,
  page: { readonly path: string; readonly madeOf: string },
  links: LinkCheck,
): void {
  const { references, base } = scanPage(html, false);
  const own = references.filter(({ url }) => !hasHost(url));
  links.check(own, { ...page, base, isPublic: true, lineAt: () => 1 });
}

/** Finds lines of a text. Offsets that come in order are counted once. */
class Lines {
  readonly #text: string;
  #line = 0;
  /** Where the line starts, and where it ends. */
  #start = 0;
  #end = -1;

  constructor(text: string) {
    this.#text = text;
  }

  /** The line at `offset`; the first is 1. */
  at(offset: number): number {
    if (offset < this.#start) [this.#line, this.#end] = [0, -1];
    while (this.#end < offset) {
      this.#line++;
      this.#start = this.#end + 1;
      const end = this.#text.indexOf('\n', this.#start);
      this.#end = end < 0 ? Number.POSITIVE_INFINITY : end;
    }
    return this.#line;
  }
}

/** The first bytes of a file, or why it cannot be read. */
function readStart({ file, size }: SourceFile, length: number): Buffer | string {
  try {
    const descriptor = openSync(file, 'r');
    try {
      const bytes = Buffer.allocUnsafe(Math.min(size, length));
      let filled = 0;
      for (let read = -1; filled < bytes.length && read !== 0; filled += read) {
        read = readSync(descriptor, bytes, filled, bytes.length - filled, null);
      }
      return bytes.subarray(0, filled);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return `it cannot be read: ${systemReason(error)}`;
  }
}
