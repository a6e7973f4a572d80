/** Reads what a page says about itself: its set, and what its author shows to people who cannot read it yet. */
import { Parser } from 'htmlparser2';
import { decodePage } from './encoding.ts';
import { addDirectives, addMachineLink, isCrawler, isFeed, isRepeatedMeta, type MachineLink } from './machine-words.ts';
import { collapse, RepeatedText } from './repeated-text.ts';
import { describingData, parseStructured, type StructuredData } from './structured-data.ts';

/** The part of a page that its fallback page shows. */
export interface Teaser {
  readonly title: string;
  /** Text of the author, or its first sentence: generators copy whole texts there. */
  readonly description: string;
  /** BCP 47, from `<html lang>`. */
  readonly language: string;
  /** `rtl` where the page is. */
  readonly direction: string;
  /** Address out of `<link rel="canonical">`, as written; it is absolute. */
  readonly canonical: string;
  /** Values of {@link OPEN_GRAPH}. */
  readonly openGraph: ReadonlyMap<string, string>;
  /** Paragraphs of the text inside elements with `data-wispr-excerpt`. */
  readonly excerpt: readonly string[];
  readonly author: string;
  /** Value of `<meta property="article:published_time">`, where it is a date or time as ISO 8601 writes it. */
  readonly published: string;
  /** Addresses of feeds out of `<link rel="alternate">`, as written. */
  readonly feeds: readonly string[];
  /** Value of `<base href>`, as written. */
  readonly base: string;
  /** Directives by crawler, wherever on the page: `robots` for all. */
  readonly robots: ReadonlyMap<string, string>;
  /** Values of further `<meta name>` for machines: keywords, and proofs of whose site it is. */
  readonly meta: ReadonlyMap<string, string>;
  readonly links: readonly MachineLink[];
  readonly structured: StructuredData;
}

export interface Page {
  readonly teaser: Teaser;
  /** The content of `<meta name="wispr-set">` in the head. */
  readonly set: string | undefined;
  /** Reason why what it says about its set is refused. */
  readonly problem: string | undefined;
}

/** The properties of Open Graph and Twitter cards that a fallback page repeats. */
export const OPEN_GRAPH = [
  ...['og:title', 'og:description', 'og:type', 'og:site_name', 'og:url', 'og:locale'],
  ...['og:image', 'og:image:alt', 'og:image:type', 'og:image:width', 'og:image:height'],
  ...['article:modified_time', 'article:section'],
  ...['twitter:card', 'twitter:title', 'twitter:description', 'twitter:image', 'twitter:image:alt'],
  ...['twitter:site', 'twitter:creator'],
];
/** Feeds of one page that count. */
const MAXIMUM_FEEDS = 8;

/** A date, or a time with its zone. */
const ISO_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d))?$/;

/** Characters that are kept of each text; a fallback page shows fewer. */
const KEPT = 2000;
/** Elements inside each other in an excerpt, which ends there: reading takes its time by them. */
const MAXIMUM_DEPTH = 500;

/** Characters of structured data that are read, and of what describes the page in them; longer ones are left out. */
const STRUCTURED = { read: 100_000, kept: 4000 };

/** Names of further `<meta>` for machines that count. */
const MAXIMUM_METAS = 16;

/** Characters of the body in which descriptions are looked for. */
const SEARCHED = 20_000;

// Elements that end a paragraph inside an excerpt where they begin or end.
const BLOCKS = new Set(
  'address article aside blockquote br dd details div dl dt fieldset figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table td th tr ul'.split(
    ' ',
  ),
);
const UNSHOWN = new Set('script style template noscript svg math iframe object video audio'.split(' '));
/** Elements of a head: anything else begins the body, whether or not its tag is written (WHATWG HTML, "after head"). */
const IN_HEAD = new Set(['html', 'head', 'title', 'meta', 'link', 'script', 'style', 'base', 'noscript', 'template']);
/** Elements without an end tag. */
const VOID = new Set('area base br col embed hr img input link meta source track wbr'.split(' '));

