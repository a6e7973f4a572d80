/**
 * Recognises fallback pages. Nothing signs them, but they are made from a few values by one template: so the values are read out, the page
 * is made again, and both must be the same byte for byte. No foreign script or link can hide in a page that passes.
 */
import { Parser } from 'htmlparser2';
import { fromUtf8 } from '../../../core/encoding/bytes.ts';
import { readAddress, shownPath } from '../../../core/site/read-address.ts';
import type { FallbackPage } from '../../../teaser/fallback-page.ts';
import { isCrawler, isMachineLink, isRepeatedMeta, type MachineLink } from '../../../teaser/machine-words.ts';
import { OPEN_GRAPH } from '../../../teaser/page.ts';
import { builtInTemplate } from '../../../teaser/render.ts';
import { describingData, parseStructured, type StructuredData } from '../../../teaser/structured-data.ts';
import { MAXIMUM_FALLBACK_PAGE, OWN_TEMPLATE_MARK } from './template.ts';

/** The values of a fallback page; `undefined` if `bytes` are anything else. */
export function parseFallbackPage(bytes: Uint8Array): FallbackPage | undefined {
  const text = bytes.length <= MAXIMUM_FALLBACK_PAGE ? fromUtf8(bytes) : undefined;
  if (text === undefined || !text.includes('content="wispr fallback page"')) return undefined;
  const handler = new ValueReader();
  new Parser(handler, { decodeEntities: true }).end(text);
  const page = handler.page(text);
  if (
    !URL.canParse(page.reading) ||
    ![...page.openGraph.keys()].every((property) => OPEN_GRAPH.some((known) => known === property))
  )
    return undefined;
  if (![...page.meta.keys()].every(isRepeatedMeta) || !page.links.every(isMachineLink)) return undefined;
  // What the page loads is the site's own.
  if (![page.picture, page.logo].every((path) => path === '' || /^\/(?![/\\])/.test(path))) return undefined;
  return builtInTemplate.render(page) === text ? page : undefined;
}

export interface RecognisedPage {
  readonly reading: string;
  /** The site that it offers to open in a Reader; unknown for a publisher's own template. */
  readonly site: string | undefined;
  /** Where its link for subscribing leads; empty where it has none, unknown for a publisher's own template. */
  readonly subscribe: string | undefined;
  /** Whether a template of the publisher's made it. Then nothing but its Read link was checked: the page cannot be made again without the template. */
  readonly ownTemplate: boolean;
}

/** Recognises a fallback page; `undefined` if `bytes` are anything else. */
export function recogniseFallbackPage(bytes: Uint8Array): RecognisedPage | undefined {
  const page = parseFallbackPage(bytes);
  if (page !== undefined)
    return { reading: page.reading, site: page.site, subscribe: page.subscribe, ownTemplate: false };
  const text = bytes.length <= MAXIMUM_FALLBACK_PAGE ? fromUtf8(bytes) : undefined;
  return text?.endsWith(OWN_TEMPLATE_MARK) ? readOwnPage(text) : undefined;
}

function readOwnPage(text: string): RecognisedPage | undefined {
  let reading: string | undefined;
  const onopentag = (name: string, { id, href }: Record<string, string>) => {
    if (name === 'a' && id === 'read') reading ??= href;
  };
  new Parser({ onopentag }, { decodeEntities: true }).end(text);
  return reading === undefined ? undefined : { reading, site: undefined, subscribe: undefined, ownTemplate: true };
}

/** Where fallback pages of a site lead. */
export interface LedTo {
  readonly site: string;
  readonly reading: string;
  readonly serverless?: boolean;
  /** Empty where the site names no address. */
  readonly subscribe: string;
}

/** Whether a fallback page leads to this document on the reading site, in a Reader to the same document of this site, to its subscriptions, and nowhere else. */
export function leadsTo(
  page: Pick<RecognisedPage, 'reading' | 'site' | 'subscribe'>,
  { site, reading, serverless = false, subscribe }: LedTo,
  urlPath: string,
): boolean {
  const reader = serverless ? '' : site;
  const isSite = page.site === undefined || (page.site === reader && page.subscribe === subscribe);
  return isSite && page.reading === readAddress(reading, shownPath(urlPath), serverless);
}

/** Whatever else stands in the link shows when the page is made again. */
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
    picture: '',
    logo: '',
    subscribe: '',
    publisher: '',
    site: '',
    reading: '',
  };
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
    else if (name === 'a') this.#link(attributes);
    else if (name === 'img') this.#picture(attributes);
    else if (name === 'html')
      Object.assign(this.#values, { language: attributes.lang, direction: attributes.dir ?? '' });
    else if (name === 'link') this.#relation(attributes);
    else if (name === 'div') this.#inExcerpt = true;
  }

  #meta({ name, property, content = '' }: Record<string, string>): void {
    if (name === 'description' || name === 'author') this.#values[name] = content;
    else if (property === 'article:published_time') this.#values.published = content;
    else if (property) this.#openGraph.set(property, content);
    else if (name && isCrawler(name)) this.#robots.set(name, content);
    else if (name && name !== 'viewport' && name !== 'generator') this.#metas.set(name, content);
  }

  #relation({ rel = '', href = '', hreflang = '', type = '' }: Record<string, string>): void {
    if (rel === 'canonical') this.#values.canonical = href;
    else if (rel !== 'icon') this.#links.push({ rel, href, hreflang, type });
  }

  #link({ id, href = '' }: Record<string, string>): void {
    if (id === 'reader') this.#values.site = siteIn(href);
    else if (id === 'subscribe') this.#values.subscribe = href;
    else this.#values.reading = href;
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
    else if (name === 'script') this.#structured ??= describingData(parseStructured(this.#text));
    else if (name === 'span') this.#values.publisher = this.#text;
    else if (name === 'p' && this.#inExcerpt) this.#excerpt.push(this.#text);
    else if (name === 'div') this.#inExcerpt = false;
    this.#text = '';
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
