/** The one template of the Reader's pages. Eta escapes every value; nothing but the style sheet and finished parts is put in unescaped. */
import { Eta } from 'eta';
import { STYLE, STYLE_SOURCE } from './style.ts';
import { LANGUAGE } from './words.ts';

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

/** A form on one of the Reader's own pages: it posts to one path, with the token of the guard (guard.ts). */
export interface PageForm {
  /** Path that it is posted to. */
  readonly action: string;
  /** Of the guard. */
  readonly token: string;
  readonly fields: readonly FormField[];
  readonly submit: string;
  /** The button does something that cannot be taken back. */
  readonly grave?: boolean;
  /** The way out. */
  readonly cancel?: { readonly text: string; readonly url: string };
}

interface Labelled {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  /** What is wrong with what was typed. */
  readonly wrong?: string | undefined;
  /** Shown, and not to be changed here. */
  readonly fixed?: boolean | undefined;
}

interface TextField extends Labelled {
  readonly kind: 'text' | 'password' | 'number' | 'lines';
  readonly value?: string | undefined;
  readonly required?: boolean;
  /** Where a reader begins. */
  readonly focus?: boolean;
  /** As in HTML; `off` if left out. */
  readonly autocomplete?: 'current-password' | 'new-password' | 'url';
  /** Characters; bounds of a number. */
  readonly maximumLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

interface CheckField extends Labelled {
  readonly kind: 'check';
  /** What is sent if it is checked. */
  readonly value: string;
  readonly checked: boolean;
}

interface HiddenField {
  readonly kind: 'hidden';
  readonly name: string;
  readonly value: string;
}

export type FormField = TextField | CheckField | HiddenField;

const FRAME_TEXT = {
  language: LANGUAGE.tag,
  brand: 'wispr Reader',
  skip: 'Skip to the content',
  advice: 'What you can do',
  code: 'Code',
  details: 'Details',
  publicLink: 'Public link',
  publicLinkHint: 'The address of this page for everybody. Select it to copy it.',
  places: [
    ['home', '/', 'Your sites'],
    ['connect', '/connect', 'Connect'],
    ['settings', '/settings', 'Settings'],
  ],
} as const;

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
<input type="<%= field.kind %>" id="<%= id %>" name="<%= field.name %>" value="<%= field.value ?? '' %>" spellcheck="false" autocapitalize="off" autocomplete="<%= field.autocomplete ?? 'off' %>"<%~ include('@attributes', { field, described }) %>>
<% } %>
<% if (field.wrong) { %><p class="wrong" id="<%= id %>-wrong"><%= field.wrong %></p><% } %>
</div>
<% }) %>
<p class="action">
<button<% if (form.grave) { %> class="alarm"<% } %>><%= form.submit %></button>
<% if (form.cancel) { %><a href="<%= form.cancel.url %>"><%= form.cancel.text %></a><% } %>
</p>
</form>
`;

/** What text fields of every kind have in common. */
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

/** Browsers ignore Clear-Site-Data outside secure contexts, so the reader has to clear what an http:// address left behind. */
export const KEPT_BEFORE =
  'If this browser uses the Reader as its proxy, the usual http:// address may still show an old, unchecked copy: clear what it has stored of the site, once, and reload.';

/** What was just done, by the word in the address. */
const DONE: Readonly<Record<string, string>> = {
  connected: `Connected. The link below opens the site. ${KEPT_BEFORE}`,
  disconnected: 'Disconnected. Its keys are removed from this computer.',
  declined: 'You will not be asked for this site again; you can still connect it under “Details” of its publisher.',
  forgotten: 'The list is cleared.',
  saved: 'Saved.',
  unlocked: 'Unlocked.',
};

/** @param word - from the address, so anything at all */
export function doneText(word: string | null): string | undefined {
  return word !== null && Object.hasOwn(DONE, word) ? DONE[word] : undefined;
}

/** What went wrong on a page that can still be used. */
export interface ProblemText {
  readonly text: string;
  readonly hint?: string;
}

const UNWRITTEN: Readonly<Record<string, Required<ProblemText>>> = {
  'disk-full': {
    text: 'The disk of this computer is full',
    hint: 'Make room on the disk, and try again. The Reader need not be restarted.',
  },
  'store-unwritable': {
    text: 'The Reader cannot write to its database',
    hint: 'Check that its disk and folder can be written, and try again. The Reader need not be restarted.',
  },
};

/** For a database that cannot be written. @param so - what follows from it */
export function unwrittenText(code: string, so: string): ProblemText | undefined {
  const found = UNWRITTEN[code];
  return found && { text: `${found.text}, so ${so}.`, hint: found.hint };
}

const eta = new Eta({ autoEscape: true });
const PARTS = {
  layout: LAYOUT,
  message: MESSAGE,
  link: LINK,
  facts: FACTS,
  form: FORM,
  attributes: ATTRIBUTES,
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
 * `Origin: null` with forms; other origins get no referrer either way.
 */
export const CONTROL_HEADERS = {
  ...PAGE_HEADERS,
  'content-security-policy': `${POLICY}; form-action 'self'; frame-ancestors 'none'`,
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
} as const;
