/**
 * The fallback page: what a browser without a Reader is shown at a document's own URL. It is not signed, and says only what the
 * document's head and its author's excerpt say. Here are its values; `template.ts` makes HTML of them.
 */
import type { OfferedPlan } from '../core/publication/offers.ts';
import { type Accent, accentOf } from '../core/site/accent.ts';
import { urlPathOf } from '../core/site/path.ts';
import { readAddress, shownPath } from '../core/site/read-address.ts';
import { addRobotsTag, type MachineLink } from './machine-words.ts';
import type { Teaser } from './page.ts';
import { shorten } from './shorten.ts';
import type { StructuredData } from './structured-data.ts';

/** The values of a fallback page. All are text; nothing in them is markup. */
export interface FallbackPage {
  readonly language: string;
  readonly direction: string;
  readonly title: string;
  readonly description: string;
  readonly canonical: string;
  readonly openGraph: ReadonlyMap<string, string>;
  /** Links as {@link Teaser} has them, with absolute addresses. */
  readonly robots: ReadonlyMap<string, string>;
  readonly meta: ReadonlyMap<string, string>;
  readonly links: readonly MachineLink[];
  readonly structured: StructuredData;
  readonly excerpt: readonly string[];
  /** Author, and time of publication (ISO 8601); empty where the page does not say. */
  readonly author: string;
  readonly published: string;
  /** Day as readers write it, in the language of the page. */
  readonly date: string;
  /** Path, as in a URL, of the picture on the site that stands for the document; empty where there is none. */
  readonly picture: string;
  readonly accent: Accent;
  /** Path, as in a URL, of the publisher's logo; empty where there is none. */
  readonly logo: string;
  readonly publisher: string;
  /** Host name, for the link that opens the document in a Reader; empty where no Reader can. */
  readonly site: string;
  readonly reading: string;
  /** People whom it leads on there at once. */
  readonly redirect: 'readers' | 'always' | 'never';
}

export interface FallbackSettings {
  readonly publisher: string;
  readonly site: string;
  /** Origin of the content host, for the canonical link. */
  readonly content: string;
  readonly reading: string;
  readonly serverless?: boolean | undefined;
  /** BCP 47: of pages that name none; English if left out. */
  readonly language?: string | undefined;
  readonly accent?: string | undefined;
  readonly logo?: string | undefined;
  /** Plans of the bar, as the signed settings have them. */
  readonly plans?: readonly OfferedPlan[] | undefined;
  readonly subscribe?: string | undefined;
  readonly redirect?: FallbackPage['redirect'] | undefined;
  /** Tells whether pictures of the site that pages name for previews are public. Default: `public`. */
  readonly previews?: 'public' | 'none' | undefined;
}

/** Characters that a fallback page shows, so that it stays small. */
const SHOWN = { title: 150, description: 300, excerpt: 900 } as const;

/** Makes the fallback page of the document at `path`. @param headers - of the document, names in lower case */
export function fallbackPageOf(
  path: string,
  teaser: Teaser,
  settings: FallbackSettings,
  headers: Readonly<Record<string, string | undefined>> = {},
): FallbackPage {
  const {
    publisher,
    site,
    content,
    reading,
    serverless = false,
    language = 'en',
    accent,
    logo,
    redirect = 'readers',
  } = settings;
  const urlPath = shownPath(urlPathOf(path));
  const own = content + urlPath;
  const base = baseOf(teaser.base, own);
  const robots = new Map(teaser.robots);
  addRobotsTag(robots, headers['x-robots-tag'] ?? '');
  const { openGraph, picture } = previewOf(teaser, base, settings);
  const shownLanguage = teaser.language || language;
  return {
    language: shownLanguage,
    direction: teaser.direction,
    title: shorten(teaser.title, SHOWN.title) || publisher,
    description: shorten(teaser.description, SHOWN.description),
    canonical: webUrl(teaser.canonical, base)?.href ?? own,
    openGraph,
    robots,
    meta: shortenEach(teaser.meta),
    links: linksOf(teaser.links, base),
    structured: teaser.structured,
    excerpt: shortenAll(teaser.excerpt, SHOWN.excerpt),
    author: shorten(teaser.author, SHOWN.title),
    published: teaser.published,
    date: dateOf(teaser.published, shownLanguage),
    picture,
    accent: accentOf(accent),
    logo: logo === undefined ? '' : urlPathOf(logo),
    publisher,
    site: serverless ? '' : site,
    reading: readAddress(reading, urlPath, serverless),
    redirect,
  };
}

