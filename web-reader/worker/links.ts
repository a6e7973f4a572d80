/** Links of pages and style sheets: what they load and lead to, enough to keep what belongs to them. A browser that runs scripts may find more. */
import { SRCSET_CANDIDATE } from '../../core/site/srcset.ts';

/** Characters of a text that are searched; no expression here goes over a text more than once. */
const SEARCHED = 1_048_576;

const TAG = /<[a-z]+\s([^<>]*)>/gi;
const ATTRIBUTE = /\b(?:src|href|poster|srcset|data)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;
const STYLE = /url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)/gi;

/** Characters of a title. */
export const LONGEST_TITLE = 200;

/** @param base - URL path of the page. @returns paths on the same site, with their queries, each once */
export function linksIn(text: string, base: string): Set<string> {
  const { origin } = self.location;
  const seen = text.slice(0, SEARCHED);
  const links = new Set<string>();
  const add = (link: string | undefined) => {
    const url = link && URL.canParse(link, origin + base) ? new URL(link, origin + base) : undefined;
    if (url?.origin === origin) links.add(url.pathname + url.search);
  };
  for (const [, attributes = ''] of seen.matchAll(TAG)) {
    for (const [name, one, two, three] of attributes.matchAll(ATTRIBUTE)) {
      const value = (one ?? two ?? three ?? '').replaceAll('&amp;', '&');
      if (name.startsWith('srcset')) for (const [, url] of value.matchAll(SRCSET_CANDIDATE)) add(url);
      else add(value);
    }
  }
  for (const [, one, two] of seen.matchAll(STYLE)) add(one ?? two);
  return links;
}

/** The title of a page in HTML; empty where it has none. */
export function titleOf(html: string): string {
  const [, title = ''] = /<title[^<>]*>([^<]*)/i.exec(html.slice(0, SEARCHED)) ?? [];
  return title.trim().slice(0, LONGEST_TITLE);
}
