/** Makes HTML of a teaser: by wispr's own template, and by those of publishers, which see the same values. */
import { Eta } from 'eta';
import { openInReaderUrl } from '../core/site/open-in-reader.ts';
import type { Bar } from './bar.ts';
import { BUILT_IN_TEMPLATE } from './built-in.ts';
import type { FallbackPage } from './fallback-page.ts';
import { scriptOf } from './script.ts';
import { describingData } from './structured-data.ts';
import { teaserStyle } from './style.ts';
import { wordsFor } from './words.ts';

/** Values that may be written without escaping: made here, and safe as it comes. */
const RAW_VALUES = ['it.jsonLd', 'it.script', 'it.style'];

export interface FallbackTemplate {
  /** The page as HTML. @throws PublishError `configuration-invalid`: only a publisher's own template can fail */
  render(page: FallbackPage, bar: Bar): string;
}

interface TemplateNode {
  readonly t: string;
  readonly val: string;
}

const { escapeFunction: escaped } = new Eta().config;

/** Refuses a value that is not there: it would stand in the page as the word "undefined". */
function escapeValue(value: unknown): string {
  if (value !== undefined && value !== null) return escaped(value as string);
  throw new Error(
    'one of its <%= … %> writes a value that is not there: check its spelling, or ask for it first, with <% if (…) { %>',
  );
}

/** Compiles templates: their values are escaped, and nothing that is not there is written. */
export const templates = new Eta({
  autoEscape: true,
  escapeFunction: escapeValue,
  autoTrim: false,
  plugins: [{ processAST: (nodes) => nodes.map((node) => (typeof node === 'string' ? node : checkNode(node))) }],
});

const builtIn = templates.compile(BUILT_IN_TEMPLATE);

/** A page by wispr's own template, for content hosts and for the reading site. @param options - `script`: whether it has one; else it never leads on */
export function renderTeaser(page: FallbackPage, bar: Bar, { script }: { readonly script: boolean }): string {
  return templates.render(builtIn, valuesOf(script ? page : { ...page, redirect: 'never' }, bar, script));
}

export const builtInTemplate: FallbackTemplate = { render: (page, bar) => renderTeaser(page, bar, { script: true }) };

/** Gives templates their `it`; any other name is an error. */
export function valuesOf(page: FallbackPage, bar: Bar, script = true): object {
  const { host, pathname } = new URL(page.reading);
  const words = wordsFor(page.language, host);
  const values = {
    ...page,
    bar: { field: undefined, button: undefined, ...bar },
    section: page.openGraph.get('article:section') ?? '',
    headline: headlineOf(page),
    host,
    reader: page.site === '' ? '' : openInReaderUrl(page.site, pathname),
    // A quotation mark would end the address (WHATWG HTML, "shared declarative refresh steps").
    refresh: page.redirect === 'always' ? `1;URL='${page.reading.replaceAll("'", '%27')}'` : '',
    words: page.site === '' ? { ...words, note: words.invitation } : words,
    jsonLd: jsonLd(page),
    style: teaserStyle(page.accent),
    script: script ? scriptOf(page.redirect) : '',
  };
  return new Proxy(values, {
    get: (known, name) => {
      if (typeof name === 'symbol' || Object.hasOwn(known, name)) return Reflect.get(known, name);
      throw new Error(`there is no it.${name}; there are ${Object.keys(known).sort().join(', ')}`);
    },
  });
}

export function headlineOf({ openGraph, title }: Pick<FallbackPage, 'openGraph' | 'title'>): string {
  return openGraph.get('og:title') || title;
}

/** Class of what stands in for the part of the document that is not free. */
const PAID = 'wispr-paid';

/**
 * Structured data for search engines, as https://developers.google.com/search/docs/appearance/structured-data/paywalled-content wants it.
 * `<` is written so that no text can end the script.
 */
function jsonLd(page: FallbackPage): string {
  const { title, description, canonical, openGraph, author, published, publisher, structured } = page;
  const image = openGraph.get('og:image');
  const type = String(structured['@type'] ?? (openGraph.get('og:type') === 'website' ? 'WebPage' : 'NewsArticle'));
  const isArticle = /(?:Article|Posting)$/.test(type);
  const described = describingData({
    '@type': type,
    ...(isArticle ? { headline: headlineOf(page) } : { name: title }),
    ...(description && { description }),
    ...(published && { datePublished: published }),
    ...(author && { author: { '@type': 'Person', name: author } }),
    ...structured,
  });
  const data = {
    '@context': 'https://schema.org',
    ...described,
    ...(image && { image: [image] }),
    publisher: { '@type': 'Organization', name: publisher },
    url: canonical,
    isAccessibleForFree: false,
    hasPart: { '@type': 'WebPageElement', isAccessibleForFree: false, cssSelector: `.${PAID}` },
  };
  return JSON.stringify(data)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

/** Lets nothing go unescaped but what is known to be safe. */
function checkNode<Node extends TemplateNode>(node: Node): Node {
  if (node.t !== 'r' || RAW_VALUES.includes(node.val.trim())) return node;
  throw new Error(`only ${RAW_VALUES.join(' and ')} may be written with <%~ %>, and not ${node.val.trim()}`);
}
