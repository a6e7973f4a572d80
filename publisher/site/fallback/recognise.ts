/**
 * Recognises fallback pages. Nothing signs them, but they are made from a few values by one template: so the values are read out, the page
 * is made again, and both must be the same byte for byte. No foreign script or link can hide in a page that passes.
 */
import { isDeepStrictEqual } from 'node:util';
import { Parser } from 'htmlparser2';
import { fromUtf8 } from '../../../core/encoding/bytes.ts';
import { readAddress, shownPath } from '../../../core/site/read-address.ts';
import { type Bar, type BarLink, type BarSettings, barOf } from '../../../teaser/bar.ts';
import type { FallbackPage } from '../../../teaser/fallback-page.ts';
import { isCrawler, isMachineLink, isRepeatedMeta, type MachineLink } from '../../../teaser/machine-words.ts';
import { OPEN_GRAPH } from '../../../teaser/page.ts';
import { builtInTemplate } from '../../../teaser/render.ts';
import { scriptOf } from '../../../teaser/script.ts';
import { describingData, parseStructured, type StructuredData } from '../../../teaser/structured-data.ts';
import { MAXIMUM_FALLBACK_PAGE, OWN_TEMPLATE_MARK } from './template.ts';

export interface ParsedPage {
  readonly page: FallbackPage;
  readonly bar: Bar;
}

/** Returns the values of a fallback page; `undefined` if `bytes` are anything else. */
export function parseFallbackPage(bytes: Uint8Array): ParsedPage | undefined {
  const text = bytes.length <= MAXIMUM_FALLBACK_PAGE ? fromUtf8(bytes) : undefined;
  if (text === undefined || !text.includes('content="wispr fallback page"')) return undefined;
  const handler = new ValueReader();
  new Parser(handler, { decodeEntities: true }).end(text);
  const page = handler.page(text);
  const bar = handler.bar();
  if (
    !URL.canParse(page.reading) ||
    ![...page.openGraph.keys()].every((property) => OPEN_GRAPH.some((known) => known === property))
  )
    return undefined;
  if (![...page.meta.keys()].every(isRepeatedMeta) || !page.links.every(isMachineLink)) return undefined;
  // Pictures that the page loads are the site's own.
  if (![page.picture, page.logo].every((path) => path === '' || /^\/(?![/\\])/.test(path))) return undefined;
  return builtInTemplate.render(page, bar) === text ? { page, bar } : undefined;
}

export interface RecognisedPage {
  readonly reading: string;
  /** The site that it offers to open in a Reader; unknown for a publisher's own template. */
  readonly site: string | undefined;
  readonly language: string;
  /** Buttons; unknown for a publisher's own template. */
  readonly bar: Bar | undefined;
  /** Tells whether a template of the publisher's made it. Then only its Read link was checked: the page cannot be made again without the template. */
  readonly ownTemplate: boolean;
}

/** Recognises a fallback page; `undefined` if `bytes` are anything else. */
export function recogniseFallbackPage(bytes: Uint8Array): RecognisedPage | undefined {
  const { page, bar } = parseFallbackPage(bytes) ?? {};
  if (page !== undefined)
    return { reading: page.reading, site: page.site, language: page.language, bar, ownTemplate: false };
  const text = bytes.length <= MAXIMUM_FALLBACK_PAGE ? fromUtf8(bytes) : undefined;
  return text?.endsWith(OWN_TEMPLATE_MARK) ? readOwnPage(text) : undefined;
}

function readOwnPage(text: string): RecognisedPage | undefined {
  let reading: string | undefined;
  const onopentag = (name: string, { id, href }: Record<string, string>) => {
    if (name === 'a' && id === 'read') reading ??= href;
  };
  new Parser({ onopentag }, { decodeEntities: true }).end(text);
  return reading === undefined
    ? undefined
    : { reading, site: undefined, language: '', bar: undefined, ownTemplate: true };
}

/** Destination of fallback pages of a site. */
export interface LedTo extends BarSettings {
  readonly site: string;
  readonly reading: string;
}

/** Tells whether a fallback page leads to this document on the reading site, in a Reader to that of this site, and has only the settings' offers. */
export function leadsTo(
  page: Omit<RecognisedPage, 'ownTemplate'>,
  { site, reading, serverless = false, ...settings }: LedTo,
  urlPath: string,
): boolean {
  const reader = serverless ? '' : site;
  if (page.reading !== readAddress(reading, shownPath(urlPath), serverless)) return false;
  if (page.bar === undefined) return true;
  return page.site === reader && isDeepStrictEqual(page.bar, barOf(page, { ...settings, serverless }));
}

