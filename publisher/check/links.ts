/** Follows what documents refer to, as readers' browsers will. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { urlPathOf } from '../../core/site/path.ts';
import type { Match, Reference, Use } from '../../teaser/reference.ts';
import type { Form } from '../../teaser/scan.ts';
import type { SiteMap } from '../site/redirects.ts';
import type { Findings, SourcePosition } from './report.ts';

export interface LinkedSite {
  readonly site: string;
  /** Host names that lead to the site itself, past any Reader. */
  readonly hosts: ReadonlySet<string>;
  readonly source: string;
  readonly map: SiteMap;
  readonly refused: ReadonlySet<string>;
  readonly isProtected: (path: string) => boolean;
}

export interface Referrer {
  readonly path: string;
  readonly base?: string | undefined;
  readonly isPublic: boolean;
  /** File that messages name, without lines, if the document is made of it. */
  readonly madeOf?: string;
  readonly lineAt: (offset: number) => number;
}

/** Written with a host: `https://…`, `//…`, and what browsers read alike. */
const WITH_HOST = /^\s*(?:https?:)?[/\\]{2}/i;
const HTTP = /^\s*http:/i;
const HTTPS = /^\s*https:/i;

export class LinkCheck {
  readonly #site: LinkedSite;
  readonly #findings: Findings;

  constructor(site: LinkedSite, findings: Findings) {
    this.#site = site;
    this.#findings = findings;
  }

  check(references: readonly Reference[], referrer: Referrer): void {
    const base = this.#baseOf(referrer);
    const known = new Map<string, Use>();
    for (const reference of references) {
      const { url, use } = reference;
      if (known.get(url) === use && use !== 'data') continue; // a table of contents repeats it in every line
      known.set(url, use);
      this.#reference(reference, base, referrer);
    }
  }

  checkForms(forms: readonly Form[], referrer: Referrer): void {
    const base = this.#baseOf(referrer);
    for (const { method, action, offset } of forms) {
      const url = parse(action, base);
      if (url === undefined || method === 'dialog') continue;
      const place = () => ({ path: referrer.path, line: referrer.lineAt(offset) });
      if (!this.#site.hosts.has(url.hostname)) this.#findings.add('form-elsewhere', url.origin, place);
      else if (method === 'post') this.#findings.add('form', `POST ${decoded(url.pathname)}`, place);
      else if (action !== '') this.#reference({ url: action, use: 'link', offset }, base, referrer);
    }
  }

  /** Checks the frames of one page that have an origin of their own: browsers ask no worker for them. */
  checkSandboxed(frames: readonly Match[], referrer: Referrer): void {
    const base = this.#baseOf(referrer);
    for (const { text, offset } of frames) {
      const url = parse(text, base);
      if (url !== undefined && this.#site.hosts.has(url.hostname))
        this.#findings.add('frame-sandboxed', decoded(url.pathname), () => placeIn(referrer, offset));
    }
  }

  #baseOf({ path, base }: Referrer): URL {
    const own = new URL(`http://${this.#site.site}${urlPathOf(path)}`);
    return (base !== undefined && parse(base, own)) || own;
  }

  #reference({ url: written, use, offset }: Reference, base: URL, referrer: Referrer): void {
    if (written.startsWith('#')) return;
    const url = parse(written, base);
    if (url === undefined) return;
    const place = () => placeIn(referrer, offset);
    if (!this.#site.hosts.has(url.hostname)) {
      if (use === 'load' && saysHttp(written, referrer.base)) this.#findings.add('mixed-content', url.href, place);
      return;
    }
    if (use === 'preview') this.#preview(url, place);
    else if (use === 'related') this.#internal(url, use, place, referrer);
    else if (hasHost(written) || (referrer.base !== undefined && hasHost(referrer.base)))
      this.#findings.add('own-host', url.origin + decoded(url.pathname) + url.search, place);
    else if (use !== 'data') this.#internal(url, use, place, referrer);
  }

  #internal(url: URL, use: Use, place: () => SourcePosition, { isPublic }: Referrer): void {
    const { map, isProtected } = this.#site;
    const target = map.resolve(url.pathname);
    if (target.kind === 'refused') this.#findings.add('address-refused', url.pathname, place);
    else if (target.kind === 'missing')
      this.#findings.add('missing', decoded(url.pathname), place, () => this.#whyMissing(target.path));
    else if (target.kind === 'document' && use === 'load' && isPublic && isProtected(target.path))
      this.#findings.add('public-loads-protected', target.path, place);
  }

  #whyMissing(path: string): string | undefined {
    if (this.#site.refused.has(path)) return 'the file is there, but would be refused';
    return existsSync(join(this.#site.source, path)) ? 'the file is there, but hidden or ignored' : undefined;
  }

  #preview(url: URL, place: () => SourcePosition): void {
    const { map, isProtected } = this.#site;
    const target = map.resolve(url.pathname);
    if (target.kind === 'redirect') return;
    if (target.kind !== 'document')
      this.#findings.add('preview-picture', decoded(url.pathname), place, 'it is not there');
    else if (isProtected(target.path)) this.#findings.add('preview-picture', target.path, place, 'it is encrypted');
  }
}

function placeIn({ path, madeOf, lineAt }: Referrer, offset: number): SourcePosition {
  return madeOf === undefined ? { path, line: lineAt(offset) } : { path: madeOf };
}

/** Tells whether an address is one of `http:` wherever its page is shown. An address without a scheme gets that of the reading site, `https:`. */
function saysHttp(written: string, base = ''): boolean {
  return HTTP.test(written) || (!HTTPS.test(written) && HTTP.test(base));
}

export function hasHost(written: string): boolean {
  return WITH_HOST.test(written);
}

/** Parses an address that browsers fetch; returns `undefined` for others, such as `mailto:`. */
function parse(written: string, base: URL): URL | undefined {
  try {
    const url = new URL(written, base);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Decodes a path for people; returns it as it is if decoding fails, or makes no path of a URL as `"redirects"` take it. */
function decoded(urlPath: string): string {
  try {
    const text = decodeURIComponent(urlPath);
    return /[?#%]/.test(text) ? urlPath : text;
  } catch {
    return urlPath;
  }
}