/** A day as people write it: `Tuesday 17 November 2026`, whatever their clock says. @param published - as ISO 8601 writes it; may be empty */
function dateOf(published: string, language: string): string {
  const day = new Date(published.slice(0, '2026-11-17'.length)); // leaves out its time: the day is that where it was written
  if (Number.isNaN(day.getTime())) return '';
  const form = { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' } as const;
  try {
    if (language !== 'en') return day.toLocaleDateString(language, form);
  } catch {} // is no language
  return day.toLocaleDateString('en-GB', form).replace(',', '');
}

/** Characters of an address; a longer one is left out, since half of it leads nowhere. */
const MAXIMUM_ADDRESS = 2000;
/** Characters of the addresses of all links of a page. */
const LINKS = 8000;

/**
 * Facts for programs that show previews, and the picture of the page itself: that one only where it is the site's own, because a page loads
 * nothing from others. Only `og:image` makes a picture of the site public, so that other cards have that one or none.
 */
function previewOf(teaser: Teaser, base: string, { site, content, previews }: FallbackSettings) {
  const openGraph = shortenEach(teaser.openGraph);
  const isOwn = (url: URL) => url.hostname === site || url.origin === content;
  const publicUrl = (url: URL) => (isOwn(url) ? content + url.pathname + url.search : url.href);
  const put = (name: string, text: string | undefined) => {
    if (text === undefined) openGraph.delete(name);
    else openGraph.set(name, text);
  };
  const addressOf = (name: string) => webUrl(teaser.openGraph.get(name) ?? '', base);
  const given = addressOf('og:image');
  const image = given && isOwn(given) && previews === 'none' ? undefined : given;
  const card = addressOf('twitter:image');
  put('og:url', addressOf('og:url')?.href);
  put('og:image', image && publicUrl(image));
  put('twitter:image', card && (!isOwn(card) || card.href === image?.href) ? publicUrl(card) : undefined);
  if (image !== undefined) put('twitter:card', openGraph.get('twitter:card') ?? 'summary_large_image');
  else for (const name of openGraph.keys()) if (name.startsWith('og:image:')) openGraph.delete(name);
  return { openGraph, picture: image && isOwn(image) ? image.pathname + image.search : '' };
}

/** An absolute URL of http or https, so that no script hides in it; `undefined` for anything else. */
function webUrl(given: string, base: string): URL | undefined {
  const url =
    given !== '' && given.length < MAXIMUM_ADDRESS && URL.canParse(given, base) ? new URL(given, base) : undefined;
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url : undefined;
}

function linksOf(links: readonly MachineLink[], base: string): MachineLink[] {
  let left = LINKS;
  return links.flatMap((link) => {
    const href = webUrl(link.href, base)?.href;
    if (href === undefined || href.length > left) return [];
    left -= href.length;
    return [{ ...link, href }];
  });
}

function shortenEach(texts: ReadonlyMap<string, string>): Map<string, string> {
  return new Map(Array.from(texts, ([name, text]) => [name, shorten(text, SHOWN.description)]));
}

function shortenAll(paragraphs: readonly string[], length: number): string[] {
  const shown: string[] = [];
  for (const paragraph of paragraphs) {
    const left = length - shown.reduce((sum, text) => sum + text.length, 0);
    if (left <= 0) break;
    shown.push(shorten(paragraph, left));
  }
  return shown;
}

/** Finds what addresses on a page are relative to. @param base - from `<base href>`; empty where there is none @param own - URL of the page */
export function baseOf(base: string, own: string): string {
  return base !== '' && URL.canParse(base, own) ? new URL(base, own).href : own;
}
