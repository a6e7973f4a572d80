/** Publishers on the first page: their sites and how fresh they are, what may be read until when, which sites they ask for. */
import { day } from '../../words/en/language.ts';
import * as words from '../../words/en/reader.ts';
import type { BoundSite } from '../site/bound-sites.ts';
import { type PublicationStatus, statusOf } from '../site/publication-status.ts';
import type { KeyTime } from '../store/key-store.ts';
import type { HostProof, StoredBinding } from '../store/types.ts';
import type { PagesContext } from './context.ts';
import { shownName } from './look.ts';
import type { Fact, PageForm } from './template.ts';
import { refusalText } from './texts.ts';

const KEYS_LISTED = 50;
export interface PublisherView {
  readonly name: string;
  readonly sites: readonly SiteView[];
  /** Lines about what may be read until when, in a few words each. */
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
  /** URL at which a browser opens it; left out where nothing of it can be shown again. */
  readonly url: string | undefined;
  readonly state: string;
}

export const PUBLISHER = `<% const { publisher, index } = it; %>
<section aria-labelledby="publisher-<%= index %>">
<h2 id="publisher-<%= index %>"><bdi><%= publisher.name %></bdi></h2>
<% if (publisher.isRevoked) { %><div class="box alarm"><p>${words.PUBLISHER.revoked}</p></div><% } %>
<% for (const ask of publisher.asks) { %>
<div class="box">
<h3><%= ask.title %></h3>
<p>${words.PUBLISHER.asksLead}</p>
<div class="inline"><%~ include('@button', { form: ask.look }) %><%~ include('@button', { form: ask.decline }) %></div>
</div>
<% } %>
<ul class="sites">
<% for (const { site, url, state } of publisher.sites) { %>
<li><% if (url) { %><a href="<%= url %>" rel="noreferrer"><strong><%= site %></strong><span><%= state %></span></a><% } else { %><p><strong><%= site %></strong><span><%= state %></span></p><% } %></li>
<% } %>
</ul>
<h3>${words.PUBLISHER.readable}</h3>
<ul>
<% for (const line of publisher.readable) { %><li><%= line %></li><% } %>
</ul>
<% if (publisher.renews) { %><p class="soft">${words.PUBLISHER.renews}</p><% } %>
<details>
<summary>${words.PAGE.details}<span class="unseen"> · <bdi><%= publisher.name %></bdi></span></summary>
<%~ include('@facts', { facts: publisher.facts }) %>
<div class="inline">
<% for (const form of publisher.declined) { %><%~ include('@button', { form }) %><% } %>
<a class="button quiet" href="<%= publisher.disconnect %>">${words.PUBLISHER.disconnect}</a>
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
      isRevoked ? words.PUBLISHER.public : `${words.PUBLISHER.public} ${words.PUBLISHER.others}`,
    ),
    isRevoked,
    renews: !isRevoked && keys.some(({ notAfter }) => now() <= notAfter),
    asks: asked.map((site) => ({
      title: words.PUBLISHER.asks(name, site),
      look: form('/sites/look', site, words.PUBLISHER.look),
      decline: form('/sites/decline', site, words.PUBLISHER.decline),
    })),
    disconnect: `/publishers/${binding.id}/disconnect`,
    facts: factsOf(binding, keys, declined),
    declined: declined.map((site) => form('/sites/look', site, words.PUBLISHER.after(site))),
  };
}

/** Lists sites that the descriptor claims and the reader has not confirmed: row 71 of docs/threat-model.md. */
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
  if (description === undefined) return { site, url: undefined, state: words.PUBLISHER.withdrawn };
  const doubt = proof && words.DOUBTS[proof];
  const state = describeState(await statusOf(publication.publication, now()), now());
  return { site, url: urlOf(label), state: doubt === undefined ? state : `${state} ${doubt}` };
}

function describeState(status: PublicationStatus, now: number): string {
  switch (status.kind) {
    case 'unread':
      return words.PUBLISHER.unread;
    case 'refused':
      return words.PUBLISHER.refused(refusalText(status.code).title);
    case 'current':
    case 'stale':
      return words.PUBLISHER[status.kind](status.confirmed, now);
  }
}

/** Makes one line for each day on which keys expire: readers think in the ends of their subscriptions. */
function describeReadable(keys: readonly KeyTime[], now: number, none: string): string[] {
  const valid = keys.filter(({ notBefore, notAfter }) => notBefore <= now && now <= notAfter);
  const early = keys.filter(({ notBefore }) => now < notBefore);
  const expired = keys.length - valid.length - early.length;
  const lines = [
    ...countByDay(valid.map(({ notAfter }) => notAfter)).map(([end, count]) => words.PUBLISHER.until(count, end)),
    ...countByDay(early.map(({ notBefore }) => notBefore)).map(([start, count]) => words.PUBLISHER.from(count, start)),
    ...(expired > 0 ? [words.PUBLISHER.expired(expired)] : []),
  ];
  return lines.length > 0 ? lines : [none];
}

function countByDay(times: readonly number[]): [day: string, count: number][] {
  const counts = new Map<string, number>();
  for (const one of times.map((time) => day(time))) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts];
}

function factsOf({ descriptor }: StoredBinding, keys: readonly KeyTime[], declined: readonly string[]): Fact[] {
  return [
    [words.FACTS.server, descriptor.keyServer],
    [words.FACTS.fingerprint, descriptor.publisher],
    [words.FACTS.signed, words.moment(descriptor.issued)],
    ...declined.map((site): Fact => [words.FACTS.declined, site]),
    ...keys.slice(0, KEYS_LISTED).map(factOf),
  ];
}

function factOf({ id, notBefore, notAfter }: KeyTime): Fact {
  return [words.FACTS.collection(id.slice(0, 8)), `${words.moment(notBefore)} – ${words.moment(notAfter)}`];
}
