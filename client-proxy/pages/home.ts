/** The Reader's first page: publishers and their sites, how this browser comes here, what was read recently. */
import { ago } from '../../core/reading/confirmation.ts';
import { urlPathOf } from '../../core/site/path.ts';
import { isSite } from '../../core/site/site.ts';
import { HOST } from '../gateway/label.ts';
import { PROXY_FILE_PATH } from '../gateway/proxy-file.ts';
import { connectForm } from './connect.ts';
import type { Asked, PageAnswer, PagesContext } from './context.ts';
import { lockForm } from './lock.ts';
import type { Verified } from './noticed.ts';
import { describePublishers, PUBLISHER_TEMPLATE, type PublisherView } from './publishers.ts';
import { defineTemplate, doneText, type Page, type PageForm } from './template.ts';
import { clockOf, isoOf } from './words.ts';

const SHOWN_AT_ONCE = 8;

const TEXT = {
  title: 'Your sites',
  lead: 'What you open here is checked against its publisher’s signature, and decrypted on this computer.',
  emptyTitle: 'No site is connected yet',
  emptyLead: 'A publisher’s invitation connects this computer with its sites. Paste its link here.',
  seenTitle: 'Sites you came across',
  seen: 'These have protected pages, and are not connected. With an invitation you can connect them.',
  connect: (site: string) => `Connect ${site}`,
  browserTitle: 'This browser',
  byProxy:
    'This browser uses the Reader as its proxy, so the usual http:// addresses of your sites are checked, except for copies that it kept from before.',
  byProxyLately: (when: string) =>
    `A browser of this kind used the Reader as its proxy ${when}. The usual http:// addresses of your sites are checked then, except for copies that it kept from before.`,
  byGateway:
    'This browser needs no settings for the links above: the addresses that end in “localhost” lead to the Reader.',
  pac: 'Address for automatic proxy configuration',
  pacHint:
    'With this in your browser’s network settings, the usual http:// addresses of your sites lead through the Reader, and nothing else does.',
  tunnels: (site: string, when: string) =>
    `${site} was opened with https:// ${when}. That bypasses the Reader and shows the public page. Open the site by the link above instead.`,
  lately: 'Recently read',
  latelyNone: 'Nothing since the Reader was started.',
  latelyOff: 'This list is turned off in the settings.',
  latelyHint: 'Kept in memory only, until the Reader stops.',
  earlier: (count: number) => `${count} earlier`,
  from: { host: 'fetched', cache: 'from this computer’s store', browser: 'kept by the browser, still good' },
  clear: 'Clear this list',
  lock: 'Your keys',
  lockHint: 'A locked Reader has no keys in memory, and opens nothing until you type your passphrase again.',
} as const;

interface HomePage extends Page {
  readonly publishers: readonly PublisherView[];
  /** Sites with protected content that the reader is not connected with. */
  readonly seen: readonly { readonly site: string; readonly url: string }[];
  /** How this browser comes here; left out where no site is connected. */
  readonly browser: string | undefined;
  /** Address of the proxy configuration file. */
  readonly pac: string;
  /** Sites that were opened past the Reader, in a sentence each. */
  readonly tunnels: readonly string[];
  /** Left out where no site is connected. */
  readonly lately: LatelyView | undefined;
  /** Where locking protects anything: where a passphrase is asked for afterwards. */
  readonly lock: PageForm | undefined;
}

interface LatelyView {
  /** In place of the list. */
  readonly none: string | undefined;
  readonly entries: readonly VerifiedView[];
  /** More of them, folded. */
  readonly earlier: readonly VerifiedView[];
  readonly clear: PageForm;
}

