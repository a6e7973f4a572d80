/** The Reader's first page: publishers and their sites, how this browser comes here, what was read recently. */

import { urlPathOf } from '../../core/site/path.ts';
import { isSite } from '../../core/site/site.ts';
import { ago } from '../../words/en/language.ts';
import { HOST } from '../gateway/label.ts';
import { PROXY_FILE_PATH } from '../gateway/proxy-file.ts';
import { connectForm } from './connect.ts';
import { type PageAnswer, type PageRequest, type PagesContext, usesProxy } from './context.ts';
import { lockForm } from './lock.ts';
import type { VerifiedRead } from './noticed.ts';
import { describePublishers, PUBLISHER_TEMPLATE, type PublisherView } from './publishers.ts';
import { defineTemplate, doneText, type PageContent, type PageForm } from './template.ts';
import { clockOf, isoOf } from './words.ts';

const SHOWN_AT_ONCE = 8;

const FROM = {
  host: 'fetched',
  cache: 'from this computer’s store',
  browser: 'kept by the browser, still good',
} as const;

interface HomePage extends PageContent {
  readonly publishers: readonly PublisherView[];
  /** Sites with protected content that the reader is not connected with. */
  readonly seen: readonly string[];
  /** How this browser comes here; left out where no site is connected. */
  readonly browser: string | undefined;
  readonly pac: string;
  readonly tunnels: readonly { readonly site: string; readonly when: string }[];
  /** What was read, the latest first; left out where no site is connected. */
  readonly lately: readonly VerifiedView[] | undefined;
  readonly latelyNone: string;
  readonly clear: PageForm;
  /** Where locking protects anything: where a passphrase is asked for afterwards. */
  readonly lock: PageForm | undefined;
}

interface VerifiedView {
  readonly url: string;
  readonly text: string;
  readonly how: string;
  readonly time: string;
  readonly iso: string;
}

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

const HOME = `<% const { publishers, seen, browser, pac, tunnels, lately, latelyNone, clear, lock, form } = it.page; %>
<% if (form) { %><%~ include('@form', { form }) %><% } %>
<% publishers.forEach((publisher, index) => { %><%~ include('@publisher', { publisher, index }) %><% }) %>
<% if (seen.length > 0) { %>
<section aria-labelledby="seen">
<h2 id="seen">Sites you came across</h2>
<p>These have protected pages, and are not connected. With an invitation you can connect them.</p>
<ul>
<% for (const site of seen) { %><li><a href="/connect?site=<%= encodeURIComponent(site) %>">Connect <%= site %></a></li><% } %>
</ul>
</section>
<% } %>
<% if (lately) { %>
<section aria-labelledby="lately">
<h2 id="lately">Recently read</h2>
<% if (lately.length === 0) { %>
<p class="soft"><%= latelyNone %></p>
<% } else { const earlier = lately.slice(${SHOWN_AT_ONCE}); %>
<p class="soft">Kept in memory only, until the Reader stops.</p>
<%~ include('@verified', { entries: lately.slice(0, ${SHOWN_AT_ONCE}) }) %>
<% if (earlier.length > 0) { %>
<details><summary><%= earlier.length %> earlier</summary><%~ include('@verified', { entries: earlier }) %></details>
<% } %>
<div class="inline"><%~ include('@button', { form: clear }) %></div>
<% } %>
</section>
<% } %>
<% if (browser) { %>
<section aria-labelledby="browser">
<h2 id="browser">This browser</h2>
<p><%= browser %></p>
<% for (const { site, when } of tunnels) { %><div class="box"><p><%= site %> was opened with https:// <%= when %>. That bypasses the Reader and shows the public page. Open the site by the link above instead.</p></div><% } %>
<%~ include('@link', { id: 'pac', label: 'Address for automatic proxy configuration', hint: 'With this in your browser’s network settings, the usual http:// addresses of your sites lead through the Reader, and nothing else does.', url: pac }) %>
</section>
<% } %>
<% if (lock) { %>
<section aria-labelledby="lock">
<h2 id="lock">Your keys</h2>
<p class="soft">A locked Reader has no keys in memory, and opens nothing until you type your passphrase again.</p>
<div class="inline"><%~ include('@button', { form: lock }) %></div>
</section>
<% } %>
`;

const renderHome = defineTemplate<HomePage>('home', HOME, {
  button: BUTTON,
  verified: VERIFIED,
  publisher: PUBLISHER_TEMPLATE,
});

export async function showHome(context: PagesContext, asked: PageRequest): Promise<PageAnswer> {
  const { token, settings } = context;
  const publishers = await describePublishers(context);
  const isEmpty = publishers.length === 0;
  const html = renderHome({
    title: isEmpty ? 'No site is connected yet' : 'Your sites',
    lead: isEmpty
      ? 'A publisher’s invitation connects this computer with its sites. Paste its link here.'
      : 'What you open here is checked against its publisher’s signature, and decrypted on this computer.',
    place: 'home',
    status: doneText(asked.query.get('done'), usesProxy(context, asked)),
    form: isEmpty ? connectForm(token) : undefined,
    publishers,
    seen: context.seen.names().filter((name) => isSite(name) && context.sites.find(name) === undefined),
    browser: isEmpty ? undefined : describeBrowser(context, asked),
    pac: `http://${HOST}:${context.port()}${PROXY_FILE_PATH}`,
    tunnels: describeTunnels(context),
    lately: isEmpty ? undefined : context.activity.list().flatMap((verified) => describeVerified(verified, context)),
    latelyNone: settings.current.activity
      ? 'Nothing since the Reader was started.'
      : 'This list is turned off in the settings.',
    clear: { action: '/activity/forget', token, fields: [], submit: 'Clear this list' },
    lock: context.lock.needsPassphrase ? lockForm(context) : undefined,
  });
  return { html };
}

/** Browsers do not use a proxy for this machine's own addresses, so their requests for other sites have to show it. */
function describeBrowser({ browsers, now }: PagesContext, { request, throughProxy }: PageRequest): string {
  const checked = 'The usual http:// addresses of your sites are checked';
  const copies = 'except for copies that it kept from before.';
  if (throughProxy) return `This browser uses the Reader as its proxy. ${checked}, ${copies}`;
  const last = browsers.when(request.headers['user-agent'] ?? '');
  return last === undefined
    ? 'This browser needs no settings for the links above: the addresses that end in “localhost” lead to the Reader.'
    : `A browser of this kind used the Reader as its proxy ${ago(last, now())}. ${checked} then, ${copies}`;
}

function describeTunnels({ tunnels, sites, now }: PagesContext): HomePage['tunnels'] {
  return sites.all().flatMap(({ site }) => {
    const last = tunnels.of(site)?.last;
    return last === undefined ? [] : [{ site, when: ago(last, now()) }];
  });
}

function describeVerified(verified: VerifiedRead, { sites, urlOf, now }: PagesContext): VerifiedView[] {
  const { site, path, title, from, time } = verified;
  const bound = sites.find(site);
  if (bound === undefined) return [];
  const url = urlOf(bound.label) + urlPathOf(path).slice(1);
  const address = site + path;
  const how = title === undefined ? FROM[from] : `${address} · ${FROM[from]}`;
  return [{ url, text: title ?? address, how, time: clockOf(time, now()), iso: isoOf(time) }];
}

export async function clearActivity({ activity, seen }: PagesContext): Promise<PageAnswer> {
  activity.clear();
  seen.clear();
  return { goTo: '/?done=forgotten' };
}
