/**
 * Checks that a descriptor is that of the publisher whom its sites name: steps D1 to D6 of docs/spec/keys.md. Before all have passed, no code is
 * sent, nothing is kept, and no address of the descriptor is shown or linked.
 */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { ReaderError } from '../errors.ts';
import type { Upstream } from '../network/upstream.ts';
import { type FetchedDescriptor, fetchDescriptor } from '../site/key-server.ts';
import type { HostProof } from '../store/types.ts';
import { fetchFirstRoot } from './first-root.ts';
import { checkHostProof } from './host-proof.ts';
import { fetchPublishedDescriptor } from './published-descriptor.ts';

export interface ProofSettings {
  /** Hosts that need not show to whom they belong: for development. */
  readonly trustSites?: readonly string[] | undefined;
  readonly dnsServers?: readonly string[] | undefined;
}

export interface Proved {
  /** Descriptor that was issued last, of the key server's and those that the publications name. */
  readonly fetched: FetchedDescriptor;
  readonly firstRoot: Uint8Array;
  readonly proofs: ReadonlyMap<string, HostProof>;
}

/** Steps D1 to D4: the signer is not known yet. @throws ReaderError of exchange.ts, `descriptor-foreign`; KeyError */
export async function fetchClaim(
  upstream: Upstream,
  origin: string,
  publisher: KeyId | undefined,
  named: { readonly ofReadingSite?: boolean } = {},
): Promise<FetchedDescriptor> {
  const claimed = await fetchDescriptor(upstream.keyServers, origin, named);
  if (publisher === undefined || claimed.descriptor.publisher === publisher) return claimed;
  throw new ReaderError('descriptor-foreign', `${origin} serves another publisher than the one that was meant`); // D4
}

/** Steps D5 and D6, for all sites that the descriptor claims. */
export async function prove(upstream: Upstream, claimed: FetchedDescriptor, settings: ProofSettings): Promise<Proved> {
  const proofs = await proveHosts(claimed, upstream, settings);
  return { proofs, ...(await confirmByPublications(upstream, claimed)) };
}

/** D5: every host that the descriptor claims shows that it is the publisher's. */
async function proveHosts(
  { descriptor }: FetchedDescriptor,
  { direct: dispatcher }: Upstream,
  { trustSites = [], dnsServers }: ProofSettings,
): Promise<ReadonlyMap<string, HostProof>> {
  const proofs = descriptor.sites.map(async ({ site }): Promise<[string, HostProof]> => {
    if (trustSites.includes(site)) return [site, 'trusted-by-hand'];
    return [site, await checkHostProof(site, descriptor.publisher, { dispatcher, dnsServers })];
  });
  return new Map(await Promise.all(proofs));
}

/** D6: every site's publication names a descriptor by the same key, root and key server. @returns the one issued last */
async function confirmByPublications(upstream: Upstream, claimed: FetchedDescriptor): Promise<Omit<Proved, 'proofs'>> {
  const { publisher, keyServer, publisherKey, sites } = claimed.descriptor;
  const firstRoot = await fetchFirstRoot(upstream, claimed.descriptor);
  const named = await Promise.all(
    sites.map(({ site, content }) =>
      fetchPublishedDescriptor(upstream, { site, content, publisher, keyServer, firstRoot }),
    ),
  );
  for (const { descriptor } of named) {
    const isSame =
      descriptor.publisher === publisher &&
      descriptor.publisherKey === publisherKey &&
      descriptor.keyServer === keyServer;
    if (!isSame)
      throw new ReaderError(
        'descriptor-foreign',
        'the publisher of these sites names another key or key server than the key server of this link does',
      );
  }
  const fetched = [claimed, ...named].reduce((last, one) =>
    one.descriptor.issued > last.descriptor.issued ? one : last,
  );
  await verifyDescriptor(fetched.bytes, nowInSeconds()); // D3
  return { fetched, firstRoot };
}
