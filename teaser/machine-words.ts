/**
 * Words of a page to machines: crawlers, search engines, and programs that show previews. The fallback page that stands for it repeats what is
 * on the lists here, and nothing else.
 */

/** Names of `<meta>` that tell machines what they may do, most of them names of crawlers. */
const CRAWLER =
  /^(?:robots|google|google-extended|pinterest|rating|slurp|tdm-reservation|teoma|yandex|[a-z0-9-]{1,30}(?:bot(?:-[a-z]{1,20})?|spider|crawler))$/;
/** Names besides those: keywords, and words by which services know whose site it is. */
const OTHER = /^(?:(?:news_)?keywords|msvalidate\.01|[a-z0-9:_-]{0,40}verif(?:ication|y))$/;
/** Relations that lead to other pages for machines; browsers load none of them. */
const RELATIONS = ['alternate', 'license', 'me', 'next', 'prev'];

const LANGUAGE = /^[A-Za-z0-9-]{0,35}$/;

/** Directives, such as `noindex, max-snippet:20`. */
const DIRECTIVES = /^[a-z0-9_:.,;/ +-]{0,300}$/i;
/** Stands for directives that cannot be repeated. */
const NOTHING_ALLOWED = 'none';

const MAXIMUM_NAMES = 64;
const MAXIMUM_LINKS = 64;
/** Characters of an address; a longer one is left out, since half of it leads nowhere. */
const MAXIMUM_ADDRESS = 2000;

export interface MachineLink {
  /** Relation: `alternate`, `license`, `me`, `next` or `prev`. */
  readonly rel: string;
  readonly href: string;
  /** BCP 47 or `x-default`; empty where there is none. */
  readonly hreflang: string;
  readonly type: string;
}

/** @param name - in lower case */
export function isCrawler(name: string): boolean {
  return CRAWLER.test(name);
}

/** @param name - in lower case */
export function isRepeatedMeta(name: string): boolean {
  return OTHER.test(name);
}

export function isMachineLink({ rel, href, hreflang, type }: MachineLink): boolean {
  if (!RELATIONS.includes(rel) || !/^https?:/.test(href)) return false;
  return LANGUAGE.test(hreflang) && (type === '' || isFeed(type));
}

export function saysNoindex(directives: string): boolean {
  return directives.split(',').some((each) => /^(?:noindex|none)$/i.test(each.trim()));
}

/**
 * Adds what a crawler is told, behind what it was told before: crawlers follow the strictest. Directives that are too long, or none, forbid all.
 *
 * @param name - of the crawler, in lower case
 */
export function addDirectives(robots: Map<string, string>, name: string, directives: string): void {
  if (!robots.has(name) && robots.size >= MAXIMUM_NAMES) return;
  const before = robots.get(name);
  const text = (before === undefined ? directives : `${before}, ${directives}`).replace(/\s+/g, ' ').trim();
  robots.set(name, DIRECTIVES.test(text) ? text : NOTHING_ALLOWED);
}

/** Directives that have a value behind a colon, as crawlers have in front of it in `X-Robots-Tag`. */
const VALUED = /^(?:unavailable_after|max-(?:snippet|image-preview|video-preview))$/;

/** Adds what a header `X-Robots-Tag` says: `noindex, googlebot: nofollow`. What it says to crawlers that are not known goes to all. */
export function addRobotsTag(robots: Map<string, string>, tag: string): void {
  let crawler = 'robots';
  for (const part of tag === '' ? [] : tag.split(',')) {
    const [, given = '', rest = ''] = /^\s*([a-z][^:]*):(.*)$/i.exec(part) ?? [];
    const name = given.trim().toLowerCase();
    const isNamed = name !== '' && !VALUED.test(name);
    if (isNamed) crawler = isCrawler(name) ? name : 'robots';
    addDirectives(robots, crawler, isNamed ? rest : part);
  }
}

export function addMachineLink(
  links: MachineLink[],
  { rel = '', href = '', hreflang = '', type = '' }: Record<string, string>,
): void {
  const relations = rel.toLowerCase().split(/\s+/);
  const relation = relations.find((each) => RELATIONS.includes(each));
  const address = href.trim();
  if (relation === undefined || address === '' || address.length > MAXIMUM_ADDRESS) return;
  const media = type.trim().toLowerCase();
  const feed = isFeed(media) ? media : '';
  const language = LANGUAGE.test(hreflang) ? hreflang : '';
  // Alternates besides these are for other devices, or hold the page's text.
  const isOther = relation === 'alternate' && language === '' && feed === '';
  if (isOther || links.length >= MAXIMUM_LINKS) return;
  links.push({ rel: relation, href: address, hreflang: language, type: feed });
}

/** Tells whether a media type is one of feeds, which programs read without signing in. */
export function isFeed(mediaType: string): boolean {
  return mediaType === 'application/rss+xml' || mediaType === 'application/atom+xml';
}
