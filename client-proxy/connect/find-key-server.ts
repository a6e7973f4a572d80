/**
 * Which key server a site has, for readers who have a code and know the site, but have no link: the host names its publisher, and the publication
 * under that name names the descriptor. What is found is looked at like any link afterwards.
 */
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import { KeyError } from '../../core/keys/errors.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import type { MetadataStore } from '../../core/publication/client.ts';
import { SitePublication } from '../../core/publication/site-publication.ts';
import { HostedSource } from '../../node-support/publication/hosted-source.ts';
import { LIMITS } from '../limits.ts';
import type { Upstream } from '../network/upstream.ts';
import { fetchFile } from '../site/fetch-file.ts';
import { publisherOfHost } from './host-proof.ts';

/**
 * @param now - seconds since 1970
 * @returns origin of the key server
 * @throws KeyError `host-proof` and those of the descriptor, ReaderError `host-unreachable`, PublicationError, ReadingError
 */
export async function findKeyServer(
  upstream: Upstream,
  site: string,
  dnsServers: readonly string[] | undefined,
  now: number,
): Promise<string> {
  const publisher = await publisherOfHost(site, { dispatcher: upstream.direct, dnsServers });
  const descriptor = await verifyDescriptor(await fetchDescriptorOf(upstream, site, publisher, now), now);
  if (descriptor.publisher !== publisher || !descriptor.sites.some((one) => one.site === site))
    throw new KeyError('host-proof', `what the publisher of ${site} signed does not name the site`);
  return descriptor.keyServer;
}

async function fetchDescriptorOf(upstream: Upstream, site: string, publisher: KeyId, now: number): Promise<Uint8Array> {
  const source = new HostedSource({
    hosts: () => [`https://${site}`, `http://${site}`],
    fetch: (origin, file) => fetchFile(upstream, { origin, ...file }),
    own: () => undefined,
    keyServer: async () => undefined,
    times: LIMITS,
  });
  const publication = new SitePublication({ rootId: publisher, source, store: memoryStore() });
  return source.within(LIMITS.checkTimeout, async () => {
    await publication.refresh(now);
    return publication.descriptor();
  });
}

/** Nothing of a site that is not connected is kept. */
function memoryStore(): MetadataStore {
  const files = new Map<string, Uint8Array>();
  return {
    read: async (name) => files.get(name),
    write: async (name, bytes) => void files.set(name, bytes),
  };
}
