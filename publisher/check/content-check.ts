/** Looks into pages, style sheets and scripts. */
import { decodePage, encodingOf } from '../../teaser/encoding.ts';
import { saysNoindex } from '../../teaser/machine-words.ts';
import { readPage } from '../../teaser/page.ts';
import { referencesOfStyle, scanPage } from '../../teaser/scan.ts';
import { importsOf } from '../../teaser/script-imports.ts';
import { isPage, isXmlPage } from '../site/media-type.ts';
import { namedBy } from '../site/named.ts';
import { problemOfPageSet } from '../site/sets.ts';
import { PUBLIC } from '../workspace/configuration/names.ts';
import { type Configuration, hasReadingSite } from '../workspace/configuration/schema.ts';
import { PrintMaker, type Prints } from './copies.ts';
import { hasHost, type LinkCheck, type Referrer } from './links.ts';
import { type CheckedFile, readText, type Start } from './read-text.ts';
import type { Findings } from './report.ts';
import { HostFinder, usesIn } from './scan-script.ts';

/** Facts that a document says about itself, as `wispr protect` reads it. */
export interface OwnWord {
  readonly set?: string | undefined;
  readonly problem?: string | undefined;
  /** Paths of the documents that it names for previews, or as feeds. */
  readonly named?: readonly string[];
  readonly prints?: Prints | undefined;
}

const STYLE = 'text/css';
/** Data that scripts may make links of; source maps are for tools. */
const DATA = /^application\/(?:json|manifest\+json)$/;
/** An origin alone: site generators write it into their programs, for canonical addresses. */
const ORIGIN = /^https?:\/\/[^/]+$/;
const SCRIPT = /^(?:text|application)\/javascript$/;

export class ContentCheck {
  readonly #links: LinkCheck;
  readonly #findings: Findings;
  readonly #hosts: HostFinder;
  readonly #configuration: Configuration;
  readonly #prints = new PrintMaker();

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
  read(source: CheckedFile, mediaType: string, isPublic: boolean): OwnWord {
    const xml = isXmlPage(mediaType);
    const page = xml || isPage(mediaType);
    const data = DATA.test(mediaType) && !source.path.endsWith('.map');
    const start = readText(source, mediaType);
    if (start === undefined) return {};
    if (typeof start === 'string') return { problem: start };
    if (start.cut) this.#findings.add('partly', source.path);
    if (page) return this.#page(source.path, start, xml, isPublic);
    const text = start.bytes.toString('utf8');
    const lines = new Lines(text);
    const lineAt = (offset: number) => lines.at(offset);
    const { path } = source;
    if (mediaType === STYLE) this.#links.check(referencesOfStyle(text), { path, isPublic, lineAt });
    else if (data) this.#data(text, path, lineAt);
    else if (SCRIPT.test(mediaType)) {
      this.#links.check(importsOf(text), { path, isPublic, lineAt });
      this.#script(text, { path, isPublic, lineAt });
    }
    return { prints: this.#prints.printsOf({ rest: text }) };
  }

  #page(path: string, { bytes, cut }: Start, xml: boolean, isPublic: boolean): OwnWord {
    const text = decodePage(bytes);
    if (text.trim() === '') this.#findings.add('empty', path);
    if (!xml && encodingOf(bytes) === undefined) this.#findings.add('charset', path);
    const scanned = scanPage(text, xml);
    if ([...scanned.robots.values()].some(saysNoindex)) this.#findings.add('noindex', path);
    const unsure = scanned.namesSet || cut || text.includes('\0'); // pages that name no set need no second reading
    const { set, problem } = unsure ? readPage(bytes, { xml, cut }) : { set: undefined, problem: undefined };
    const refused = problem ?? problemOfPageSet(set);
    const lines = new Lines(text);
    const open = set === undefined ? isPublic : set === PUBLIC;
    const referrer = { path, base: scanned.base, isPublic: open, lineAt: (offset: number) => lines.at(offset) };
    this.#links.check(scanned.references, referrer);
    this.#links.checkForms(scanned.forms, referrer);
    this.#links.checkSandboxed(scanned.sandboxed, referrer);
    for (const { text, offset } of scanned.scripts)
      this.#script(text, { ...referrer, lineAt: (at) => lines.at(offset + at) });
    if (refused !== undefined) return { problem: refused };
    const named = xml ? [] : namedBy(path, scanned, this.#configuration);
    return { set, ...(named.length > 0 && { named }), prints: this.#prints.printsOf(scanned) };
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
    const isFirst = isPublic && !hasReadingSite(this.#configuration);
    for (const { kind, offset } of usesIn(script)) {
      const named = kind === 'service-worker' && isFirst ? 'service-worker-first' : kind;
      this.#findings.add(named, path, { path, line: lineAt(offset) });
    }
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
  #start = 0;
  #end = -1;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the line at `offset`; the first is 1. */
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
