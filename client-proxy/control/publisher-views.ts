/** Publishers as the first page shows them: their sites and how fresh they are, what may be read until when, what they ask for. */
import { ago } from '../../core/reading/confirmation.ts';
import type { BoundSite } from '../bound-sites.ts';
import type { PageForm } from '../pages/form.ts';
import type { PublisherView, SiteView } from '../pages/home-page.ts';
import type { Fact } from '../pages/template.ts';
import { refusalText } from '../pages/texts.ts';
import { HOME_TEXT } from '../pages/texts-control.ts';
import { dayOf, momentOf } from '../pages/times.ts';
import type { KeyTime } from '../store/set-key-store.ts';
import type { StoredBinding } from '../store/store.ts';
import type { ControlContext } from './context.ts';
import { shownName } from './shown-name.ts';

const KEYS_LISTED = 50;

export async function describePublishers(context: ControlContext): Promise<PublisherView[]> {
  const bindings = await context.store.bindings();
  return Promise.all(bindings.map((binding) => describePublisher(binding, context)));
}

async function describePublisher(binding: StoredBinding, context: ControlContext): Promise<PublisherView> {
  const { store, sites, token, now } = context;
  const name = shownName(binding.descriptor.name);
  const keys = store.setKeys.times(binding.id);
  const bound = binding.sites.flatMap(({ site }) => sites.find(site) ?? []);
  const isRevoked = bound.some((site) => site.keys.isRevoked);
  const open = newSites(binding).filter((site) => !store.preferences.isDeclined(binding.id, site));
  const declined = newSites(binding).filter((site) => !open.includes(site));
  const form = (action: string, site: string, submit: string) => siteForm(action, binding.id, site, submit, token);
  return {
    name,
    sites: await Promise.all(bound.map((site) => describeSite(site, context))),
    readable: readableInWords(keys, now(), isRevoked ? HOME_TEXT.publicOnly : HOME_TEXT.noKeys),
    isRevoked,
    renews: !isRevoked && keys.some(({ notAfter }) => now() <= notAfter),
    asks: open.map((site) => ({
      title: HOME_TEXT.asksTitle(name, site),
      look: form('/sites/look', site, HOME_TEXT.look),
      decline: form('/sites/decline', site, HOME_TEXT.decline),
    })),
    disconnect: `/publishers/${binding.id}/disconnect`,
    facts: factsOf(binding, keys, declined),
    declined: declined.map((site) => ({ look: form('/sites/look', site, HOME_TEXT.connectAfterAll(site)) })),
  };
}

/** What the descriptor claims and the reader has not confirmed: row 71 of docs/attacks.md. */
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

async function describeSite(bound: BoundSite, { urlOf, now }: ControlContext): Promise<SiteView> {
  const { site, label, description, publication } = bound;
  if (description === undefined) return { site, url: undefined, state: HOME_TEXT.withdrawn };
  return { site, url: urlOf(label), state: stateInWords(await publication.status(), now()) };
}

function stateInWords(status: Awaited<ReturnType<BoundSite['publication']['status']>>, now: number): string {
  switch (status.kind) {
    case 'unread':
      return HOME_TEXT.unread;
    case 'refused':
      return HOME_TEXT.refused(refusalText(status.code).title);
    case 'current':
      return `${HOME_TEXT.confirmed(ago(status.confirmed, now))} ${HOME_TEXT.publication(status.version)}`;
    case 'stale':
      return `${HOME_TEXT.confirmed(ago(status.confirmed, now))} ${HOME_TEXT.notConfirmed}`;
  }
}

/** One line for each day on which keys end: readers think in the ends of their subscriptions. */
function readableInWords(keys: readonly KeyTime[], now: number, none: string): string[] {
  const good = keys.filter(({ notBefore, notAfter }) => notBefore <= now && now <= notAfter);
  const early = keys.filter(({ notBefore }) => now < notBefore);
  const ended = keys.length - good.length - early.length;
  const lines = [
    ...countByDay(good.map(({ notAfter }) => notAfter)).map(([day, count]) => HOME_TEXT.keysUntil(count, day)),
    ...countByDay(early.map(({ notBefore }) => notBefore)).map(([day, count]) => HOME_TEXT.keysFrom(count, day)),
    ...(ended > 0 ? [HOME_TEXT.keysEnded(ended)] : []),
  ];
  return lines.length > 0 ? lines : [none];
}

function countByDay(times: readonly number[]): [day: string, count: number][] {
  const counts = new Map<string, number>();
  for (const day of times.map(dayOf)) counts.set(day, (counts.get(day) ?? 0) + 1);
  return [...counts];
}

function factsOf({ descriptor }: StoredBinding, keys: readonly KeyTime[], declined: readonly string[]): Fact[] {
  const { facts } = HOME_TEXT;
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