interface VerifiedView {
  readonly url: string;
  readonly text: string;
  /** Where from. */
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
<% publishers.forEach((publisher, index) => { %><%~ include('@publisher', { publisher, index }) %><% }) %>
<% if (seen.length > 0) { %>
<section aria-labelledby="seen">
<h2 id="seen"><%= text.seenTitle %></h2>
<p><%= text.seen %></p>
<ul>
<% for (const { site, url } of seen) { %><li><a href="<%= url %>"><%= text.connect(site) %></a></li><% } %>
</ul>
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
<div class="inline"><%~ include('@button', { form: lately.clear }) %></div>
<% } %>
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
<% if (lock) { %>
<section aria-labelledby="lock">
<h2 id="lock"><%= text.lock %></h2>
<p class="soft"><%= text.lockHint %></p>
<div class="inline"><%~ include('@button', { form: lock }) %></div>
</section>
<% } %>
`;

const renderHome = defineTemplate<HomePage>('home', HOME, TEXT, {
  button: BUTTON,
  verified: VERIFIED,
  publisher: PUBLISHER_TEMPLATE,
});

export async function showHome(context: PagesContext, asked: Asked): Promise<PageAnswer> {
  const publishers = await describePublishers(context);
  const isEmpty = publishers.length === 0;
  const page: HomePage = {
    title: isEmpty ? TEXT.emptyTitle : TEXT.title,
    lead: isEmpty ? TEXT.emptyLead : TEXT.lead,
    place: 'home',
    status: doneText(asked.query.get('done')),
    form: isEmpty ? connectForm(context.token) : undefined,
    publishers,
    seen: seenSites(context),
    browser: isEmpty ? undefined : describeBrowser(context, asked),
    pac: `http://${HOST}:${context.port()}${PROXY_FILE_PATH}`,
    tunnels: describeTunnels(context),
    lately: isEmpty ? undefined : describeLately(context),
    lock: context.lock.needsPassphrase ? lockForm(context) : undefined,
  };
  return { html: renderHome(page) };
}

function seenSites({ seen, sites }: PagesContext): HomePage['seen'] {
  const unbound = seen.names().filter((name) => isSite(name) && sites.find(name) === undefined);
  return unbound.map((site) => ({ site, url: `/connect?site=${encodeURIComponent(site)}` }));
}

/** Browsers do not use a proxy for this machine's own addresses, so their requests for other sites have to show it. */
function describeBrowser({ browsers, now }: PagesContext, { request, throughProxy }: Asked): string {
  if (throughProxy) return TEXT.byProxy;
  const last = browsers.when(request.headers['user-agent'] ?? '');
  return last === undefined ? TEXT.byGateway : TEXT.byProxyLately(ago(last, now()));
}

function describeTunnels({ tunnels, sites, now }: PagesContext): string[] {
  return sites.all().flatMap(({ site }) => {
    const last = tunnels.of(site)?.last;
    return last === undefined ? [] : [TEXT.tunnels(site, ago(last, now()))];
  });
}

function describeLately(context: PagesContext): LatelyView {
  const { activity, settings, token } = context;
  const entries = activity.list().flatMap((verified) => describeVerified(verified, context));
  const none = settings.current.activity ? TEXT.latelyNone : TEXT.latelyOff;
  return {
    none: entries.length === 0 ? none : undefined,
    entries: entries.slice(0, SHOWN_AT_ONCE),
    earlier: entries.slice(SHOWN_AT_ONCE),
    clear: { action: '/activity/forget', token, fields: [], submit: TEXT.clear },
  };
}

function describeVerified(verified: Verified, { sites, urlOf, now }: PagesContext): VerifiedView[] {
  const { site, path, from, time } = verified;
  const bound = sites.find(site);
  if (bound === undefined) return [];
  const url = urlOf(bound.label) + urlPathOf(path).slice(1);
  return [{ url, text: site + path, how: TEXT.from[from], time: clockOf(time, now()), iso: isoOf(time) }];
}

export async function clearActivity({ activity, seen }: PagesContext): Promise<PageAnswer> {
  activity.clear();
  seen.clear();
  return { goTo: '/?done=forgotten' };
}
