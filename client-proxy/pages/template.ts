/** The one template of the Reader's pages. Eta escapes every value; nothing but the style sheet and finished parts is put in unescaped. */
import { Eta } from 'eta';
import { ATTRIBUTES_TEMPLATE, FORM_TEMPLATE, type PageForm } from './form.ts';
import { STYLE, STYLE_SOURCE } from './style.ts';
import { FRAME_TEXT } from './texts-control.ts';

/** Everything a page can show; what is left out is not there. */
export interface Page {
  readonly title: string;
  readonly lead?: string | undefined;
  /** What just went wrong, on a page that can be used all the same; takes the focus. */
  readonly alert?: PageAlert | undefined;
  /** What was just done; takes the focus. */
  readonly status?: string | undefined;
  /** Below the lead, in small letters. */
  readonly note?: string | undefined;
  /** What to do about it, and another heading for that than the usual. */
  readonly advice?: readonly string[];
  readonly adviceTitle?: string;
  readonly form?: PageForm | undefined;
  /** The one way on. */
  readonly action?: { readonly text: string; readonly url: string } | undefined;
  /** The address that this document has for everybody: to be copied. */
  readonly publicLink?: string | undefined;
  /** Small print: name and value. */
  readonly facts?: readonly Fact[];
  /** On the Reader's own pages: which of them this is. Elsewhere there is no way from a page to them. */
  readonly place?: Place | undefined;
}

export interface PageAlert {
  readonly text: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
  readonly code?: string | undefined;
  /** The message of the error, folded away. */
  readonly detail?: string | undefined;
}

export type Fact = readonly [name: string, value: string];

/** An entry of the Reader's own navigation, or a page below none of them. */
export type Place = 'home' | 'connect' | 'settings' | 'other';

const LAYOUT = `<!doctype html>
<html lang="<%= it.text.language %>">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title><%= it.page.title %><% if (it.page.place) { %> · <%= it.text.brand %><% } %></title>
<style><%~ it.style %></style>
</head>
<body>
<% if (it.page.place) { %>
<a class="skip" href="#main"><%= it.text.skip %></a>
<% } %>
<header>
<p class="brand"><%= it.text.brand %></p>
<% if (it.page.place) { %>
<nav aria-label="<%= it.text.brand %>">
<ul>
<% for (const [place, url, name] of it.text.places) { %>
<li><a href="<%= url %>"<% if (place === it.page.place) { %> aria-current="page"<% } %>><%= name %></a></li>
<% } %>
</ul>
</nav>
<% } %>
</header>
<main id="main" tabindex="-1">
<h1><%= it.page.title %></h1>
<% if (it.page.alert) { const { text, hint, code, detail } = it.page.alert; %>
<div class="box alarm" role="alert" tabindex="-1" autofocus>
<p><strong><%= text %></strong></p>
<% if (hint) { %><p><%= hint %></p><% } %>
<% if (code) { %><p class="soft"><%= it.text.code %>: <code><%= code %></code></p><% } %>
<% if (detail) { %><details><summary><%= it.text.details %></summary><p><%= detail %></p></details><% } %>
</div>
<% } else if (it.page.status) { %>
<div class="box" role="status" tabindex="-1" autofocus><p><%= it.page.status %></p></div>
<% } %>
<% if (it.page.lead) { %>
<p><%= it.page.lead %></p>
<% } %>
<%~ it.body %>
</main>
</body>
</html>
`;

const MESSAGE = `<% layout('@layout', it) %>
<% if (it.page.note) { %><p class="soft"><%= it.page.note %></p><% } %>
<% if (it.page.form) { %><%~ include('@form', { form: it.page.form, text: it.text }) %><% } %>
<% if (it.page.advice?.length > 0) { %>
<h2><%= it.page.adviceTitle ?? it.text.advice %></h2>
<ul>
<% for (const advice of it.page.advice) { %>
<li><%= advice %></li>
<% } %>
</ul>
<% } %>
<% if (it.page.action) { %>
<p class="action"><a class="button" href="<%= it.page.action.url %>" rel="noreferrer"><%= it.page.action.text %></a></p>
<% } %>
<% if (it.page.publicLink || it.page.facts) { %>
<div class="print">
<% if (it.page.publicLink) { %>
<%~ include('@link', { id: 'public-link', label: it.text.publicLink, hint: it.text.publicLinkHint, url: it.page.publicLink }) %>
<% } %>
<% if (it.page.facts) { %><%~ include('@facts', { facts: it.page.facts }) %><% } %>
</div>
<% } %>
`;

/** An address to be copied: without scripts, a field that can be selected with one key. */
const LINK = `<div class="field">
<label for="<%= it.id %>"><%= it.label %></label>
<p class="hint" id="<%= it.id %>-hint"><%= it.hint %></p>
<input id="<%= it.id %>" value="<%= it.url %>" readonly spellcheck="false" aria-describedby="<%= it.id %>-hint">
</div>
`;

const FACTS = `<dl>
<% for (const [name, value] of it.facts) { %>
<dt><%= name %></dt><dd><code><%= value %></code></dd>
<% } %>
</dl>
`;

const eta = new Eta({ autoEscape: true });
const PARTS = {
  layout: LAYOUT,
  message: MESSAGE,
  link: LINK,
  facts: FACTS,
  form: FORM_TEMPLATE,
  attributes: ATTRIBUTES_TEMPLATE,
};
for (const [name, text] of Object.entries(PARTS)) eta.loadTemplate(`@${name}`, text);

/** HTML of a page of the usual form. */
export function renderPage(page: Page): string {
  return render('@message', page);
}

/**
 * Adds a template of another form.
 *
 * @param words - its texts, `it.words` in the template
 * @param parts - further templates, to be included
 */
export function defineTemplate<Data extends Page>(
  name: string,
  text: string,
  words: object,
  parts: Readonly<Record<string, string>> = {},
): (page: Data) => string {
  for (const [part, partText] of Object.entries(parts)) eta.loadTemplate(`@${part}`, partText);
  eta.loadTemplate(`@${name}`, `<% layout('@layout', it) %>\n${text}`);
  return (page) => render(`@${name}`, page, words);
}

function render(template: string, page: Page, words: object = {}): string {
  return eta.render(template, { page, style: STYLE, text: FRAME_TEXT, words });
}

const POLICY = `default-src 'none'; style-src ${STYLE_SOURCE}; base-uri 'none'`;

/** The headers of every page: nothing runs, nothing loads, nothing is kept. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `${POLICY}; form-action 'none'; frame-ancestors 'self'`,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/**
 * The headers of the Reader's own pages, which have forms. `same-origin` and not `no-referrer`, because under the latter browsers send
 * `Origin: null` with forms; other origins are told nothing either way.
 */
export const CONTROL_HEADERS = {
  ...PAGE_HEADERS,
  'content-security-policy': `${POLICY}; form-action 'self'; frame-ancestors 'none'`,
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
} as const;
