/** Reads what a page refers to, sends and runs; in one pass, as a browser would load it. */
import { Parser } from 'htmlparser2';
import { addressesOfSrcset, type Reference, referencesOfStyle, type Use } from './references.ts';

export interface Form {
  readonly method: string;
  /** As written; empty for the page's own address. */
  readonly action: string;
  readonly offset: number;
}

/** A script inside a page, or in an attribute. */
export interface Script {
  readonly text: string;
  readonly offset: number;
}

export interface ScannedPage {
  /** From `<base href>`; the page's own address if undefined. */
  readonly base: string | undefined;
  readonly references: readonly Reference[];
  readonly forms: readonly Form[];
  readonly scripts: readonly Script[];
  /** Whether it has `<meta name="wispr-set">` somewhere. */
  readonly namesSet: boolean;
}

/** Attributes with one address, by element. */
const ADDRESSES: Readonly<Record<string, readonly (readonly [attribute: string, use: Use])[]>> = {
  a: [
    ['href', 'link'],
    ['xlink:href', 'link'],
  ],
  area: [['href', 'link']],
  audio: [['src', 'load']],
  body: [['background', 'load']],
  embed: [['src', 'load']],
  frame: [['src', 'load']],
  iframe: [['src', 'load']],
  image: [
    ['href', 'load'],
    ['xlink:href', 'load'],
  ],
  img: [['src', 'load']],
  input: [['src', 'load']],
  object: [['data', 'load']],
  script: [['src', 'load']],
  source: [['src', 'load']],
  track: [['src', 'load']],
  use: [
    ['href', 'load'],
    ['xlink:href', 'load'],
  ],
  video: [
    ['src', 'load'],
    ['poster', 'load'],
  ],
};

/** Relations that browsers load; others, such as `canonical`, are for programs that never come through a Reader. */
const LOADED_RELATIONS =
  /(?:^|\s)(?:stylesheet|icon|apple-touch-icon|mask-icon|manifest|modulepreload|preload|prefetch)(?:\s|$)/i;
const PREVIEWS = /^(?:og:image|og:image:url|og:image:secure_url|og:video|og:audio|twitter:image)$/i;

/** @param xml - browsers read it as XML */
export function scanPage(text: string, xml: boolean): ScannedPage {
  const scanner = new PageScanner();
  const parser = new Parser(scanner, {
    decodeEntities: true,
    lowerCaseTags: true,
    lowerCaseAttributeNames: true,
    xmlMode: xml,
  });
  scanner.position = () => parser.startIndex;
  parser.end(text);
  return scanner;
}

class PageScanner implements ScannedPage {
  base: string | undefined;
  readonly references: Reference[] = [];
  readonly forms: Form[] = [];
  readonly scripts: Script[] = [];
  namesSet = false;
  /** Where in the text the parser is. */
  position: () => number = () => 0;
  #inside: 'script' | 'style' | undefined;

  onopentag(name: string, attributes: Record<string, string>): void {
    const offset = this.position();
    for (const [attribute, use] of ADDRESSES[name] ?? []) {
      const url = attributes[attribute];
      if (url !== undefined) this.references.push({ url, use, offset });
    }
    for (const attribute in attributes) this.#attribute(attribute, attributes[attribute] ?? '', offset);
    if (name === 'link') this.#link(attributes, offset);
    else if (name === 'meta') this.#meta(attributes, offset);
    else if (name === 'base') this.base ??= attributes.href;
    else if (name === 'form') this.#form(attributes, offset);
    else if (name === 'style') this.#inside = 'style';
    else if (name === 'script' && attributes.type?.toLowerCase() !== 'application/ld+json') this.#inside = 'script';
    else if (attributes.formaction !== undefined) this.#form(overridden(attributes), offset);
  }

  ontext(text: string): void {
    if (this.#inside === 'script') this.scripts.push({ text, offset: this.position() });
    else if (this.#inside === 'style') this.references.push(...referencesOfStyle(text, this.position()));
  }

  onclosetag(name: string): void {
    if (name === 'script' || name === 'style') this.#inside = undefined;
  }

  #attribute(name: string, value: string, offset: number): void {
    if (name === 'srcset' || name === 'imagesrcset') {
      for (const url of addressesOfSrcset(value)) this.references.push({ url, use: 'load', offset });
    } else if (name === 'style') {
      for (const { url, use } of referencesOfStyle(value)) this.references.push({ url, use, offset });
    } else if (name.startsWith('on')) {
      this.scripts.push({ text: value, offset });
    } else if (name.startsWith('data-') && value.includes('//')) {
      this.references.push({ url: value, use: 'data', offset });
    }
  }

  #link({ rel = '', href }: Record<string, string>, offset: number): void {
    if (href !== undefined && LOADED_RELATIONS.test(rel)) this.references.push({ url: href, use: 'load', offset });
  }

  #meta(attributes: Record<string, string>, offset: number): void {
    const { content = '', property, name = '' } = attributes;
    if (name.trim().toLowerCase() === 'wispr-set') this.namesSet = true;
    if (PREVIEWS.test(property ?? name)) this.references.push({ url: content, use: 'preview', offset });
    if (attributes['http-equiv']?.toLowerCase() !== 'refresh') return;
    const url = /^\s*[\d.]*\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i.exec(content)?.[1];
    if (url !== undefined) this.references.push({ url: url.trim(), use: 'link', offset });
  }

  #form({ method = 'get', action = '' }: Record<string, string>, offset: number): void {
    this.forms.push({ method: method.trim().toLowerCase(), action, offset });
  }
}

/** What a button says in place of its form. */
function overridden({ formmethod = 'get', formaction = '' }: Record<string, string>): Record<string, string> {
  return { method: formmethod, action: formaction };
}
