/** Publishers on the first page: their sites and how fresh they are, what may be read until when, which sites they ask for. */
import { ago } from '../../words/en/language.ts';
import type { BoundSite } from '../site/bound-sites.ts';
import { type PublicationStatus, statusOf } from '../site/publication-status.ts';
import type { KeyTime } from '../store/key-store.ts';
import type { HostProof, StoredBinding } from '../store/types.ts';
import type { PagesContext } from './context.ts';
import type { Fact, PageForm } from './template.ts';
import { refusalText } from './texts.ts';
import { dayOf, momentOf, shownName } from './words.ts';

const KEYS_LISTED = 50;
const PUBLIC = 'Public pages.';
/** What a reader should know of how a site was shown to be the publisher's. */
const DOUBTS = {
  host: undefined,
  dns: 'DNS alone said that this site is the publisher’s.',
  'trusted-by-hand': 'Not proved to be the publisher’s: you chose to trust it.',
} as const;

function collections(count: number): string {
  return count === 1 ? 'One collection' : `${count} collections`;
}

export interface PublisherView {
  readonly name: string;
  readonly sites: readonly SiteView[];
  /** What may be read until when, in a few words each. */
  readonly readable: readonly string[];
  /** The publisher has disconnected this device, as far as the Reader knows. */
  readonly isRevoked: boolean;
  readonly renews: boolean;
  readonly asks: readonly { readonly title: string; readonly look: PageForm; readonly decline: PageForm }[];
  readonly disconnect: string;
  readonly facts: readonly Fact[];
  readonly declined: readonly PageForm[];
}

interface SiteView {
  readonly site: string;
  /** Where a browser opens it; left out where nothing of it can be shown again. */
  readonly url: string | undefined;
  readonly state: string;
}

export const PUBLISHER_TEMPLATE = `<% const { publisher, index } = it; %>
<section aria-labelledby="publisher-<%= index %>">
<h2 id="publisher-<%= index %>"><bdi><%= publisher.name %></bdi></h2>
<% if (publisher.isRevoked) { %><div class="box alarm"><p>The publisher has disconnected this device, and gives it no new keys. Ask the publisher for a new invitation.</p></div><% } %>
<% for (const ask of publisher.asks) { %>
<div class="box">
<h3><%= ask.title %></h3>
<p>You have not agreed to that, so the Reader does not open anything under that name.</p>
<div class="inline"><%~ include('@button', { form: ask.look }) %><%~ include('@button', { form: ask.decline }) %></div>
</div>
<% } %>
<ul class="sites">
<% for (const { site, url, state } of publisher.sites) { %>
<li><% if (url) { %><a href="<%= url %>" rel="noreferrer"><strong><%= site %></strong><span><%= state %></span></a><% } else { %><p><strong><%= site %></strong><span><%= state %></span></p><% } %></li>
<% } %>
</ul>
<h3>What you may read</h3>
<ul>
<% for (const line of publisher.readable) { %><li><%= line %></li><% } %>
</ul>
<% if (publisher.renews) { %><p class="soft">New keys are fetched automatically for as long as you are subscribed.</p><% } %>
<details>
<summary>Details<span class="unseen"> · <bdi><%= publisher.name %></bdi></span></summary>
<%~ include('@facts', { facts: publisher.facts }) %>
<div class="inline">
<% for (const form of publisher.declined) { %><%~ include('@button', { form }) %><% } %>
<a class="button quiet" href="<%= publisher.disconnect %>">Disconnect …</a>
</div>
</details>
</section>
`;

export async function describePublishers(context: PagesContext): Promise<PublisherView[]> {
  const bindings = await context.store.bindings();
  return Promise.all(bindings.map((binding) => describePublisher(binding, context)));
}

