/**
 * Tries a publisher's template for fallback pages: whatever words documents bring, its pages must have the same elements, scripts, styles and
 * links. Fallback pages lie on the site's own host, where a script in a title could read everything.
 */
import { Parser } from 'htmlparser2';
import { BUILT_IN_ACCENT } from '../../../core/site/accent.ts';
import type { Bar } from '../../../teaser/bar.ts';
import type { FallbackPage } from '../../../teaser/fallback-page.ts';
import { OPEN_GRAPH } from '../../../teaser/page.ts';
import { scriptOf } from '../../../teaser/script.ts';

const READING = 'https://read.news.example/a/b%20c.html';
const HOSTILE = `"'><x-wispr a=b onload=c>&lt;x&gt; \\ \`\${1}</title></script></style></textarea>--><!-- \u2028\n{{`;

/** A crawler that no template knows of. */
const CRAWLER = 'examplebot';
const ROBOTS =
  '<% for (const [name, content] of it.robots) { %><meta name="<%= name %>" content="<%= content %>"><% } %>';

/** Attributes that hold words, not programs or addresses to be followed. */
const WORDS = /^(?:content|alt|title|label|lang|dir|aria-[a-z]+|data-[a-z-]+)$/;
/** Attributes whose address only shows something. */
const SHOWN: Readonly<Record<string, RegExp>> = {
  img: /^(?:src|srcset)$/,
  source: /^(?:src|srcset)$/,
  video: /^(?:src|poster)$/,
  audio: /^src$/,
};

/**
 * @param make - renders a page
 * @returns why the template is refused; `undefined` if it is good
 */
export function problemOfTemplate(make: (page: FallbackPage, bar: Bar) => string): string | undefined {
  const expected = skeletonOf(make(pageOf('words'), barOf('words')));
  const missing = problemOfParts(expected);
  if (missing !== undefined) return missing;
  if (!expected.parts.some((part) => part.startsWith('<meta ') && part.includes(` name=${CRAWLER}`)))
    return `pages that search engines are to leave out would lose that word: add ${ROBOTS}`;
  const hostile = skeletonOf(make(pageOf(HOSTILE), barOf(HOSTILE)));
  if (hostile.badJson) return "a document's words can break its structured data: use <%~ it.jsonLd %>";
  const index = hostile.parts.findIndex((part, at) => part !== expected.parts[at]);
  if (index >= 0 || hostile.parts.length !== expected.parts.length) {
    return `a document's words can change more of its page than text, near ${expected.parts[index] ?? 'the end'}`;
  }
  const missingInBare = problemOfParts(skeletonOf(make(BARE, BARE_BAR)));
  return missingInBare && `${missingInBare} (in a page without description and excerpt)`;
}

function pageOf(words: string): FallbackPage {
  return {
    language: 'en',
    direction: '',
    title: words || 'title',
    description: words,
    canonical: 'http://news.example/a/b%20c.html',
    openGraph: new Map(OPEN_GRAPH.map((property) => [property, words])),
    robots: new Map([CRAWLER, 'robots'].map((name) => [name, words])),
    meta: new Map([['keywords', words]]),
    links: [{ rel: 'alternate', href: 'https://news.example/de/', hreflang: 'de', type: 'application/rss+xml' }],
    structured: { '@type': 'Article', keywords: [words] },
    excerpt: [words, words],
    author: words,
    published: '2026-11-16',
    date: words,
    picture: '/a/b%20c.jpg',
    accent: BUILT_IN_ACCENT,
    logo: '/logo.svg',
    publisher: words || 'publisher',
    site: 'news.example',
    reading: READING,
    redirect: 'readers',
  };
}

function barOf(words: string): Bar {
  const link = { text: words, url: 'https://read.news.example/-/subscribe?to=/a/b%2520c.html' };
  return { language: '', title: words, lead: words, button: link, links: [link, link] };
}

/** A page without all that can be missing. */
const BARE: FallbackPage = {
  ...pageOf(''),
  ...{ openGraph: new Map(), robots: new Map(), meta: new Map(), links: [], structured: {} },
  excerpt: [],
  ...{ published: '', date: '', picture: '', logo: '' },
};
const BARE_BAR: Bar = {
  ...barOf(''),
  language: 'en',
  title: 'title',
  button: { text: 'Read', url: READING },
  links: [],
};

function problemOfParts({ parts, scripts }: Skeleton): string | undefined {
  const isRead = (part: string) =>
    part.startsWith('<a ') && part.includes(` id=read`) && part.includes(` href=${READING}`);
  if (!parts.some(isRead)) return 'it has no Read link: <a id="read" href="<%= it.reading %>">';
  if (!scripts.includes(scriptOf('readers')))
    return 'the Read link would lose query and fragment without <script><%~ it.script %></script>';
  return undefined;
}

interface Skeleton {
  /** Parts of a page other than words. */
  readonly parts: readonly string[];
  readonly scripts: readonly string[];
  readonly badJson: boolean;
}

function skeletonOf(html: string): Skeleton {
  const reader = new SkeletonReader();
  new Parser(reader, { decodeEntities: true }).end(html);
  return reader;
}

class SkeletonReader implements Skeleton {
  readonly parts: string[] = [];
  readonly scripts: string[] = [];
  badJson = false;
  #inside: 'script' | 'style' | 'json' | undefined;
  #text = '';

  onopentag(name: string, attributes: Record<string, string>): void {
    const refresh = 'http-equiv' in attributes;
    const isWord = (attribute: string) =>
      (WORDS.test(attribute) && !refresh) || (Object.hasOwn(SHOWN, name) && SHOWN[name]?.test(attribute));
    const shown = Object.entries(attributes).map(([attribute, value]) =>
      isWord(attribute) ? ` ${attribute}` : ` ${attribute}=${value}`,
    );
    this.parts.push(`<${name}${shown.join('')}>`);
    this.#text = '';
    if (name === 'style') this.#inside = 'style';
    if (name === 'script') this.#inside = attributes.type === 'application/ld+json' ? 'json' : 'script';
  }

  ontext(text: string): void {
    if (this.#inside !== undefined) this.#text += text;
  }

  onclosetag(name: string): void {
    this.parts.push(`</${name}>`);
    if (name !== 'script' && name !== 'style') return;
    if (this.#inside === 'json') this.#json();
    else this.parts.push(this.#text);
    if (this.#inside === 'script') this.scripts.push(this.#text);
    this.#inside = undefined;
  }

  #json(): void {
    try {
      JSON.parse(this.#text);
    } catch {
      this.badJson = true;
    }
  }
}
