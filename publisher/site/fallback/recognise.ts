/**
 * Recognises fallback pages. Nothing signs them, but they are made from a few values by one template: so the values are read out, the page
 * is made again, and both must be the same byte for byte. No foreign script or link can hide in a page that passes.
 */
import { Parser } from 'htmlparser2';
import { fromUtf8 } from '../../../core/encoding/bytes.ts';
import { OPEN_GRAPH } from '../page.ts';
import type { FallbackPage } from './page.ts';
import { builtInTemplate, MAXIMUM_FALLBACK_PAGE, OWN_TEMPLATE_MARK } from './template.ts';

/** The values of a fallback page; `undefined` if `bytes` are anything else. */
export function parseFallbackPage(bytes: Uint8Array): FallbackPage | undefined {
  const text = bytes.length <= MAXIMUM_FALLBACK_PAGE ? fromUtf8(bytes) : undefined;
  if (text === undefined || !text.includes('content="wispr fallback page"')) return undefined;
  const handler = new ValueReader();
  new Parser(handler, { decodeEntities: true }).end(text);
  const page = handler.page(text);
  if (!URL.canParse(page.reading) || ![...page.openGraph.keys()].every(isKnownProperty)) return undefined;
  return builtInTemplate.render(page) === text ? page : undefined;
}

/** What is known of a fallback page. */
export interface RecognisedPage {
  /** Where its Read link leads. */
  readonly reading: string;
  /** The site that it offers to open in a Reader; unknown for a publisher's own template. */
  readonly site: string | undefined;
  /** Whether a template of the publisher's made it. Then nothing but its Read link was checked: the page cannot be made again without the template. */
  readonly ownTemplate: boolean;
}

/** Recognises a fallback page; `undefined` if `bytes` are anything else. */
export function recogniseFallbackPage(bytes: Uint8Array): RecognisedPage | undefined {
  const page = parseFallbackPage(bytes);
  if (page !== undefined) return { reading: page.reading, site: page.site, ownTemplate: false };
  const text = bytes.length <= MAXIMUM_FALLBACK_PAGE ? fromUtf8(bytes) : undefined;
  return text?.endsWith(OWN_TEMPLATE_MARK) ? readOwnPage(text) : undefined;
}

function readOwnPage(text: string): RecognisedPage | undefined {
  let reading: string | undefined;
  const onopentag = (name: string, { id, href }: Record<string, string>) => {
    if (name === 'a' && id === 'read') reading ??= href;
  };
  new Parser({ onopentag }, { decodeEntities: true }).end(text);
  return reading === undefined ? undefined : { reading, site: undefined, ownTemplate: true };
}

/** Whether a fallback page leads to this document on the reading site, and nowhere else; in a Reader, to the same document of this site. */
export function leadsTo(
  page: Pick<RecognisedPage, 'reading' | 'site'>,
  { site, reading }: { readonly site: string; readonly reading: string },
  urlPath: string,
): boolean {
  const isSite = page.site === undefined || page.site === site;
  return isSite && page.reading === reading + urlPath.replace(/(?<=\/)index\.html$/, '');
}

/** Whatever else stands in the link shows when the page is made again. */
function siteIn(href: string): string {
  return (URL.canParse(href) && new URL(href).searchParams.get('site')) || '';
}

function isKnownProperty(property: string): boolean {
  return OPEN_GRAPH.some((known) => known === property);
}

class ValueReader {
  readonly #values = {
    language: '',
    direction: '',
    title: '',
    description: '',
    canonical: '',
    publisher: '',
    site: '',
    reading: '',
  };
  readonly #openGraph = new Map<string, string>();
  readonly #excerpt: string[] = [];
  #inExcerpt = false;
  #inPublisher = false;
  /** Text since the last tag. */
  #text = '';

  onopentag(name: string, attributes: Record<string, string>): void {
    const { lang = '', dir = '', content = '', href = '', rel = '', class: className } = attributes;
    this.#text = '';
    if (name === 'html') Object.assign(this.#values, { language: lang, direction: dir });
    else if (name === 'meta' && attributes.name === 'description') this.#values.description = content;
    else if (name === 'meta' && attributes.property) this.#openGraph.set(attributes.property, content);
    else if (name === 'link' && rel === 'canonical') this.#values.canonical = href;
    else if (name === 'a' && attributes.id === 'reader') this.#values.site = siteIn(href);
    else if (name === 'a') this.#values.reading = href;
    else if (name === 'div') this.#inExcerpt = true;
    else if (name === 'small') this.#inPublisher = className === 'from';
  }

  ontext(text: string): void {
    this.#text += text;
  }

  onclosetag(name: string): void {
    if (name === 'title') this.#values.title = this.#text;
    else if (name === 'small' && this.#inPublisher) this.#values.publisher = this.#text;
    else if (name === 'p' && this.#inExcerpt) this.#excerpt.push(this.#text);
    else if (name === 'div') this.#inExcerpt = false;
    this.#text = '';
  }

  page(text: string): FallbackPage {
    const milliseconds = /location\.replace\(a\.href\)\},(\d{1,7})\)\n<\/script>\n<\/body>/.exec(text)?.[1];
    const redirectAfter = milliseconds === undefined ? 'never' : Number(milliseconds) / 1000;
    return { ...this.#values, openGraph: this.#openGraph, excerpt: this.#excerpt, redirectAfter };
  }
}
