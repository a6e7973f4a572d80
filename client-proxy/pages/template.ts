/** The one template of the Reader's pages. Eta escapes every value; nothing but the style sheet and finished parts is put in unescaped. */
import { Eta } from 'eta';
import type { WayLink } from '../../reading/refusal-page.ts';
import { LANGUAGE } from '../../words/en/language.ts';
import * as words from '../../words/en/reader.ts';
import { STYLE, STYLE_SOURCE } from './style.ts';

/** Contents of a page; what is left out is not there. */
export interface PageContent {
  readonly title: string;
  readonly lead?: string | undefined;
  /** Problem that has just come up, on a page that can be used all the same; takes the focus. */
  readonly alert?: PageAlert | undefined;
  /** Report of what was just done; takes the focus. */
  readonly status?: string | undefined;
  /** Text below the lead, in small letters. */
  readonly note?: string | undefined;
  readonly form?: PageForm | undefined;
  /** The one way on. */
  readonly action?: WayLink | undefined;
  readonly facts?: readonly Fact[];
  /** Entry of the navigation that this page is, on the Reader's own pages. Elsewhere there is no way from a page to them. */
  readonly place?: NavigationEntry | undefined;
}

export interface PageAlert {
  readonly text: string;
  readonly hint?: string | undefined;
  readonly code?: string | undefined;
  /** The message of the error, folded away. */
  readonly detail?: string | undefined;
  readonly way?: WayLink | undefined;
}

export type Fact = readonly [name: string, value: string];

/** An entry of the Reader's own navigation, or a page below none of them. */
export type NavigationEntry = 'home' | 'connect' | 'settings' | 'other';

/** A form on one of the Reader's own pages: it posts to one path, with the token of the guard (guard.ts). */
export interface PageForm {
  readonly action: string;
  readonly token: string;
  readonly fields: readonly FormField[];
  readonly submit: string;
  /** The button does something that cannot be taken back. */
  readonly grave?: boolean;
  /** Words of the way out, to the first page. */
  readonly cancel?: string;
}

interface Labelled {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  readonly wrong?: string | undefined;
  /** Shown, and not to be changed here. */
  readonly fixed?: boolean | undefined;
}

