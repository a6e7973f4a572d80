/** Says why a person can or cannot read a document, for `wispr admin why`. */
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { localTarget } from '../../reading/local-target.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError, unfit } from '../errors.ts';
import { ProviderReader } from '../publication/provider.ts';
import { createContentHosts } from '../reading-site/content-host.ts';
import { ReadPublications } from '../reading-site/publications.ts';
import type { KeyServerState } from '../storage/state.ts';
import { decideAccess } from '../subscriptions/access.ts';
import { createPaywall } from '../subscriptions/paywall.ts';
import type { Right } from '../subscriptions/periods.ts';
import { groupOf } from '../subscriptions/seats.ts';
import { findSubscriber } from '../subscriptions/subscribers.ts';
import { rightsOf } from '../subscriptions/subscriptions.ts';

export interface Why {
  readonly subscriber: string;
  readonly group: string | undefined;
  /** Path of the document; `undefined` where a set was asked about. */
  readonly path: string | undefined;
  /** `undefined` where the document is public. */
  readonly set: string | undefined;
  readonly can: boolean;
  /** `no-key`: the publisher has not handed the key of the set over. */
  readonly reason: 'public' | 'covered' | 'lapsed' | 'not-entitled' | 'revoked' | 'no-key';
  /** The right that covers it, that has ended, or that has it at another time. */
  readonly by: Right | undefined;
  /** Time until which a key that is asked for now is good; seconds since 1970. */
  readonly notAfter: number | undefined;
}

/**
 * Says it for a subscriber, and a document by its URL, or a set by its name.
 *
 * @throws KeyServerError `argument-invalid` where there is no such subscriber, document or set; `no-provider`; what keeps the publication from being read
 */
export async function whyCanRead(
  config: KeyServerConfig,
  state: KeyServerState,
  name: string,
  what: string,
): Promise<Why> {
  const { database, now } = state;
  const subscriber = await findSubscriber(database, name);
  if (!subscriber) throw unfit(`there is no subscriber "${name}"`);
  const found = await findSet(config, state, what);
  const { path, set } = found;
  const who = { subscriber: subscriber.name, group: await groupOf(database, subscriber.id) };
  const about = { ...who, path, set, by: undefined, notAfter: undefined };
  if (set === undefined)
    return { ...about, ...(found.isPublic ? { can: true, reason: 'public' } : { can: false, reason: 'no-key' }) };
  if (subscriber.revoked !== null) return { ...about, can: false, reason: 'revoked' };
  // Asks as a key request would.
  const paywall = createPaywall(config, state, { warn: () => undefined });
  await paywall?.renew(subscriber.id);
  await paywall?.close();
  const rights = await rightsOf(database, subscriber.id);
  const verdict = decideAccess(rights, set, now());
  if (verdict.denied === undefined)
    return { ...about, can: true, reason: 'covered', by: verdict.by, notAfter: verdict.notAfter };
  const near = rights.find(({ patterns }) => patterns.some((pattern) => matchesPattern(pattern, set)));
  return { ...about, can: false, reason: verdict.denied, by: verdict.denied === 'lapsed' ? verdict.by : near };
}

interface NamedDocument {
  readonly path: string | undefined;
  readonly set: string | undefined;
  readonly isPublic: boolean;
}

async function findSet(config: KeyServerConfig, state: KeyServerState, what: string): Promise<NamedDocument> {
  if (/^https?:\/\//.test(what)) return findDocument(config, state, new URL(what));
  const row = await state.database.first<{ name: string }>('SELECT name FROM sets WHERE name = ?', what);
  if (!row) throw unfit(`there is no set "${what}" here: name one of them, or the URL of a document`);
  return { path: undefined, set: row.name, isPublic: false };
}

/** Finds a document by the publication, which is fetched and verified as by the reading site. */
async function findDocument(config: KeyServerConfig, state: KeyServerState, url: URL): Promise<NamedDocument> {
  const provider = await new ProviderReader(state.database).read();
  if (!provider) throw new KeyServerError('no-provider', 'no key bundle was imported yet');
  const origins = ({ content, reading }: { content: readonly string[]; reading: string }) => [...content, reading];
  const { sites } = provider.descriptor;
  const site =
    sites.find((each) => each.site === url.hostname || origins(each).includes(url.origin)) ??
    (config.reading.documents.origin === url.origin ? sites[0] : undefined);
  if (!site) throw unfit(`${url.origin} belongs to no site here: ${sites.map((each) => each.site).join(', ')}`);
  const hosts = createContentHosts(config.fetchFrom ?? {});
  try {
    const keeper = new ReadPublications(state, hosts).of(provider, site);
    await keeper.current();
    const resolution = await keeper.publication.resolve(localTarget(url.pathname, site.reading), state.now());
    if (resolution.kind !== 'document') throw unfit(`the publication has no document at ${url.pathname}`);
    const { path, entry } = resolution;
    const sql = 'SELECT name FROM sets WHERE id = ?';
    const row = entry.set && (await state.database.first<{ name: string }>(sql, entry.set));
    return { path, set: row ? row.name : undefined, isPublic: entry.set === undefined };
  } catch (error) {
    throw error instanceof PublicationError ? unfit(error.message, error) : error;
  } finally {
    await hosts.close();
  }
}
