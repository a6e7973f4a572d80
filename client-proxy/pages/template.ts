/** The one template of the Reader's pages. Eta escapes every value; nothing is ever put in unescaped. */
import { createHash } from 'node:crypto';
import { Eta } from 'eta';

/** Everything a page can show; what is left out is not there. */
export interface Page {
  readonly title: string;
  readonly lead: string;
  /** What to do about it. */
  readonly advice?: readonly string[];
  /** The one way on. */
  readonly action?: { readonly text: string; readonly url: string } | undefined;
  readonly sites?: readonly ListedSite[];
  /** Small print: name and value. */
  readonly facts?: readonly (readonly [name: string, value: string])[];
}

export interface ListedSite {
  readonly site: string;
  readonly publisher: string;
  readonly url: string;
  /** How its publication is, in a few words. */
  readonly state: string;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6875; --paper: #fbfaf7; --card: #fff; --line: #dfe3e7; --accent: #0b5d66; --on-accent: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaee; --soft: #9aa7b3; --paper: #12171c; --card: #1a2128; --line: #2d3741; --accent: #6fc3cc; --on-accent: #0c1216 }
}
* { box-sizing: border-box }
body { margin: 0; padding: clamp(1rem, 6vh, 5rem) 1rem; background: var(--paper); color: var(--ink); font: 1.0625rem/1.6 system-ui, sans-serif }
main { max-width: 38rem; margin: 0 auto; padding: clamp(1.25rem, 5vw, 2.75rem); background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere }
.brand { margin: 0 0 1.5rem; color: var(--soft); font-size: .8125rem; font-weight: 600; letter-spacing: .08em; text-transform: uppercase }
h1 { margin: 0 0 .75rem; font: 600 1.625rem/1.25 Georgia, 'Times New Roman', serif }
h2 { margin: 1.75rem 0 .5rem; font-size: .9375rem }
p { margin: 0 0 1rem }
ul { margin: 0; padding-left: 1.25rem }
.action { margin: 1.75rem 0 0 }
.action a { display: inline-block; padding: .6rem 1.1rem; border-radius: 8px; background: var(--accent); color: var(--on-accent); font-weight: 600; text-decoration: none }
.action a:focus-visible, .sites a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
.sites { list-style: none; padding: 0; border-top: 1px solid var(--line) }
.sites a { display: block; padding: .8rem 0; border-bottom: 1px solid var(--line); color: var(--accent); font-weight: 600; text-decoration: none }
.sites a:hover { text-decoration: underline }
.sites span { display: block; color: var(--soft); font-size: .875rem; font-weight: 400 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; margin: 2rem 0 0; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .875rem }
dt { font-weight: 600 }
dd { margin: 0 }
code { font: .9375em/1.5 ui-monospace, 'DejaVu Sans Mono', monospace }
`;

const TEMPLATE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title><%= it.page.title %></title>
<style><%~ it.style %></style>
</head>
<body>
<main>
<p class="brand">wispr Reader</p>
<h1><%= it.page.title %></h1>
<p><%= it.page.lead %></p>
<% if (it.page.sites) { %>
<ul class="sites">
<% for (const site of it.page.sites) { %>
<li><a href="<%= site.url %>"><%= site.site %><span><%= site.publisher %></span><span><%= site.state %></span></a></li>
<% } %>
</ul>
<% } %>
<% if (it.page.advice) { %>
<h2>What you can do</h2>
<ul>
<% for (const advice of it.page.advice) { %>
<li><%= advice %></li>
<% } %>
</ul>
<% } %>
<% if (it.page.action) { %>
<p class="action"><a href="<%= it.page.action.url %>" rel="noreferrer"><%= it.page.action.text %></a></p>
<% } %>
<% if (it.page.facts) { %>
<dl>
<% for (const [name, value] of it.page.facts) { %>
<dt><%= name %></dt><dd><code><%= value %></code></dd>
<% } %>
</dl>
<% } %>
</main>
</body>
</html>
`;

const eta = new Eta({ autoEscape: true });
eta.loadTemplate('@page', TEMPLATE);

/** HTML of a page. */
export function renderPage(page: Page): string {
  return eta.render('@page', { page, style: STYLE });
}

/** The headers of every page: nothing runs, nothing loads, nothing is kept. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;