/** Reads the site in a link; all else in it shows when the page is made again. */
function siteIn(href: string): string {
  return (URL.canParse(href) && new URL(href).searchParams.get('site')) || '';
}

class ValueReader {
  readonly #values = {
    language: '',
    direction: '',
    title: '',
    description: '',
    canonical: '',
    author: '',
    published: '',
    date: '',
    picture: '',
    logo: '',
    publisher: '',
    site: '',
    reading: '',
    redirect: 'readers' as FallbackPage['redirect'],
  };
  readonly #bar = { language: '', title: '', lead: '' };
  #button: BarLink | undefined;
  readonly #ways: BarLink[] = [];
  /** Attributes of the link that is open: `go` is the class of the button. */
  #link = { id: '', kind: '', url: '' };
  #inBar = false;
  readonly #openGraph = new Map<string, string>();
  readonly #robots = new Map<string, string>();
  readonly #metas = new Map<string, string>();
  readonly #links: MachineLink[] = [];
  #structured: StructuredData | undefined;
  readonly #excerpt: string[] = [];
  #inExcerpt = false;
  #text = '';

  onopentag(name: string, attributes: Record<string, string>): void {
    this.#text = '';
    if (name === 'meta') this.#meta(attributes);
    else if (name === 'aside') this.#aside(attributes);
    else if (name === 'a') this.#anchor(attributes);
    else if (name === 'img') this.#picture(attributes);
    else if (name === 'html')
      Object.assign(this.#values, { language: attributes.lang, direction: attributes.dir ?? '' });
    else if (name === 'link') this.#relation(attributes);
    else if (name === 'div') this.#inExcerpt = !this.#inBar;
  }

  #meta({ name, property, content = '', 'http-equiv': pragma }: Record<string, string>): void {
    if (pragma !== undefined) this.#values.redirect = 'always';
    else if (name === 'description' || name === 'author') this.#values[name] = content;
    else if (property === 'article:published_time') this.#values.published = content;
    else if (property) this.#openGraph.set(property, content);
    else if (name && isCrawler(name)) this.#robots.set(name, content);
    else if (name && name !== 'viewport' && name !== 'generator') this.#metas.set(name, content);
  }

  #relation({ rel = '', href = '', hreflang = '', type = '' }: Record<string, string>): void {
    if (rel === 'canonical') this.#values.canonical = href;
    else if (rel !== 'icon') this.#links.push({ rel, href, hreflang, type });
  }

  #aside({ 'data-to': reading = '', lang = '' }: Record<string, string>): void {
    this.#inBar = true;
    this.#values.reading = reading;
    this.#bar.language = lang;
  }

  #anchor({ id = '', class: kind = '', href: url = '' }: Record<string, string>): void {
    this.#link = { id, kind, url };
    if (id === 'reader') this.#values.site = siteIn(url);
  }

  #picture({ class: className, src = '', alt = '' }: Record<string, string>): void {
    if (className === 'logo') Object.assign(this.#values, { logo: src, publisher: alt });
    else this.#values.picture = src;
  }

  ontext(text: string): void {
    this.#text += text;
  }

  onclosetag(name: string): void {
    if (name === 'title') this.#values.title = this.#text;
    else if (name === 'script') this.#script();
    else if (name === 'time') this.#values.date = this.#text;
    else if (name === 'a') this.#way();
    else if (name === 'h2') this.#bar.title = this.#text;
    else if (name === 'p' && this.#inBar) this.#bar.lead ||= this.#text;
    else if (name === 'span') this.#values.publisher = this.#text;
    else if (name === 'p' && this.#inExcerpt) this.#excerpt.push(this.#text);
    else if (name === 'div') this.#inExcerpt = false;
    this.#text = '';
  }

  #script(): void {
    if (this.#text === scriptOf('never')) this.#values.redirect = 'never';
    this.#structured ??= describingData(parseStructured(this.#text));
  }

  #way(): void {
    const { id, kind, url } = this.#link;
    const way = { text: this.#text, url };
    if (kind === 'go') this.#button = way;
    else if (id === '') this.#ways.push(way);
  }

  bar(): Bar {
    return { ...this.#bar, ...(this.#button && { button: this.#button }), links: this.#ways };
  }

  page(text: string): FallbackPage {
    const [light = '', dark = ''] = Array.from(text.matchAll(/;--go:(#[0-9a-f]{6});/g), ([, colour = '']) => colour);
    return {
      ...this.#values,
      openGraph: this.#openGraph,
      robots: this.#robots,
      meta: this.#metas,
      links: this.#links,
      structured: this.#structured ?? {},
      excerpt: this.#excerpt,
      accent: { light, dark },
    };
  }
}