interface TextField extends Labelled {
  readonly kind: 'text' | 'password' | 'number' | 'lines';
  readonly value?: string | undefined;
  readonly required?: boolean;
  readonly focus?: boolean;
  /** Characters; bounds of a number. */
  readonly maximumLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface CheckField extends Labelled {
  readonly kind: 'check';
  readonly value: string;
  readonly checked: boolean;
}

interface HiddenField {
  readonly kind: 'hidden';
  readonly name: string;
  readonly value: string;
}

export type FormField = TextField | CheckField | HiddenField;

const LAYOUT = `<% const { title, place, alert, status, lead } = it.page; %><!doctype html>
<html lang="${LANGUAGE.lang}" dir="${LANGUAGE.dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title><%= title %><% if (place) { %> · ${words.BRAND}<% } %></title>
<style>${STYLE}</style>
</head>
<body>
<% if (place) { %>
<a class="skip" href="#main">${words.PAGE.skip}</a>
<% } %>
<header>
<p class="brand">${words.BRAND}</p>
<% if (place) { %>
<nav aria-label="${words.BRAND}">
<ul>
<% for (const [name, text] of it.places) { %>
<li><a href="/<%= name === 'home' ? '' : name %>"<% if (name === place) { %> aria-current="page"<% } %>><%= text %></a></li>
<% } %>
</ul>
</nav>
<% } %>
</header>
<main id="main" tabindex="-1">
<h1><%= title %></h1>
<% if (alert) { const { text, hint, code, detail, way } = alert; %>
<div class="box alarm" role="alert" tabindex="-1" autofocus>
<p><strong><%= text %></strong></p>
<% if (hint) { %><p><%= hint %></p><% } %>
<% if (way) { %><p class="action"><a class="button" href="<%= way.url %>" rel="noreferrer"><%= way.text %></a></p><% } %>
<% if (code) { %><p class="soft">${words.PAGE.code}: <code><%= code %></code></p><% } %>
<% if (detail) { %><details><summary>${words.PAGE.details}</summary><p><%= detail %></p></details><% } %>
</div>
<% } else if (status) { %>
<div class="box" role="status" tabindex="-1" autofocus><p><%= status %></p></div>
<% } %>
<% if (lead) { %>
<p><%= lead %></p>
<% } %>
<%~ it.body %>
</main>
</body>
</html>
`;

const MESSAGE = `<% const { note, form, action, facts } = it.page; %>
<% if (note) { %><p class="soft"><%= note %></p><% } %>
<% if (form) { %><%~ include('@form', { form }) %><% } %>
<% if (action) { %><p class="action"><a class="button" href="<%= action.url %>" rel="noreferrer"><%= action.text %></a></p><% } %>
<% if (facts) { %><div class="print"><%~ include('@facts', { facts }) %></div><% } %>
`;

const FORM = `<% const { form } = it; %>
<form method="post" action="<%= form.action %>">
<input type="hidden" name="token" value="<%= form.token %>">
<% form.fields.forEach((field, index) => {
  const id = 'field-' + index;
  const described = [field.hint && id + '-hint', field.wrong && id + '-wrong'].filter(Boolean).join(' ');
  if (field.kind === 'hidden') { %>
<input type="hidden" name="<%= field.name %>" value="<%= field.value %>">
<% return; } %>
<div class="field<% if (field.kind === 'check') { %> check<% } %>">
<% if (field.kind === 'check') { %>
<input type="checkbox" id="<%= id %>" name="<%= field.name %>" value="<%= field.value %>"<% if (field.checked) { %> checked<% } %><% if (field.fixed) { %> disabled<% } %><% if (described) { %> aria-describedby="<%= described %>"<% } %>>
<% } %>
<label for="<%= id %>"><%= field.label %></label>
<% if (field.hint) { %><p class="hint" id="<%= id %>-hint"><%= field.hint %></p><% } %>
<% if (field.kind === 'lines') { %>
<textarea id="<%= id %>" name="<%= field.name %>" rows="3" spellcheck="false"<%~ include('@attributes', { field, described }) %>><%= field.value ?? '' %></textarea>
<% } else if (field.kind !== 'check') { %>
<input type="<%= field.kind %>" id="<%= id %>" name="<%= field.name %>" value="<%= field.value ?? '' %>" spellcheck="false" autocapitalize="off" autocomplete="off"<%~ include('@attributes', { field, described }) %>>
<% } %>
<% if (field.wrong) { %><p class="wrong" id="<%= id %>-wrong"><%= field.wrong %></p><% } %>
</div>
<% }) %>
<p class="action">
<button<% if (form.grave) { %> class="alarm"<% } %>><%= form.submit %></button>
<% if (form.cancel) { %><a href="/"><%= form.cancel %></a><% } %>
</p>
</form>
`;

const ATTRIBUTES = `<% const { field, described } = it; %><% if (described) { %> aria-describedby="<%= described %>"<% } %><% if (field.wrong) { %> aria-invalid="true"<% } %><% if (field.required) { %> required<% } %><% if (field.focus) { %> autofocus<% } %><% if (field.fixed) { %> disabled<% } %><% if (field.maximumLength) { %> maxlength="<%= field.maximumLength %>"<% } %><% if (field.minimum !== undefined) { %> min="<%= field.minimum %>"<% } %><% if (field.maximum !== undefined) { %> max="<%= field.maximum %>"<% } %>`;

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

/** @param word - from the address: anything @param usesProxy - whether this browser was seen to use the proxy */
export function doneText(word: string | null, usesProxy = false): string | undefined {
  const text = word !== null && Object.hasOwn(words.DONE, word) ? words.DONE[word] : undefined;
  return word === 'connected' && usesProxy ? `${text} ${words.KEPT_BEFORE}` : text;
}

const eta = new Eta({ autoEscape: true });
const PARTS = { layout: LAYOUT, link: LINK, facts: FACTS, form: FORM, attributes: ATTRIBUTES };
for (const [name, text] of Object.entries(PARTS)) eta.loadTemplate(`@${name}`, text);

/** Adds a page with a body of its own: a template with `it.page`. @param parts - further templates, to be included */
export function defineTemplate<Data extends PageContent>(
  name: string,
  body: string,
  parts: Readonly<Record<string, string>> = {},
): (page: Data) => string {
  for (const [part, partText] of Object.entries(parts)) eta.loadTemplate(`@${part}`, partText);
  eta.loadTemplate(`@${name}`, `<% layout('@layout', it) %>\n${body}`);
  return (page) => eta.render(`@${name}`, { page, places: Object.entries(words.PLACES) });
}

export const renderPage = defineTemplate<PageContent>('message', MESSAGE);

const POLICY = `default-src 'none'; style-src ${STYLE_SOURCE}; base-uri 'none'`;

/** The headers of every page: nothing runs, nothing loads, nothing is kept. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `${POLICY}; form-action 'none'; frame-ancestors 'self'`,
  'cross-origin-embedder-policy': 'require-corp', // frames of isolated pages show no page without it
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

/** The headers of the Reader's own pages. Under `no-referrer`, browsers would send `Origin: null` with their forms. */
export const CONTROL_HEADERS = {
  ...PAGE_HEADERS,
  'content-security-policy': `${POLICY}; form-action 'self'; frame-ancestors 'none'`,
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
} as const;