/**
 * Reads a page. One that names no set is refused where its word could have been missed: nothing is published by oversight.
 *
 * @param options - `xml`: browsers read it as XML. `cut`: there is more of it than `bytes`
 */
export function readPage(
  bytes: Uint8Array,
  { xml = false, cut = false }: { readonly xml?: boolean; readonly cut?: boolean } = {},
): Page {
  const handler = new PageHandler();
  const names = { lowerCaseTags: true, lowerCaseAttributeNames: true };
  const parser = new Parser(handler, { ...names, decodeEntities: true, xmlMode: xml });
  const text = decodePage(bytes);
  parser.end(text);
  const page = handler.page();
  if (page.set !== undefined || page.problem !== undefined) return page;
  if (text.includes('\0')) return { ...page, problem: 'it holds NUL characters: save it as UTF-8' };
  return cut ? { ...page, problem: `it names no set in its first ${bytes.length} bytes, and is longer` } : page;
}

class PageHandler {
  #inHead = true;
  #sets: string[] = [];
  #lateSet = false;
  #title = '';
  #titleDepth = 0;
  readonly #facts = {
    description: '',
    language: '',
    direction: '',
    canonical: '',
    author: '',
    published: '',
    base: '',
  };
  readonly #openGraph = new Map<string, string>();
  readonly #robots = new Map<string, string>();
  readonly #metas = new Map<string, string>();
  readonly #links: MachineLink[] = [];
  readonly #structured: string[] = [];
  #structuredLength = 0;
  #inStructured = false;
  readonly #excerpt: string[] = [''];
  readonly #feeds: string[] = [];
  /** The text of the body, as far as descriptions are looked for in it. */
  #text = '';
  #inCode = false;
  #excerptLength = 0;
  /** Elements open inside the marked one, which is the first; empty outside. */
  readonly #inExcerpt: string[] = [];

  onopentag(qualifiedName: string, attributes: Record<string, string>): void {
    const name = localNameOf(qualifiedName);
    if (name === 'meta') this.#meta(attributes);
    else if (name === 'link') this.#link(attributes);
    else if (name === 'html') this.#html(attributes);
    else if (name === 'base' && this.#facts.base === '') this.#facts.base = keep(attributes.href?.trim() ?? '');
    else if (name === 'title' && this.#inHead && this.#title === '') this.#titleDepth = 1;
    if (!IN_HEAD.has(name)) this.#inHead = false;
    if (name === 'script' || name === 'style') this.#inCode = true;
    this.#inStructured =
      name === 'script' && this.#inHead && attributes.type?.trim().toLowerCase() === 'application/ld+json';
    if (this.#inStructured) this.#structured.push('');
    if (BLOCKS.has(name)) this.#endParagraph();
    if (VOID.has(name)) return;
    if (this.#inExcerpt.length > 0 || 'data-wispr-excerpt' in attributes) this.#inExcerpt.push(name);
    if (this.#inExcerpt.length > MAXIMUM_DEPTH) this.#inExcerpt.length = 0;
  }

  ontext(text: string): void {
    if (this.#inStructured) this.#addStructured(text);
    if (this.#titleDepth > 0) this.#title = keep(this.#title + text);
    if (!this.#inHead && !this.#inCode && this.#text.length < SEARCHED) this.#text += text;
    const isShown = this.#inExcerpt.length > 0 && this.#excerptLength < 2 * KEPT;
    if (!isShown || this.#inExcerpt.some((name) => UNSHOWN.has(name))) return;
    const last = this.#excerpt.length - 1;
    this.#excerpt[last] = keep(this.#excerpt[last] + text);
    this.#excerptLength += text.length;
  }

  onclosetag(qualifiedName: string): void {
    const name = localNameOf(qualifiedName);
    if (name === 'title') this.#titleDepth = 0;
    if (name === 'head') this.#inHead = false;
    if (name === 'script' || name === 'style') this.#inCode = this.#inStructured = false;
    if (BLOCKS.has(name)) this.#endParagraph();
    const opened = this.#inExcerpt.lastIndexOf(name);
    if (opened >= 0) this.#inExcerpt.length = opened;
    if (opened === 0) this.#endParagraph();
  }

  page(): Page {
    const repeated = new RepeatedText(this.#title, this.#text);
    const teaser = {
      ...this.#facts,
      author: repeated.shown(this.#facts.author, 'author'),
      title: collapse(this.#title),
      description: repeated.shown(this.#facts.description, 'description'),
      openGraph: repeated.allShown(this.#openGraph),
      excerpt: this.#excerpt.map(collapse).filter((paragraph) => paragraph !== ''),
      feeds: this.#feeds,
      robots: this.#robots,
      meta: repeated.allShown(this.#metas),
      links: this.#links,
      structured: this.#describingData(repeated),
    };
    return { teaser, set: this.#sets[0], problem: this.#problem() };
  }

  #addStructured(text: string): void {
    this.#structuredLength += text.length;
    if (this.#structuredLength <= STRUCTURED.read) this.#structured[this.#structured.length - 1] += text;
  }

  #describingData(repeated: RepeatedText): StructuredData {
    const found = this.#structured.map((text) =>
      describingData(parseStructured(text), (each, name) => repeated.shown(each, name)),
    );
    return found.find((data) => '@type' in data && JSON.stringify(data).length <= STRUCTURED.kept) ?? {};
  }

  #problem(): string | undefined {
    if (this.#lateSet) return '<meta name="wispr-set"> stands outside the head';
    const different = new Set(this.#sets).size > 1;
    return different ? `it names more than one set: ${this.#sets.join(', ')}` : undefined;
  }

  #html({ dir = '', ...given }: Record<string, string>): void {
    const lang = given.lang ?? given['xml:lang'] ?? '';
    if (/^[A-Za-z0-9-]{1,35}$/.test(lang)) this.#facts.language = lang;
    if (dir.toLowerCase() === 'rtl') this.#facts.direction = 'rtl';
  }

  #meta({ name = '', property = '', content = '' }: Record<string, string>): void {
    const key = name.trim().toLowerCase();
    if (key === 'wispr-set') this.#set(content);
    if (isCrawler(key)) addDirectives(this.#robots, key, content);
    if (!this.#inHead) return;
    if (isRepeatedMeta(key) && !this.#metas.has(key) && this.#metas.size < MAXIMUM_METAS)
      this.#metas.set(key, collapse(keep(content)));
    if ((key === 'description' || key === 'author') && this.#facts[key] === '')
      this.#facts[key] = collapse(keep(content));
    const graph = (property || name).trim().toLowerCase();
    if (graph === 'article:published_time' && ISO_TIME.test(content.trim())) this.#facts.published = content.trim();
    const known = OPEN_GRAPH.some((each) => each === graph);
    if (known && !this.#openGraph.has(graph)) this.#openGraph.set(graph, collapse(keep(content)));
  }

  /** Takes a set in the head. Elsewhere it may be a reader's comment, and ignoring it could publish what is protected: it is refused. */
  #set(content: string): void {
    if (this.#inHead) this.#sets.push(collapse(keep(content)).normalize('NFC'));
    else this.#lateSet = true;
  }

  #link(attributes: Record<string, string>): void {
    if (!this.#inHead) return;
    addMachineLink(this.#links, attributes);
    const { rel = '', href = '', type = '' } = attributes;
    const relations = rel.toLowerCase().split(/\s+/);
    if (relations.includes('canonical') && this.#facts.canonical === '') this.#facts.canonical = keep(href.trim());
    if (relations.includes('alternate') && isFeed(type.trim().toLowerCase()) && this.#feeds.length < MAXIMUM_FEEDS)
      this.#feeds.push(keep(href.trim()));
  }

  #endParagraph(): void {
    if (this.#inExcerpt.length > 0 && this.#excerpt.at(-1) !== '' && this.#excerptLength < KEPT) this.#excerpt.push('');
  }
}

/** Removes the prefix that elements can have in XML; in HTML, no element that is known here has one. */
function localNameOf(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function keep(text: string): string {
  return text.length > KEPT ? text.slice(0, KEPT).toWellFormed() : text;
}
