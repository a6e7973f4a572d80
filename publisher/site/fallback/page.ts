/**
 * The fallback page: what a browser without a Reader is shown at a document's own URL. It is not signed, and says only what the
 * document's head and its author's excerpt say. Here are its values; `template.ts` makes HTML of them.
 */
import { urlPathOf } from '../../../core/site/path.ts';
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
  /** What the publisher calls itself. */
  readonly publisher: string;
  /** Host name, for the link that opens the document in a Reader. */
  readonly site: string;
  /** The same document on the reading site. */
  readonly reading: string;
  /** Seconds until the page leads there by itself. */
  readonly redirectAfter: number | 'never';
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
  readonly redirectAfter: number | 'never';
  /** BCP 47: of pages that name none; English if left out. */
  readonly language?: string | undefined;
}

/** Characters that a fallback page shows, so that it stays small. */
const SHOWN = { title: 150, description: 300, excerpt: 900 } as const;

const INDEX = /(?<=\/)index\.html$/;

/** The fallback page of the document at `path`. */
export function fallbackPageOf(path: string, teaser: Teaser, settings: FallbackSettings): FallbackPage {
  const { publisher, site, content, reading, redirectAfter, language = 'en' } = settings;
  const urlPath = urlPathOf(path).replace(INDEX, '');
  return {
    language: teaser.language || language,
    direction: teaser.direction,
    title: shorten(teaser.title, SHOWN.title) || publisher,
    description: shorten(teaser.description, SHOWN.description),
    canonical: canonicalUrl(teaser.canonical, content + urlPath),
    openGraph: new Map(Array.from(teaser.openGraph, ([name, text]) => [name, shorten(text, SHOWN.description)])),
    excerpt: shortenAll(teaser.excerpt, SHOWN.excerpt),
    publisher,
    site,
    reading: reading + urlPath,
    redirectAfter,
  };
}

/** The publisher's own canonical URL where the page has one; only http and https, so that no script hides in it. */
function canonicalUrl(given: string, own: string): string {
  const url = given !== '' && URL.canParse(given, own) ? new URL(given, own) : undefined;
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : own;
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
