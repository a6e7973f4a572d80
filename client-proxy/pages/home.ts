/** The Reader's first page: publishers and their sites, how this browser comes here, what was read recently. */
import { urlPathOf } from '../../core/site/path.ts';
import { isSite } from '../../core/site/site.ts';
import * as words from '../../words/en/reader.ts';
import { HOST } from '../gateway/label.ts';
import { PROXY_FILE_PATH } from '../gateway/proxy-file.ts';
import { connectForm } from './connect.ts';
import { type PageAnswer, type PageRequest, type PagesContext, usesProxy } from './context.ts';
import { lockForm } from './lock.ts';
import type { VerifiedRead } from './noticed.ts';
import { describePublishers, PUBLISHER, type PublisherView } from './publishers.ts';
import { defineTemplate, doneText, type PageContent, type PageForm } from './template.ts';

const SHOWN_AT_ONCE = 8;

interface HomePage extends PageContent {
  readonly publishers: readonly PublisherView[];
  /** Sites with protected content that the reader is not connected with. */
  readonly seen: readonly string[];
  /** Way in which this browser comes here; left out where no site is connected. */
  readonly browser: string | undefined;
  readonly pac: string;
  /** Sites whose pages were opened past the Reader, in a sentence each. */
  readonly tunnels: readonly string[];
  /** Documents that were read, the latest first; left out where no site is connected. */
  readonly lately: readonly VerifiedView[] | undefined;
  readonly latelyNone: string;
  readonly earlier: (count: number) => string;
  readonly clear: PageForm;
  /** Form that locks, where that protects anything: where a passphrase is asked for afterwards. */
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
<h2 id="seen">${words.HOME.seen}</h2>
<p>${words.HOME.seenLead}</p>
<ul>
<% for (const site of seen) { %><li><a href="/connect?site=<%= encodeURIComponent(site) %>">${words.HOME.connect} <%= site %></a></li><% } %>
</ul>
</section>
<% } %>
<% if (lately) { %>
<section aria-labelledby="lately">
<h2 id="lately">${words.HOME.lately}</h2>
<% if (lately.length === 0) { %>
<p class="soft"><%= latelyNone %></p>
<% } else { const earlier = lately.slice(${SHOWN_AT_ONCE}); %>
<p class="soft">${words.HOME.latelyNote}</p>
<%~ include('@verified', { entries: lately.slice(0, ${SHOWN_AT_ONCE}) }) %>
<% if (earlier.length > 0) { %>
<details><summary><%= it.page.earlier(earlier.length) %></summary><%~ include('@verified', { entries: earlier }) %></details>
<% } %>
<div class="inline"><%~ include('@button', { form: clear }) %></div>
<% } %>
</section>
<% } %>
<% if (browser) { %>
<section aria-labelledby="browser">
<h2 id="browser">${words.HOME.browser}</h2>
<p><%= browser %></p>
<% for (const tunnel of tunnels) { %><div class="box"><p><%= tunnel %></p></div><% } %>
<%~ include('@link', { id: 'pac', label: '${words.HOME.pac}', hint: '${words.HOME.pacHint}', url: pac }) %>
</section>
<% } %>
<% if (lock) { %>
<section aria-labelledby="lock">
<h2 id="lock">${words.HOME.keys}</h2>
<p class="soft">${words.HOME.keysNote}</p>
<div class="inline"><%~ include('@button', { form: lock }) %></div>
</section>
<% } %>
`;

const renderHome = defineTemplate<HomePage>('home', HOME, { button: BUTTON, verified: VERIFIED, publisher: PUBLISHER });

export async function showHome(context: PagesContext, asked: PageRequest): Promise<PageAnswer> {
  const { token, settings } = context;
  const publishers = await describePublishers(context);
  const isEmpty = publishers.length === 0;
  const html = renderHome({
    title: isEmpty ? words.HOME.emptyTitle : words.HOME.title,
    lead: isEmpty ? words.HOME.emptyLead : words.HOME.lead,
    place: 'home',
    status: doneText(asked.query.get('done'), usesProxy(context, asked)),
    form: isEmpty ? connectForm(token) : undefined,
    publishers,
    seen: context.seen.names().filter((name) => isSite(name) && context.sites.find(name) === undefined),
    browser: isEmpty ? undefined : describeBrowser(context, asked),
    pac: `http://${HOST}:${context.port()}${PROXY_FILE_PATH}`,
    tunnels: describeTunnels(context),
    lately: isEmpty ? undefined : context.activity.list().flatMap((verified) => describeVerified(verified, context)),
    latelyNone: settings.current.activity ? words.HOME.latelyNone : words.HOME.latelyOff,
    earlier: words.HOME.earlier,
    clear: { action: '/activity/forget', token, fields: [], submit: words.HOME.clear },
    lock: context.lock.needsPassphrase ? lockForm(context) : undefined,
  });
  return { html };
}

/** Browsers do not use a proxy for this machine's own addresses, so their requests for other sites have to show it. */
function describeBrowser({ browsers, now }: PagesContext, { request, throughProxy }: PageRequest): string {
  if (throughProxy) return words.HOME.usesProxy;
  const last = browsers.when(request.headers['user-agent'] ?? '');
  return last === undefined ? words.HOME.needsNoProxy : words.HOME.usedProxy(last, now());
}

function describeTunnels({ tunnels, sites, now }: PagesContext): HomePage['tunnels'] {
  return sites.all().flatMap(({ site }) => {
    const last = tunnels.of(site)?.last;
    return last === undefined ? [] : [words.HOME.tunnel(site, last, now())];
  });
}

function describeVerified(verified: VerifiedRead, { sites, urlOf, now }: PagesContext): VerifiedView[] {
  const { site, path, title, from, time } = verified;
  const bound = sites.find(site);
  if (bound === undefined) return [];
  const url = urlOf(bound.label) + urlPathOf(path).slice(1);
  const address = site + path;
  const how = title === undefined ? words.FROM[from] : `${address} · ${words.FROM[from]}`;
  return [
    { url, text: title ?? address, how, time: words.clock(time, now()), iso: new Date(time * 1000).toISOString() },
  ];
}

export async function clearActivity({ activity, seen }: PagesContext): Promise<PageAnswer> {
  activity.clear();
  seen.clear();
  return { goTo: '/?done=forgotten' };
}
