/** Connecting with a publisher in two steps, so that the reader can look in between (docs/spec/keys.md, "Binding"). */
import { acceptBinding, encodeBindingRequest } from '../../core/keys/binding.ts';
import { isServerless } from '../../core/keys/descriptor.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { ACCOUNT_PAGE } from '../../core/site/path.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { ReaderError } from '../errors.ts';
import { gatewayLabel } from '../gateway/label.ts';
import type { Upstream } from '../network/upstream.ts';
import { channelTo, type FetchedDescriptor, sendBindingRequest } from '../site/key-server.ts';
import { siteTaken } from '../store/errors.ts';
import type { ReaderStore } from '../store/store.ts';
import type { HostProof, StoredBinding, StoredSite } from '../store/types.ts';
import { type InvitationLink, readInBrowser } from './link.ts';
import { fetchClaim, type ProofSettings, type Proved, prove } from './prove.ts';

/** Request of a publisher for trust, as shown to the reader. */
export interface ConnectionRequest {
  /** Name that the publisher gives itself; proves nothing. */
  readonly name: string;
  /** The root id: its hosts name it, and the publication under it names the descriptor. */
  readonly publisher: string;
  readonly keyServer: string;
  readonly sites: readonly RequestedSite[];
}

export interface RequestedSite {
  readonly site: string;
  readonly reading: string;
  readonly confirmed: boolean;
  /** Kind of proof that the host belongs to the publisher. */
  readonly proof: HostProof;
}

export interface BoundResult {
  readonly name: string;
  readonly publisher: string;
  readonly keyServer: string;
  /** Sites of this publisher that are connected now. */
  readonly sites: readonly StoredSite[];
}

export interface Proposal extends Pick<Proved, 'fetched' | 'firstRoot'> {
  readonly request: ConnectionRequest;
  readonly code: string | undefined;
}

export interface Means {
  readonly store: ReaderStore;
  readonly upstream: Upstream;
}

/** Bytes of a site in the database, besides the publisher's first root: more than its names take. */
const PER_SITE = 4096;

/**
 * Asks the key server who it serves, the hosts whether that is their publisher, and their publications whether that is its descriptor. Changes
 * nothing, and the code stays here.
 *
 * @throws ReaderError, KeyError, PublicationError, ReadingError
 */
export async function propose({ store, upstream }: Means, link: InvitationLink, how: ProofSettings): Promise<Proposal> {
  const { origin, publisher: meant, code } = link;
  const claimed = await fetchClaim(upstream, origin, meant, { ofReadingSite: true });
  const { keyServer } = claimed.descriptor;
  if (claimed.descriptor.sites.some(isServerless)) throw readInBrowser(origin);
  const known = checkAgainst(await store.bindings(), claimed);
  if (code === undefined && !known) throw codeNeeded(keyServer);
  const { fetched, firstRoot, proofs } = await prove(upstream, claimed, how);
  checkAgainst(await store.bindings(), fetched); // the descriptor may be newer
  const { name, publisher, sites: named } = fetched.descriptor;
  const sites = named.flatMap(({ site, reading }) => {
    const proof = proofs.get(site);
    return proof === undefined ? [] : [{ site, reading, proof, confirmed: isConfirmed(known, site) }];
  });
  return { request: { name, publisher, keyServer, sites }, fetched, firstRoot, code };
}

/** Connects with the chosen sites, besides those confirmed before. @throws what was refused: nothing was changed */
export async function connect(
  { store, upstream }: Means,
  { request, fetched, firstRoot, code }: Proposal,
  chosen: readonly string[],
): Promise<BoundResult> {
  const { descriptor, bytes: descriptorBytes } = fetched;
  const bindings = await store.bindings();
  const known = checkAgainst(bindings, fetched); // the store may have changed since it was shown
  if (code === undefined && !known) throw codeNeeded(request.keyServer);
  const wanted = request.sites.filter(({ site }) => isConfirmed(known, site) || chosen.includes(site));
  if (wanted.length === 0) throw new ReaderError('argument-invalid', 'no site was confirmed, so nothing was connected');
  const sites = await Promise.all(
    wanted.map(async ({ site, proof }) => ({ site, proof, label: await gatewayLabel(site) })),
  );
  checkLabels(bindings, sites);
  // An invitation is good once: what it is used up for has to be kept.
  if (code !== undefined) store.requireRoom(descriptorBytes.length + wanted.length * (firstRoot.length + PER_SITE));
  const deviceKey = code === undefined ? undefined : await bindDevice(store, upstream, fetched, code);
  await store.saveBinding({ descriptor, descriptorBytes, deviceKey, sites, firstRoot }, nowInSeconds());
  const { name, publisher, keyServer } = descriptor;
  return { name, publisher, keyServer, sites };
}

/** Looks for the binding with this publisher and key server, and for others that hold one of its sites: the end of step D5. */
function checkAgainst(
  bindings: readonly StoredBinding[],
  { descriptor }: FetchedDescriptor,
): StoredBinding | undefined {
  const { keyServer, publisher } = descriptor;
  const known = bindings.find(
    ({ descriptor: other }) => other.keyServer === keyServer && other.publisher === publisher,
  );
  if (known && descriptor.issued < known.descriptor.issued) {
    throw new ReaderError('key-server-answer', `${keyServer} shows an older descriptor than the one this device has`);
  }
  const others = bindings.filter((binding) => binding !== known).flatMap((binding) => binding.sites);
  const taken = descriptor.sites.find(({ site }) => others.some((other) => other.site === site));
  if (taken) throw siteTaken(taken.site);
  return known;
}

function isConfirmed(known: StoredBinding | undefined, site: string): boolean {
  return known?.sites.some((other) => other.site === site) ?? false;
}

/** A second site with the same name below localhost would share an origin with the first. */
function checkLabels(bindings: readonly StoredBinding[], sites: readonly StoredSite[]): void {
  const all = [...bindings.flatMap((binding) => binding.sites), ...sites];
  const clash = sites.find(({ site, label }) => all.some((other) => other.label === label && other.site !== site));
  if (clash) throw siteTaken(clash.site);
}

/** Returns the URL at which a person sees their subscription, and removes devices. @param reading - origin of the reading site */
export function accountAt(reading: string): string {
  return reading + ACCOUNT_PAGE;
}

async function bindDevice(
  store: ReaderStore,
  upstream: Upstream,
  { descriptor }: FetchedDescriptor,
  code: string,
): Promise<NamedKey> {
  const provider = { keyServer: descriptor.keyServer, publisher: descriptor.publisher };
  const device = await deriveDeviceKeys(await store.deviceSeed(), provider);
  const request = encodeBindingRequest(device, provider.publisher, code, nowInSeconds());
  const account = accountAt(descriptor.sites[0]?.reading ?? '');
  const answer = await sendBindingRequest(channelTo(upstream, descriptor), request, account);
  return acceptBinding(request, answer, device, provider);
}

function codeNeeded(keyServer: string): ReaderError {
  return new ReaderError(
    'link-malformed',
    `this device is not connected with ${keyServer} yet: an invitation code is needed`,
    { fields: { keyServer } },
  );
}