async function describePublisher(binding: StoredBinding, context: PagesContext): Promise<PublisherView> {
  const { store, sites, token, now } = context;
  const name = shownName(binding.descriptor.name);
  const keys = store.setKeys.times(binding.id);
  const bound = binding.sites.flatMap(({ site }) => sites.find(site) ?? []);
  const proofOf = ({ site }: BoundSite) => binding.sites.find((one) => one.site === site)?.proof;
  const isRevoked = bound.some((site) => site.keys.isRevoked);
  const asked = newSites(binding).filter((site) => !store.preferences.isDeclined(binding.id, site));
  const declined = newSites(binding).filter((site) => !asked.includes(site));
  const form = (action: string, site: string, submit: string) => siteForm(action, binding.id, site, submit, token);
  return {
    name,
    sites: await Promise.all(bound.map((site) => describeSite(site, proofOf(site), context))),
    readable: describeReadable(
      keys,
      now(),
      isRevoked ? PUBLIC : `${PUBLIC} Keys for others come when you first open one of them.`,
    ),
    isRevoked,
    renews: !isRevoked && keys.some(({ notAfter }) => now() <= notAfter),
    asks: asked.map((site) => ({
      title: `${name} would like to show you ${site} as well`,
      look: form('/sites/look', site, 'Continue'),
      decline: form('/sites/decline', site, 'No, thank you'),
    })),
    disconnect: `/publishers/${binding.id}/disconnect`,
    facts: factsOf(binding, keys, declined),
    declined: declined.map((site) => form('/sites/look', site, `Connect ${site} after all`)),
  };
}

/** What the descriptor claims and the reader has not confirmed: row 71 of docs/threat-model.md. */
export function newSites({ descriptor, sites }: StoredBinding): string[] {
  return descriptor.sites.map(({ site }) => site).filter((site) => !sites.some((other) => other.site === site));
}

function siteForm(action: string, binding: number, site: string, submit: string, token: string): PageForm {
  const fields = [
    { kind: 'hidden', name: 'publisher', value: String(binding) },
    { kind: 'hidden', name: 'site', value: site },
  ] as const;
  return { action, token, fields, submit };
}

async function describeSite(
  { site, label, description, publication }: BoundSite,
  proof: HostProof | undefined,
  { urlOf, now }: PagesContext,
): Promise<SiteView> {
  if (description === undefined)
    return {
      site,
      url: undefined,
      state: 'The publisher no longer publishes this site. Nothing of it is shown.',
    };
  const doubt = proof && DOUBTS[proof];
  const state = describeState(await statusOf(publication.publication, now()), now());
  return { site, url: urlOf(label), state: doubt === undefined ? state : `${state} ${doubt}` };
}

function describeState(status: PublicationStatus, now: number): string {
  switch (status.kind) {
    case 'unread':
      return 'Not opened yet.';
    case 'refused':
      return `Not shown at the moment: ${refusalText(status.code).title}.`;
    case 'current':
      return `Up to date ${ago(status.confirmed, now)}.`;
    case 'stale':
      return `Up to date ${ago(status.confirmed, now)}; there may be an update you haven’t received.`;
  }
}

/** One line for each day on which keys expire: readers think in the ends of their subscriptions. */
function describeReadable(keys: readonly KeyTime[], now: number, none: string): string[] {
  const valid = keys.filter(({ notBefore, notAfter }) => notBefore <= now && now <= notAfter);
  const early = keys.filter(({ notBefore }) => now < notBefore);
  const expired = keys.length - valid.length - early.length;
  const lines = [
    ...countByDay(valid.map(({ notAfter }) => notAfter)).map(
      ([day, count]) => `${collections(count)}, with keys until ${day}`,
    ),
    ...countByDay(early.map(({ notBefore }) => notBefore)).map(
      ([day, count]) => `${collections(count)}, from ${day} on`,
    ),
    ...(expired > 0 ? [`${collections(expired)} with expired keys`] : []),
  ];
  return lines.length > 0 ? lines : [none];
}

function countByDay(times: readonly number[]): [day: string, count: number][] {
  const counts = new Map<string, number>();
  for (const day of times.map(dayOf)) counts.set(day, (counts.get(day) ?? 0) + 1);
  return [...counts];
}

function factsOf({ descriptor }: StoredBinding, keys: readonly KeyTime[], declined: readonly string[]): Fact[] {
  return [
    ['Its server', descriptor.keyServer],
    ['Fingerprint', descriptor.publisher],
    ['Description signed', momentOf(descriptor.issued)],
    ...declined.map((site): Fact => ['Declined', site]),
    ...keys.slice(0, KEYS_LISTED).map(factOf),
  ];
}

function factOf({ id, notBefore, notAfter }: KeyTime): Fact {
  return [`Collection ${id.slice(0, 8)}`, `${momentOf(notBefore)} – ${momentOf(notAfter)}`];
}
