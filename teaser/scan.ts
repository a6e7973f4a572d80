/** Reads what a page refers to, sends and runs; in one pass, as a browser would load it. */
import { TokenType, tokenizer } from '@csstools/css-tokenizer';
import { Parser } from 'htmlparser2';
import { SRCSET_CANDIDATE } from '../core/site/srcset.ts';
import { addDirectives, isCrawler, isFeed } from './machine-words.ts';
import type { Match, Reference, Use } from './reference.ts';
import { importsOf } from './script-imports.ts';

export interface Form {
  readonly method: string;
  /** Address as written; empty for the page's own. */
  readonly action: string;
  readonly offset: number;
}

/** Attributes with one address, by element. */
const ADDRESSES: Readonly<Record<string, Use>> = {
  'a href': 'link',
  'a xlink:href': 'link',
  'area href': 'link',
  'audio src': 'load',
  'body background': 'load',
  'embed src': 'load',
  'frame src': 'load',
  'iframe src': 'load',
  'image href': 'load',
  'image xlink:href': 'load',
  'img src': 'load',
  'input src': 'load',
  'object data': 'load',
  'script src': 'load',
  'source src': 'load',
  'track src': 'load',
  'use href': 'load',
  'use xlink:href': 'load',
  'video poster': 'load',
  'video src': 'load',
};

/** The attributes among them: most have no address, and need no look at the element. */
const ADDRESS_ATTRIBUTES = new Set(Object.keys(ADDRESSES).map((key) => key.slice(key.indexOf(' ') + 1)));

/** Relations that browsers load; others than these and {@link RELATED}, such as `canonical`, lead nowhere. */
const LOADED_RELATIONS =
  /(?:^|\s)(?:stylesheet|icon|apple-touch-icon|mask-icon|manifest|modulepreload|preload|prefetch)(?:\s|$)/i;
/** Relations that feed readers and other programs follow. */
const RELATED = /(?:^|\s)(?:alternate|next|prev)(?:\s|$)/i;
/** Types of scripts that browsers run (WHATWG HTML, "script"). */
const PROGRAM = /^(?:|module|(?:text|application)\/(?:x-)?(?:java|ecma)script)$/;
const PREVIEWS = /^(?:og:image|og:image:url|og:image:secure_url|og:video|og:audio|twitter:image)$/i;

const DESCRIPTIONS = /^\s*(?:og:|twitter:)?(?:title|description)\s*$/i;
/** Characters of a description that teasers show. */
const SHOWN = 200;
/** Characters of an attribute that can hold a copy of a text. */
const SHORT = 64;
/** Elements that hold no text of their page alone. */
const ASIDE = new Set(['aside', 'footer', 'header', 'nav', 'script', 'style', 'svg', 'template']);
const ASIDE_ROLES = new Set(['banner', 'contentinfo', 'navigation', 'search']);

