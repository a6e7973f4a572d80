/** Looks into pages, style sheets and scripts. */

import { closeSync, openSync, readSync } from 'node:fs';
import { printable } from '../../node-support/printable.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { isPage, isXmlPage } from '../site/media-type.ts';
import { decodePage, encodingOf, readPage } from '../site/page.ts';
import { problemOfPageSet } from '../site/sets.ts';
import type { SourceFile } from '../site/walk.ts';
import { PUBLIC } from '../workspace/configuration/names.ts';
import { hasHost, type LinkCheck, type Referrer } from './links.ts';
import type { Findings } from './report.ts';
import { HostFinder, referencesOfStyle, type ScannedPage, scanPage, workersIn } from './scan.ts';

/** What a page says about its own set, as `wispr protect` reads it. */
export interface OwnWord {
  readonly set?: string | undefined;
  /** Why `wispr protect` would refuse it. */
  readonly problem?: string | undefined;
}

/** Bytes of a text that are looked at. */
const TEXT_LENGTH = 8 * 1024 * 1024;

const STYLE = 'text/css';
/** What scripts read, and may make links of; source maps are for tools. */
const DATA = /^application\/(?:json|manifest\+json)$/;
const SCRIPT = /^(?:text|application)\/javascript$/;

export class ContentCheck {
  readonly #links: LinkCheck;
  readonly #findings: Findings;
  readonly #hosts: HostFinder;

  constructor(links: LinkCheck, findings: Findings, hosts: ReadonlySet<string>) {
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
    if (!page && !data && mediaType !== STYLE && !SCRIPT.test(mediaType)) return {};
    const bytes = readStart(source, TEXT_LENGTH);
    if (source.size > bytes.length) this.#findings.add('partly', source.path);
    if (page) return this.#page(source, bytes, xml, isPublic);
    const text = bytes.toString('utf8');
    const lines = new Lines(text);
    if (mediaType === STYLE) {
      const referrer = { path: source.path, isPublic, lineAt: (offset: number) => lines.at(offset) };
      this.#links.check(referencesOfStyle(text), referrer);
    } else if (data) this.#data(text, source.path, lines);
    else this.#script(text, source.path, (offset) => lines.at(offset));
    return {};
  }

  /**
   * Follows what a fallback page refers to. It is public, at the site's own host: addresses with that host lead where they should.
   *
   * @param path - of a document that has it
   * @param madeOf - what messages name
   */
  fallbackPage(html: string, path: string, madeOf: string): void {
    const { references, base } = scanPage(html, false);
    const own = references.filter(({ url }) => !hasHost(url));
    this.#links.check(own, { path, base, madeOf, isPublic: true, lineAt: () => 1 });
  }

  #page({ path, size }: SourceFile, bytes: Uint8Array, xml: boolean, isPublic: boolean): OwnWord {
    const text = decodePage(bytes);
    if (text.trim() === '') this.#findings.add('empty', path);
    if (!xml && encodingOf(bytes) === undefined) this.#findings.add('charset', path);
    const scanned = scanPage(text, xml);
    const cut = size > bytes.length;
    const unsure = scanned.namesSet || cut || text.includes('\0'); // others say nothing: no need to read them twice
    const { set, problem } = unsure ? readPage(bytes, { xml, cut }) : { set: undefined, problem: undefined };
    const refused = problem ?? problemOfPageSet(set);
    const lines = new Lines(text);
    const open = set === undefined ? isPublic : set === PUBLIC;
    this.#scanned(scanned, { path, base: scanned.base, isPublic: open, lineAt: (offset) => lines.at(offset) });
    return refused === undefined ? { set } : { problem: refused };
  }

  #scanned({ references, forms, scripts }: ScannedPage, referrer: Referrer): void {
    this.#links.check(references, referrer);
    this.#links.checkForms(forms, referrer);
    for (const { text, offset } of scripts) this.#script(text, referrer.path, (at) => referrer.lineAt(offset + at));
  }

  #data(text: string, path: string, lines: Lines): void {
    for (const { text: found, offset } of this.#hosts.inScript(text)) {
      this.#findings.add('own-host-data', path, () => ({ path, line: lines.at(offset) }), `such as ${found}`);
    }
  }

  #script(text: string, path: string, lineAt: (offset: number) => number): void {
    for (const match of this.#hosts.inScript(text)) {
      this.#links.checkScript(match.text, () => ({ path, line: lineAt(match.offset) }));
    }
    for (const offset of workersIn(text)) this.#findings.add('service-worker', path, { path, line: lineAt(offset) });
  }
}
/** Finds lines of a text. Offsets that come in order are counted once. */
export class Lines {
  readonly #text: string;
  #line = 1;
  /** Where the line starts, and where it ends. */
  #start = 0;
  #end: number;

  constructor(text: string) {
    this.#text = text;
    this.#end = this.#endFrom(0);
  }

  /** The line at `offset`; the first is 1. */
  at(offset: number): number {
    if (offset < this.#start) {
      this.#line = 1;
      this.#start = 0;
      this.#end = this.#endFrom(0);
    }
    while (this.#end < offset) {
      this.#line++;
      this.#start = this.#end + 1;
      this.#end = this.#endFrom(this.#start);
    }
    return this.#line;
  }

  #endFrom(offset: number): number {
    const end = this.#text.indexOf('\n', offset);
    return end < 0 ? Number.POSITIVE_INFINITY : end;
  }
}

/**
 * The first bytes of a file.
 *
 * @throws PublishError `source-refused`
 */
function readStart({ file, path, size }: SourceFile, length: number): Buffer {
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
    throw new PublishError('source-refused', describeUnreadable(printable(path), error), { cause: error });
  }
}
