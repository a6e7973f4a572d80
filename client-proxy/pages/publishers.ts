/** Publishers on the first page: their sites and how fresh they are, what may be read until when, which sites they ask for. */
import { ago } from '../../core/reading/confirmation.ts';
import type { BoundSite } from '../site/bound-sites.ts';
import type { KeyTime } from '../store/set-key-store.ts';
import type { HostProof, StoredBinding } from '../store/types.ts';
import type { PagesContext } from './context.ts';
import type { Fact, PageForm } from './template.ts';
import { refusalText } from './texts.ts';
import { dayOf, momentOf, shownName } from './words.ts';

const KEYS_LISTED = 50;

const TEXT = {
  unread: 'Not opened yet.',
  refused: (why: string) => `Not shown at the moment: ${why}.`,
  confirmed: (when: string) => `Up to date ${when}.`,
  notConfirmed: (when: string) => `Last confirmed ${when}; there may be an update you haven’t received.`,
  proof: {
    host: undefined,
    dns: 'DNS alone said that this site is the publisher’s.',
    'trusted-by-hand': 'Not proved to be the publisher’s: you chose to trust it.',
  },
  withdrawn: 'The publisher no longer publishes this site. Nothing of it is shown.',
  readable: 'What you may read',
  noKeys: 'Public pages. Keys for others come when you first open one of them.',
  publicOnly: 'Public pages.',
  keysUntil: (count: number, until: string) => `${collections(count)}, with keys until ${until}`,
  keysFrom: (count: number, from: string) => `${collections(count)}, from ${from} on`,
  keysEnded: (count: number) => `${collections(count)} with expired keys`,
  keysRenewed: 'New keys are fetched automatically for as long as you are subscribed.',
  revoked:
    'The publisher has disconnected this device, and gives it no new keys. Ask the publisher for a new invitation.',
  asksTitle: (publisher: string, site: string) => `${publisher} would like to show you ${site} as well`,
  asks: 'You have not agreed to that, so the Reader does not open anything under that name.',
  look: 'Continue',
  decline: 'No, thank you',
  disconnect: 'Disconnect …',
  details: 'Details',
  connectAfterAll: (site: string) => `Connect ${site} after all`,
  facts: {
    keyServer: 'Key server',
    fingerprint: 'Fingerprint',
    since: 'Description signed',
    declined: 'Declined',
    key: 'Collection',
  },
} as const;

function collections(count: number): string {
  return count === 1 ? 'One collection' : `${count} collections`;
}

export interface PublisherView {
  readonly text: typeof TEXT;
  readonly name: string;
  readonly sites: readonly SiteView[];
  /** What may be read until when, in a few words each. */
  readonly readable: readonly string[];
  /** The publisher has disconnected this device, as far as the Reader knows. */
  readonly isRevoked: boolean;
  /** Whether there are keys that will be renewed. */
  readonly renews: boolean;
  readonly asks: readonly { readonly title: string; readonly look: PageForm; readonly decline: PageForm }[];
  /** Path of the page that disconnects it. */
  readonly disconnect: string;
  readonly facts: readonly Fact[];
  /** Forms that connect sites which were declined. */
  readonly declined: readonly PageForm[];
}

interface SiteView {
  readonly site: string;
  /** Where a browser opens it; left out where nothing of it can be shown again. */
  readonly url: string | undefined;
  /** How its publication is, in a sentence. */
  readonly state: string;
}

export const PUBLISHER_TEMPLATE = `<% const { publisher, index } = it; const { text } = publisher; %>
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
<% for (const form of publisher.declined) { %><%~ include('@button', { form }) %><% } %>
<a class="button quiet" href="<%= publisher.disconnect %>"><%= text.disconnect %></a>
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
    text: TEXT,
    name,
    sites: await Promise.all(bound.map((site) => describeSite(site, proofOf(site), context))),
    readable: describeReadable(keys, now(), isRevoked ? TEXT.publicOnly : TEXT.noKeys),
    isRevoked,
    renews: !isRevoked && keys.some(({ notAfter }) => now() <= notAfter),
    asks: asked.map((site) => ({
      title: TEXT.asksTitle(name, site),
      look: form('/sites/look', site, TEXT.look),
      decline: form('/sites/decline', site, TEXT.decline),
    })),
    disconnect: `/publishers/${binding.id}/disconnect`,
    facts: factsOf(binding, keys, declined),
    declined: declined.map((site) => form('/sites/look', site, TEXT.connectAfterAll(site))),
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
  if (description === undefined) return { site, url: undefined, state: TEXT.withdrawn };
  const doubt = proof && TEXT.proof[proof];
  const state = describeState(await publication.status(), now());
  return { site, url: urlOf(label), state: doubt === undefined ? state : `${state} ${doubt}` };
}

function describeState(status: Awaited<ReturnType<BoundSite['publication']['status']>>, now: number): string {
  switch (status.kind) {
    case 'unread':
      return TEXT.unread;
    case 'refused':
      return TEXT.refused(refusalText(status.code).title);
    case 'current':
      return TEXT.confirmed(ago(status.confirmed, now));
    case 'stale':
      return TEXT.notConfirmed(ago(status.confirmed, now));
  }
}

/** One line for each day on which keys expire: readers think in the ends of their subscriptions. */
function describeReadable(keys: readonly KeyTime[], now: number, none: string): string[] {
  const valid = keys.filter(({ notBefore, notAfter }) => notBefore <= now && now <= notAfter);
  const early = keys.filter(({ notBefore }) => now < notBefore);
  const expired = keys.length - valid.length - early.length;
  const lines = [
    ...countByDay(valid.map(({ notAfter }) => notAfter)).map(([day, count]) => TEXT.keysUntil(count, day)),
    ...countByDay(early.map(({ notBefore }) => notBefore)).map(([day, count]) => TEXT.keysFrom(count, day)),
    ...(expired > 0 ? [TEXT.keysEnded(expired)] : []),
  ];
  return lines.length > 0 ? lines : [none];
}

function countByDay(times: readonly number[]): [day: string, count: number][] {
  const counts = new Map<string, number>();
  for (const day of times.map(dayOf)) counts.set(day, (counts.get(day) ?? 0) + 1);
  return [...counts];
}

function factsOf({ descriptor }: StoredBinding, keys: readonly KeyTime[], declined: readonly string[]): Fact[] {
  const { facts } = TEXT;
  return [
    [facts.keyServer, descriptor.keyServer],
    [facts.fingerprint, descriptor.publisher],
    [facts.since, momentOf(descriptor.issued)],
    ...declined.map((site): Fact => [facts.declined, site]),
    ...keys
      .slice(0, KEYS_LISTED)
      .map(
        ({ id, notBefore, notAfter }): Fact => [
          `${facts.key} ${id.slice(0, 8)}`,
          `${momentOf(notBefore)} – ${momentOf(notAfter)}`,
        ],
      ),
  ];
}
