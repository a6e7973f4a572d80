/**
 * The fallback page: what a browser without a Reader is shown at a document's own URL. It is not signed, and says only what the
 * document's head and its author's excerpt say. Here are its values; `template.ts` makes HTML of them.
 */
import { type Accent, accentOf } from '../../../core/site/accent.ts';
import { urlPathOf } from '../../../core/site/path.ts';
import { readAddress, shownPath } from '../../../core/site/read-address.ts';
import { writtenPath } from '../../workspace/configuration/content-schema.ts';
import { subscribeUrlOf } from '../../workspace/configuration/look-schema.ts';
import { type Configuration, hasReadingSite } from '../../workspace/configuration/schema.ts';
import type { Teaser } from '../page.ts';
import { shorten } from '../shorten.ts';

/** The values of a fallback page. All are text; nothing in them is markup. */
export interface FallbackPage {
  readonly language: string;
  readonly direction: string;
  readonly title: string;
  readonly description: string;
  readonly canonical: string;
  readonly openGraph: ReadonlyMap<string, string>;
  readonly excerpt: readonly string[];
  /** Who wrote it, and when it was published (ISO 8601); empty where the page does not say. */
  readonly author: string;
  readonly published: string;
  /** Path, as in a URL, of the picture on the site that stands for the document; empty where there is none. */
  readonly picture: string;
  /** The publisher's colour, or wispr's own. */
  readonly accent: Accent;
  /** Path, as in a URL, of the publisher's logo; empty where there is none. */
  readonly logo: string;
  /** Where people subscribe; empty where there is no such address. */
  readonly subscribe: string;
  /** What the publisher calls itself. */
  readonly publisher: string;
  /** Host name, for the link that opens the document in a Reader; empty where no Reader can. */
  readonly site: string;
  /** The same document on the reading site. */
  readonly reading: string;
}

/** What a fallback page needs to know of its site. */
export interface FallbackSettings {
  readonly publisher: string;
  /** Host name. */
  readonly site: string;
  /** Origin of the content host, for the canonical link. */
  readonly content: string;
  /** Origin of the reading site. */
  readonly reading: string;
  /** Whether there is no key server. */
  readonly serverless?: boolean | undefined;
  /** BCP 47: of pages that name none; English if left out. */
  readonly language?: string | undefined;
  /** As the signed settings have them. */
  readonly accent?: string | undefined;
  /** Path of a public picture. */
  readonly logo?: string | undefined;
  readonly subscribe?: string | undefined;
  /** Whether pictures of the site that pages name for previews are public. Default: `public`. */
  readonly previews?: 'public' | 'none' | undefined;
}

/** What a configuration says of fallback pages. */
export function fallbackSettingsOf(configuration: Configuration): FallbackSettings {
  const { site, name = site, content, reading, fallback, accent, logo, subscribe, previews } = configuration;
  return {
    publisher: name,
    site,
    content: (typeof content === 'string' ? content : content[0]) ?? `https://${site}`,
    reading,
    ...(!hasReadingSite(configuration) && { serverless: true }),
    language: fallback.language,
    accent,
    logo: logo === undefined ? undefined : writtenPath(logo),
    subscribe: subscribe === undefined ? undefined : subscribeUrlOf(subscribe),
    previews,
  };
}

/** Characters that a fallback page shows, so that it stays small. */
const SHOWN = { title: 150, description: 300, excerpt: 900 } as const;

/** The fallback page of the document at `path`. */
export function fallbackPageOf(path: string, teaser: Teaser, settings: FallbackSettings): FallbackPage {
  const {
    publisher,
    site,
    content,
    reading,
    serverless = false,
    language = 'en',
    accent,
    logo,
    subscribe = '',
  } = settings;
  const urlPath = shownPath(urlPathOf(path));
  const { image, picture } = previewOf(path, teaser, settings);
  const openGraph = new Map(Array.from(teaser.openGraph, ([name, text]) => [name, shorten(text, SHOWN.description)]));
  if (image !== '') openGraph.set('og:image', image);
  else openGraph.delete('og:image');
  return {
    language: teaser.language || language,
    direction: teaser.direction,
    title: shorten(teaser.title, SHOWN.title) || publisher,
    description: shorten(teaser.description, SHOWN.description),
    canonical: canonicalUrl(teaser.canonical, content + urlPath),
    openGraph,
    excerpt: shortenAll(teaser.excerpt, SHOWN.excerpt),
    author: shorten(teaser.author, SHOWN.title),
    published: teaser.published,
    picture,
    accent: accentOf(accent),
    logo: logo === undefined ? '' : urlPathOf(logo),
    subscribe,
    publisher,
    site: serverless ? '' : site,
    reading: readAddress(reading, urlPath, serverless),
  };
}

/** Of an address; a longer one is left out, since half of it leads nowhere. */
const MAXIMUM_IMAGE = 2000;

/**
 * The picture of a document, for programs that show previews, and for the page itself: that one only where it is the site's own, because a
 * page loads nothing from others.
 */
function previewOf(path: string, { openGraph }: Teaser, { site, content, previews }: FallbackSettings) {
  const given = openGraph.get('og:image') ?? '';
  const own = `http://${site}${urlPathOf(path)}`;
  const url =
    given !== '' && given.length < MAXIMUM_IMAGE && URL.canParse(given, own) ? new URL(given, own) : undefined;
  if (url === undefined || !isWeb(url)) return { image: '', picture: '' };
  if (url.hostname !== site && url.origin !== content) return { image: url.href, picture: '' };
  const picture = url.pathname + url.search;
  return previews === 'none' ? { image: '', picture: '' } : { image: content + picture, picture };
}

function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:';
}

/** The publisher's own canonical URL where the page has one; only http and https, so that no script hides in it. */
function canonicalUrl(given: string, own: string): string {
  const url = given !== '' && URL.canParse(given, own) ? new URL(given, own) : undefined;
  return url && isWeb(url) ? url.href : own;
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
