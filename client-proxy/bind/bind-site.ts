/** Connects this device with a publisher, for the sites that the reader confirms: docs/spec/keys.md, "Binding". */
import { acceptBinding, encodeBindingRequest } from '../../core/keys/binding.ts';
import { deriveDeviceKeys } from '../../core/keys/device.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { AllowLocal } from '../content/allow-local.ts';
import type { ConnectTo } from '../content/connect-to.ts';
import { Upstream } from '../content/upstream.ts';
import { ReaderError } from '../errors.ts';
import { gatewayLabel } from '../gateway-label.ts';
import { type FetchedDescriptor, fetchDescriptor, sendBindingRequest } from '../keys/key-server.ts';
import { type StorageOptions, storeOptions } from '../store/locations.ts';
import type { KeyPlace } from '../store/protection.ts';
import { ReaderStore, type StoredBinding, type StoredSite, siteTaken } from '../store/store.ts';
import { fetchFirstRoot } from './first-root.ts';
import { checkHostProof } from './host-proof.ts';
import { type InvitationLink, parseInvitationLink } from './link.ts';

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

export interface BindOptions extends StorageOptions {
  /** `URL#CODE`, or the URL alone for a publisher this device is connected with. */
  readonly link: string;
  /** Decides which sites may be connected; asked for sites that were not confirmed before. All, if left out. */
  readonly confirm?: (request: ConnectionRequest) => Promise<readonly string[]>;
  /** Hosts that need not show to whom they belong: for development. */
  readonly trustSites?: readonly string[];
  readonly dnsServers?: readonly string[];
  readonly connectTo?: readonly ConnectTo[];
  /** What may be reached on this computer and in its own network. */
  readonly allowLocal?: readonly AllowLocal[];
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string;
}

export interface BoundResult {
  readonly name: string;
  readonly publisher: string;
  readonly keyServer: string;
  /** All sites of this publisher that are connected now. */
  readonly sites: readonly StoredSite[];
  /** Where the reader's keys are kept, if that was decided just now. */
  readonly keysNowIn: KeyPlace['kind'] | undefined;
}

/**
 * @throws ReaderError, KeyError, PublicationError: whatever was refused, nothing was changed
 */
export async function bindSite(options: BindOptions): Promise<BoundResult> {
  const link = parseInvitationLink(options.link);
  const upstream = new Upstream(options);
  try {
    const store = await ReaderStore.open(storeOptions(options));
    try {
      return await connect(store, upstream, link, options);
    } finally {
      store.close();
    }
  } finally {
    await upstream.close();
  }
}

async function connect(
  store: ReaderStore,
  upstream: Upstream,
  link: InvitationLink,
  options: BindOptions,
): Promise<BoundResult> {
  const fetched = await fetchDescriptor(upstream.keyServers, link.keyServer);
  const { descriptor, bytes: descriptorBytes } = fetched;
  const bindings = await store.bindings();
  const known = checkAgainst(bindings, fetched);
  if (link.code === undefined && !known) throw codeNeeded(link.keyServer);
  const sites = await confirmSites(fetched, known, upstream, options);
  await checkLabels(bindings, sites);
  const firstRoot = await fetchFirstRoot(upstream, descriptor);
  const deviceKey = link.code === undefined ? undefined : await bindDevice(store, upstream, fetched, link.code);
  await store.saveBinding({ descriptor, descriptorBytes, deviceKey, sites, firstRoot }, nowInSeconds());
  const { name, publisher, keyServer } = descriptor;
  return { name, publisher, keyServer, sites, keysNowIn: store.isFresh ? store.keyPlace : undefined };
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
    throw new ReaderError('descriptor-older', `${keyServer} shows an older descriptor than the one this device has`, {
      hint: 'try again later; if it stays so, tell the publisher',
    });
  }
  const others = bindings.filter((binding) => binding !== known).flatMap((binding) => binding.sites);
  const taken = descriptor.sites.find(({ site }) => others.some((other) => other.site === site));
  if (taken) throw siteTaken(taken.site);
  return known;
}

/** Every host that the descriptor claims shows that it is the publisher's; then the reader says which to connect. */
async function confirmSites(
  { descriptor }: FetchedDescriptor,
  known: StoredBinding | undefined,
  upstream: Upstream,
  { trustSites = [], dnsServers, confirm }: BindOptions,
): Promise<StoredSite[]> {
  const isConfirmed = (site: string) => known?.sites.some((other) => other.site === site) ?? false;
  const toProve = descriptor.sites.filter(({ site }) => !trustSites.includes(site));
  const proof = { dispatcher: upstream.direct, dnsServers };
  await Promise.all(toProve.map(({ site }) => checkHostProof(site, descriptor.publisher, proof)));
  const requested = descriptor.sites.map(
    ({ site, reading }): RequestedSite => ({
      site,
      reading,
      confirmed: isConfirmed(site),
      proof: trustSites.includes(site) ? 'trusted-by-hand' : 'host',
    }),
  );
  const allConfirmed = requested.every(({ confirmed }) => confirmed);
  const asked =
    confirm && !allConfirmed ? await confirm({ ...descriptor, sites: requested }) : requested.map(({ site }) => site);
  const chosen = requested.filter(({ site, confirmed }) => confirmed || asked.includes(site));
  if (chosen.length === 0) throw new ReaderError('not-confirmed', 'no site was confirmed, so nothing was connected');
  return Promise.all(chosen.map(async ({ site }) => ({ site, label: await gatewayLabel(site) })));
}

/** A second site with the same name below localhost would share an origin with the first. */
async function checkLabels(bindings: readonly StoredBinding[], sites: readonly StoredSite[]): Promise<void> {
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
    'code-needed',
    `this device is not connected with ${keyServer} yet: an invitation code is needed`,
    {
      hint: `wispr bind "${keyServer}#CODE" with the code of your invitation`,
    },
  );
}