/** @param xml - browsers read it as XML */
export function scanPage(text: string, xml: boolean): PageScanner {
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

export class PageScanner {
  /** Value of `<base href>`; the page's own address if undefined. */
  base: string | undefined;
  readonly references: Reference[] = [];
  readonly forms: Form[] = [];
  readonly scripts: Match[] = [];
  /** Addresses of frames with an origin of their own. */
  readonly sandboxed: Match[] = [];
  /** Tells whether it has `<meta name="wispr-set">` somewhere. */
  namesSet = false;
  /** Value of `og:image`; the first counts. */
  readonly openGraph = new Map<string, string>();
  readonly robots = new Map<string, string>();
  readonly feeds: string[] = [];
  /** The text, but for navigation and what {@link shown} has. */
  prose = '';
  /** Text that teasers show of it: title, description and excerpt. */
  shown = '';
  /** Scripts, data in them, and text of attributes. */
  rest = '';
  position: () => number = () => 0;
  #inside: 'script' | 'style' | undefined;
  #isProgram = false;
  /** Number of open elements, and at which of them navigation or what teasers show began. */
  #depth = 0;
  #asideFrom = 0;
  #isScript = false;
  #shownFrom = 0;

  onopentag(name: string, attributes: Record<string, string>): void {
    const offset = this.position();
    this.#depth++;
    this.#isScript = name === 'script';
    if (this.#asideFrom === 0 && (ASIDE.has(name) || ASIDE_ROLES.has(attributes.role ?? '')))
      this.#asideFrom = this.#depth;
    if (this.#shownFrom === 0 && (name === 'title' || 'data-wispr-excerpt' in attributes))
      this.#shownFrom = this.#depth;
    for (const attribute in attributes) {
      const value = attributes[attribute] ?? '';
      const use = ADDRESS_ATTRIBUTES.has(attribute) ? ADDRESSES[`${name} ${attribute}`] : undefined;
      if (use) this.references.push({ url: value, use, offset });
      else this.#attribute(attribute, value, offset);
    }
    if (name === 'link') this.#link(attributes, offset);
    else if (name === 'meta') this.#meta(attributes, offset);
    else if (name === 'base') this.base ??= attributes.href;
    else if (name === 'iframe') this.#frame(attributes, offset);
    else if (name === 'form') this.#form(attributes, offset);
    else if (name === 'style') this.#inside = 'style';
    else if (name === 'script') this.#script(attributes.type?.trim().toLowerCase() ?? '');
    else if (attributes.formaction !== undefined) this.#form(overridden(attributes), offset);
  }

  ontext(text: string): void {
    if (this.#shownFrom > 0) this.shown += text;
    else if (this.#asideFrom === 0) this.prose += text;
    else if (this.#isScript) this.rest += text;
    if (this.#inside === 'script') this.scripts.push({ text, offset: this.position() });
    if (this.#inside === 'script' && this.#isProgram) this.references.push(...importsOf(text, this.position()));
    else if (this.#inside === 'style') this.references.push(...referencesOfStyle(text, this.position()));
  }

  onclosetag(name: string): void {
    if (this.#asideFrom === this.#depth) this.#asideFrom = 0;
    if (this.#shownFrom === this.#depth) this.#shownFrom = 0;
    this.#depth--;
    if (name === 'script' || name === 'style') this.#inside = undefined;
  }

  #attribute(name: string, value: string, offset: number): void {
    if (value.length >= SHORT && value.includes(' ')) this.rest += value;
    if (name === 'srcset' || name === 'imagesrcset') {
      for (const [, url = ''] of value.matchAll(SRCSET_CANDIDATE)) this.references.push({ url, use: 'load', offset });
    } else if (name === 'style') {
      for (const { url, use } of referencesOfStyle(value)) this.references.push({ url, use, offset });
    } else if (name.startsWith('on')) {
      this.scripts.push({ text: value, offset });
    } else if (name.startsWith('data-') && value.includes('//')) {
      this.references.push({ url: value, use: 'data', offset });
    }
  }

  #script(type: string): void {
    if (type !== 'application/ld+json') this.#inside = 'script';
    this.#isProgram = PROGRAM.test(type);
  }

  #link({ rel = '', href, type = '' }: Record<string, string>, offset: number): void {
    if (href === undefined) return;
    if (RELATED.test(rel) && isFeed(type.trim().toLowerCase())) this.feeds.push(href);
    if (LOADED_RELATIONS.test(rel)) this.references.push({ url: href, use: 'load', offset });
    else if (RELATED.test(rel)) this.references.push({ url: href, use: 'related', offset });
  }

  #meta(attributes: Record<string, string>, offset: number): void {
    const { content = '', property, name = '' } = attributes;
    const key = name.trim().toLowerCase();
    if (key === 'wispr-set') this.namesSet = true;
    if (isCrawler(key)) addDirectives(this.robots, key, content);
    if (/^og:image$/i.test(property ?? name) && !this.openGraph.has('og:image'))
      this.openGraph.set('og:image', content.trim());
    if (PREVIEWS.test(property ?? name)) this.references.push({ url: content, use: 'preview', offset });
    if (DESCRIPTIONS.test(property ?? name)) this.shown += content.slice(0, SHOWN);
    if (attributes['http-equiv']?.toLowerCase() !== 'refresh') return;
    const url = /^\s*(?:[\d.]+\s*)?[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i.exec(content)?.[1];
    if (url !== undefined) this.references.push({ url: url.trim(), use: 'link', offset });
  }

  #frame({ sandbox, src = '' }: Record<string, string>, offset: number): void {
    if (src !== '' && sandbox !== undefined && !/(?:^|\s)allow-same-origin(?:\s|$)/i.test(sandbox))
      this.sandboxed.push({ text: src, offset });
  }

  #form({ method = 'get', action = '' }: Record<string, string>, offset: number): void {
    this.forms.push({ method: method.trim().toLowerCase(), action, offset });
  }
}

function overridden({ formmethod = 'get', formaction = '' }: Record<string, string>): Record<string, string> {
  return { method: formmethod, action: formaction };
}

/** Functions of CSS whose strings are addresses. */
const ADDRESSING = new Set(['url', 'src', 'image-set', '-webkit-image-set']);

/** The addresses in a style sheet, or in a `style` attribute. */
export function referencesOfStyle(text: string, offset = 0): Reference[] {
  const references: Reference[] = [];
  const open: string[] = [];
  let isImport = false;
  const tokens = tokenizer({ css: text });
  while (!tokens.endOfFile()) {
    const token = tokens.nextToken();
    const [type, , start] = token;
    if (type === TokenType.Whitespace || type === TokenType.Comment) continue;
    const isString = type === TokenType.String && (isImport || ADDRESSING.has(open.at(-1) ?? ''));
    if (isString || type === TokenType.URL)
      references.push({ url: token[4].value.trim(), use: 'load', offset: offset + start });
    if (type === TokenType.Function) open.push(token[4].value.toLowerCase());
    if (type === TokenType.OpenParen) open.push('');
    if (type === TokenType.CloseParen) open.pop();
    isImport = type === TokenType.AtKeyword && token[4].value.toLowerCase() === 'import';
  }
  return references;
}
