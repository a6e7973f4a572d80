/**
 * The fallback page: what a browser without a Reader is shown at a document's own URL. It is not signed, and says only what the
 * document's head and its author's excerpt say. It is made from a few values by one template, so that whoever finds such a page on
 * a host can make it again and compare (`verify/fallback-check.ts`).
 */
import { Eta } from 'eta';
import { urlPathOf } from '../core/site/path.ts';
import type { Teaser } from './site/page.ts';

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
  /** The same document on the reading site. */
  readonly reading: string;
  /** Seconds until the page leads there by itself. */
  readonly redirectAfter: number | 'never';
}

/** What a fallback page needs to know of its site. */
export interface FallbackSettings {
  readonly publisher: string;
  /** Origin of the content host, for the canonical link. */
  readonly content: string;
  /** Origin of the reading site. */
  readonly reading: string;
  readonly redirectAfter: number | 'never';
}

/** Characters that a fallback page shows, so that it stays small. */
const SHOWN = { title: 150, description: 300, excerpt: 900 } as const;

const INDEX = /(?<=\/)index\.html$/;

/** The fallback page of the document at `path`. */
export function fallbackPageOf(path: string, teaser: Teaser, settings: FallbackSettings): FallbackPage {
  const { publisher, content, reading, redirectAfter } = settings;
  const urlPath = urlPathOf(path).replace(INDEX, '');
  return {
    language: teaser.language || 'en',
    direction: teaser.direction,
    title: shorten(teaser.title, SHOWN.title) || publisher,
    description: shorten(teaser.description, SHOWN.description),
    canonical: canonicalUrl(teaser.canonical, content + urlPath),
    openGraph: new Map(Array.from(teaser.openGraph, ([name, text]) => [name, shorten(text, SHOWN.description)])),
    excerpt: shortenAll(teaser.excerpt, SHOWN.excerpt),
    publisher,
    reading: reading + urlPath,
    redirectAfter,
  };
}

/** The page as HTML. */
export function renderFallbackPage(page: FallbackPage): string {
  return eta.render(template, { ...page, host: new URL(page.reading).host, jsonLd: jsonLd(page) });
}

/** The publisher's own canonical URL where the page has one; only http and https, so that no script hides in it. */
function canonicalUrl(given: string, own: string): string {
  const url = given !== '' && URL.canParse(given, own) ? new URL(given, own) : undefined;
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : own;
}

/** Structured data for search engines: the page is not free to read. `<` is written so that no text can end the script. */
function jsonLd({ title, description, canonical }: FallbackPage): string {
  const data = {
    '@context': 'https://schema.org',
    '@type': 'WebPage',
    name: title,
    ...(description && { description }),
    url: canonical,
    isAccessibleForFree: false,
  };
  return JSON.stringify(data)
    .replaceAll('<', '\\u003c')
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
}

function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length).toWellFormed();
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), length / 2))}…`;
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

const eta = new Eta({ autoEscape: true, autoTrim: false });

// Every value goes through the template's escaping (<%= %>) but the structured data, which is escaped above (<%~ %>).
const template = eta.compile(`<!doctype html>
<html lang="<%= it.language %>"<% if (it.direction) { %> dir="<%= it.direction %>"<% } %>>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="wispr fallback page">
<title><%= it.title %></title>
<% if (it.description) { %><meta name="description" content="<%= it.description %>">
<% } %><% for (const [property, content] of it.openGraph) { %><meta property="<%= property %>" content="<%= content %>">
<% } %><link rel="canonical" href="<%= it.canonical %>">
<link rel="icon" href="data:,">
<script type="application/ld+json"><%~ it.jsonLd %></script>
<% if (it.redirectAfter !== 'never') { %><noscript><meta http-equiv="refresh" content="<%= it.redirectAfter %>;url=<%= it.reading %>"></noscript>
<% } %><style>
:root{color-scheme:light dark;--ink:#1c1b19;--soft:#6a665f;--paper:#faf8f4;--line:#dcd7cd;--go:#0b5a4a;--on:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#eceae5;--soft:#a09b92;--paper:#171614;--line:#37342f;--go:#7fd4bf;--on:#10201c}}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--paper);color:var(--ink);font:1.0625rem/1.6 Georgia,"Times New Roman",serif}
main{box-sizing:border-box;width:min(38rem,100%);padding:3rem 1.5rem}
small,.go{font-family:system-ui,sans-serif}
small{color:var(--soft);font-size:.875rem}
h1{font-size:clamp(1.6rem,5vw,2.3rem);line-height:1.2;margin:.4rem 0 1rem;overflow-wrap:anywhere}
.about{color:var(--soft);font-style:italic}
.excerpt{border-top:1px solid var(--line);padding-top:.4rem;-webkit-mask:linear-gradient(#000 60%,#0006);mask:linear-gradient(#000 60%,#0006)}
.go{display:inline-block;margin:1.2rem 0 .8rem;padding:.7rem 1.8rem;border-radius:.4rem;background:var(--go);color:var(--on);font-weight:600;text-decoration:none}
.go:focus-visible{outline:3px solid var(--ink);outline-offset:3px}
</style>
</head>
<body>
<main>
<small class="from"><%= it.publisher %></small>
<h1><%= it.openGraph.get('og:title') || it.title %></h1>
<% if (it.description) { %><p class="about"><%= it.description %></p>
<% } %><% if (it.excerpt.length > 0) { %><div class="excerpt">
<% for (const paragraph of it.excerpt) { %><p><%= paragraph %></p>
<% } %></div>
<% } %><a class="go" id="read" href="<%= it.reading %>" lang="en">Read</a>
<p><small lang="en"><% if (it.redirectAfter === 'never') { %>For subscribers, at <%= it.host %>.<% } else { %>For subscribers. Taking you to <%= it.host %> …<% } %></small></p>
</main>
<script>
var a=document.getElementById("read");a.href+=location.search+location.hash<% if (it.redirectAfter !== 'never') { %>
setTimeout(function(){location.replace(a.href)},<%= it.redirectAfter * 1000 %>)<% } %>
</script>
</body>
</html>
`);
