/** The Reader's first page, as HTML. */
import type { PageForm } from './form.ts';
import { defineTemplate, type Fact, type Page } from './template.ts';
import { HOME_TEXT } from './texts-control.ts';

export interface HomePage extends Page {
  /** What is the matter with the Reader itself. */
  readonly warning: WarningView | undefined;
  readonly publishers: readonly PublisherView[];
  /** Sites with protected content that the reader is not connected with. */
  readonly seen: readonly { readonly site: string; readonly url: string }[];
  /** How this browser comes here, in one sentence; left out where there is nothing to come to. */
  readonly browser: string | undefined;
  /** Address of the proxy configuration file. */
  readonly pac: string;
  /** Sites that were asked for past the Reader, in one sentence each. */
  readonly tunnels: readonly string[];
  /** Left out where there is nothing that could have been read. */
  readonly lately: LatelyView | undefined;
  /** Where locking keeps anybody out: where a passphrase is asked for afterwards. */
  readonly lock: PageForm | undefined;
}

export interface WarningView {
  readonly title: string;
  readonly lines: readonly string[];
  readonly detail: string;
}

export interface PublisherView {
  readonly name: string;
  readonly sites: readonly SiteView[];
  /** What may be read until when, in a few words each. */
  readonly readable: readonly string[];
  /** The publisher has disconnected this device, as far as the Reader has heard. */
  readonly isRevoked: boolean;
  /** Whether there are keys that will be renewed. */
  readonly renews: boolean;
  readonly asks: readonly AskView[];
  readonly disconnect: string;
  readonly facts: readonly Fact[];
  /** Sites that were declined, with what connects them after all. */
  readonly declined: readonly DeclinedView[];
}

export interface SiteView {
  readonly site: string;
  /** Where a browser opens it; left out where nothing of it can be shown for good. */
  readonly url: string | undefined;
  /** How its publication is, in a sentence or two. */
  readonly state: string;
}

export interface AskView {
  readonly title: string;
  readonly look: PageForm;
  readonly decline: PageForm;
}

export interface DeclinedView {
  readonly look: PageForm;
}

export interface LatelyView {
  /** In place of the list. */
  readonly none: string | undefined;
  readonly entries: readonly VerifiedView[];
  /** More of them, folded. */
  readonly earlier: readonly VerifiedView[];
  readonly forget: PageForm;
}

export interface VerifiedView {
  readonly url: string;
  readonly text: string;
  /** Set, where from. */
  readonly how: string;
  readonly time: string;
  readonly iso: string;
}

/** A form that is only a button. */
const BUTTON = `<form method="post" action="<%= it.form.action %>">
<input type="hidden" name="token" value="<%= it.form.token %>">
<% for (const field of it.form.fields) { %><input type="hidden" name="<%= field.name %>" value="<%= field.value %>"><% } %>
<button class="quiet"><%= it.form.submit %></button>
</form>
`;

const VERIFIED = `<ul class="log">
<% for (const { url, text, how, time, iso } of it.entries) { %>
<li><a href="<%= url %>"><%= text %></a><span><%= how %>, <time datetime="<%= iso %>"><%= time %></time></span></li>
<% } %>
</ul>
`;

const HOME = `<% const { warning, publishers, seen, browser, pac, tunnels, lately, lock, form } = it.page; const text = it.words; %>
<% if (warning) { %>
<section class="box alarm" aria-labelledby="warning">
<h2 id="warning"><%= warning.title %></h2>
<% for (const line of warning.lines) { %><p><%= line %></p><% } %>
<details><summary><%= text.details %></summary><p><%= warning.detail %></p></details>
</section>
<% } %>
<% if (form) { %><%~ include('@form', { form, text: it.text }) %><% } %>
<% publishers.forEach((publisher, index) => { %>
<section aria-labelledby="publisher-<%= index %>">
<h2 id="publisher-<%= index %>"><bdi><%= publisher.name %></bdi></h2>
<% if (publisher.isRevoked) { %><div class="box alarm"><p><%= text.revoked %></p></div><% } %>
<% for (const ask of publisher.asks) { %>
<div class="box">
<h3><%= ask.title %></h3>
<p><%= text.asks %></p>
<div class="inline"><%~ include('@button', { form: ask.look }) %><%~ include('@button', { form: ask.decline }) %></div>
</div>
<% } %>
<ul class="sites">
<% for (const { site, url, state } of publisher.sites) { %>
<li><% if (url) { %><a href="<%= url %>" rel="noreferrer"><strong><%= site %></strong><span><%= state %></span></a><% } else { %><p><strong><%= site %></strong><span><%= state %></span></p><% } %></li>
<% } %>
</ul>
<h3><%= text.readable %></h3>
<ul>
<% for (const line of publisher.readable) { %><li><%= line %></li><% } %>
</ul>
<% if (publisher.renews) { %><p class="soft"><%= text.keysRenewed %></p><% } %>
<details>
<summary><%= text.details %><span class="unseen"> · <bdi><%= publisher.name %></bdi></span></summary>
<%~ include('@facts', { facts: publisher.facts }) %>
<div class="inline">
<% for (const { look } of publisher.declined) { %><%~ include('@button', { form: look }) %><% } %>
<a class="button quiet" href="<%= publisher.disconnect %>"><%= text.disconnect %></a>
</div>
</details>
</section>
<% }) %>
<% if (seen.length > 0) { %>
<section aria-labelledby="seen">
<h2 id="seen"><%= text.seenTitle %></h2>
<p><%= text.seen %></p>
<ul>
<% for (const { site, url } of seen) { %><li><a href="<%= url %>"><%= text.connect(site) %></a></li><% } %>
</ul>
</section>
<% } %>
<% if (browser) { %>
<section aria-labelledby="browser">
<h2 id="browser"><%= text.browserTitle %></h2>
<p><%= browser %></p>
<% for (const line of tunnels) { %><div class="box"><p><%= line %></p></div><% } %>
<%~ include('@link', { id: 'pac', label: text.pac, hint: text.pacHint, url: pac }) %>
</section>
<% } %>
<% if (lately) { %>
<section aria-labelledby="lately">
<h2 id="lately"><%= text.lately %></h2>
<% if (lately.none) { %>
<p class="soft"><%= lately.none %></p>
<% } else { %>
<p class="soft"><%= text.latelyHint %></p>
<%~ include('@verified', { entries: lately.entries }) %>
<% if (lately.earlier.length > 0) { %>
<details><summary><%= text.earlier(lately.earlier.length) %></summary><%~ include('@verified', { entries: lately.earlier }) %></details>
<% } %>
<div class="inline"><%~ include('@button', { form: lately.forget }) %></div>
<% } %>
</section>
<% } %>
<% if (lock) { %>
<section aria-labelledby="lock">
<h2 id="lock"><%= text.lock %></h2>
<p class="soft"><%= text.lockHint %></p>
<div class="inline"><%~ include('@button', { form: lock }) %></div>
</section>
<% } %>
`;

export const renderHome = defineTemplate<HomePage>('home', HOME, HOME_TEXT, { button: BUTTON, verified: VERIFIED });
