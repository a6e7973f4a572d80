/**
 * Connecting with a publisher in two steps, so that the reader can look in between: who asks to be trusted with what, and then the connection
 * itself, with exactly what was shown. docs/spec/keys.md, "Binding".
 */
import { acceptBinding, encodeBindingRequest } from '../../core/keys/binding.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { ReaderError } from '../errors.ts';
import { gatewayLabel } from '../gateway/label.ts';
import type { Upstream } from '../network/upstream.ts';
import { type FetchedDescriptor, fetchDescriptor, sendBindingRequest } from '../site/key-server.ts';
import { siteTaken } from '../store/errors.ts';
import type { ReaderStore } from '../store/store.ts';
import type { StoredBinding, StoredSite } from '../store/types.ts';
import { fetchFirstRoot } from './first-root.ts';
import { checkHostProof } from './host-proof.ts';
import type { InvitationLink } from './link.ts';

/** Who asks to be trusted, for what: shown to the reader. */
export interface ConnectionRequest {
  /** What the publisher calls itself; proves nothing. */
  readonly name: string;
  /** The root id, which its hosts name. */
  readonly publisher: string;
  readonly keyServer: string;
  readonly sites: readonly RequestedSite[];
}

export interface RequestedSite {
  readonly site: string;
  readonly reading: string;
  /** Confirmed before; it is not asked for again. */
  readonly confirmed: boolean;
  /** By what the host was shown to belong to the publisher. */
  readonly proof: 'host' | 'trusted-by-hand';
}

export interface BoundResult {
  readonly name: string;
  readonly publisher: string;
  readonly keyServer: string;
  /** All sites of this publisher that are connected now. */
  readonly sites: readonly StoredSite[];
}

export interface ProofSettings {
  /** Hosts that need not show to whom they belong: for development. */
  readonly trustSites?: readonly string[] | undefined;
  readonly dnsServers?: readonly string[] | undefined;
}

/** What the reader may accept. */
export interface Proposal {
  readonly request: ConnectionRequest;
  readonly fetched: FetchedDescriptor;
  readonly code: string | undefined;
}

export interface Means {
  readonly store: ReaderStore;
  readonly upstream: Upstream;
}

/** Bytes of a site in the database, besides the publisher's first root: more than its names take. */
const PER_SITE = 4096;

/**
 * Asks the key server who it serves, and the hosts whether that is their publisher. Changes nothing, and the code stays here.
 *
 * @throws ReaderError, KeyError
 */
export async function propose(
  { store, upstream }: Means,
  { keyServer, code }: InvitationLink,
  settings: ProofSettings,
): Promise<Proposal> {
  const fetched = await fetchDescriptor(upstream.keyServers, keyServer);
  const known = checkAgainst(await store.bindings(), fetched);
  if (code === undefined && !known) throw codeNeeded(keyServer);
  const { name, publisher } = fetched.descriptor;
  const sites = await proveSites(fetched, known, upstream, settings);
  return { request: { name, publisher, keyServer, sites }, fetched, code };
}

/**
 * Connects this device for those sites that the reader chose, besides those confirmed before.
 *
 * @throws ReaderError, KeyError, PublicationError: whatever was refused, nothing was changed
 */
export async function connect(
  { store, upstream }: Means,
  { request, fetched, code }: Proposal,
  chosen: readonly string[],
): Promise<BoundResult> {
  const { descriptor, bytes: descriptorBytes } = fetched;
  const bindings = await store.bindings();
  const known = checkAgainst(bindings, fetched); // much may have happened since it was shown
  if (code === undefined && !known) throw codeNeeded(request.keyServer);
  const wanted = request.sites.filter(({ site }) => isConfirmed(known, site) || chosen.includes(site));
  if (wanted.length === 0) throw new ReaderError('argument-invalid', 'no site was confirmed, so nothing was connected');
  const sites = await Promise.all(wanted.map(async ({ site }) => ({ site, label: await gatewayLabel(site) })));
  checkLabels(bindings, sites);
  const firstRoot = await fetchFirstRoot(upstream, descriptor);
  // An invitation is good once: what it is used up for has to be kept.
  if (code !== undefined) store.requireRoom(descriptorBytes.length + wanted.length * (firstRoot.length + PER_SITE));
  const deviceKey = code === undefined ? undefined : await bindDevice(store, upstream, fetched, code);
  await store.saveBinding({ descriptor, descriptorBytes, deviceKey, sites, firstRoot }, nowInSeconds());
  const { name, publisher, keyServer } = descriptor;
  return { name, publisher, keyServer, sites };
}

/** Looks for the binding with this publisher and key server, and for others that hold one of its sites: the end of step D4. */
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

/** Every host that the descriptor claims shows that it is the publisher's. */
async function proveSites(
  { descriptor }: FetchedDescriptor,
  known: StoredBinding | undefined,
  upstream: Upstream,
  { trustSites = [], dnsServers }: ProofSettings,
): Promise<RequestedSite[]> {
  const toProve = descriptor.sites.filter(({ site }) => !trustSites.includes(site));
  const proof = { dispatcher: upstream.direct, dnsServers };
  await Promise.all(toProve.map(({ site }) => checkHostProof(site, descriptor.publisher, proof)));
  return descriptor.sites.map(({ site, reading }) => ({
    site,
    reading,
    confirmed: isConfirmed(known, site),
    proof: trustSites.includes(site) ? 'trusted-by-hand' : 'host',
  }));
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

async function bindDevice(
  store: ReaderStore,
  upstream: Upstream,
  { descriptor }: FetchedDescriptor,
  code: string,
): Promise<NamedKey> {
  const provider = { keyServer: descriptor.keyServer, publisher: descriptor.publisher };
  const device = await deriveDeviceKeys(await store.deviceSeed(), provider);
  const request = encodeBindingRequest(device, provider.publisher, code, nowInSeconds());
  const answer = await sendBindingRequest(upstream.keyServers, provider.keyServer, request);
  return acceptBinding(request, answer, device, provider);
}

function codeNeeded(keyServer: string): ReaderError {
  return new ReaderError(
    'link-malformed',
    `this device is not connected with ${keyServer} yet: an invitation code is needed`,
    { fields: { keyServer } },
  );
}
