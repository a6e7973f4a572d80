/** The descriptor that a site's publication names, verified like every publication. Nothing is kept: it is not connected yet. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { reasonOf } from '../../core/errors.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import type { MetadataStore } from '../../core/publication/client.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { FIRST_ROOT_FILE, METADATA_PATH } from '../../core/publication/names.ts';
import { SitePublication } from '../../core/publication/site-publication.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { HostedSource } from '../../reading/hosted-source.ts';
import type { Upstream } from '../network/upstream.ts';
import { fetchFile, fetchFromKeyServer } from '../site/fetch-file.ts';
import type { FetchedDescriptor } from '../site/key-server.ts';

/** A site, and what is said of it so far. */
export interface PublishedSite {
  readonly site: string;
  /** Root id of the publication. */
  readonly publisher: KeyId;
  /** Origins of content hosts. */
  readonly content: readonly string[];
  /** Left out where it is looked for. */
  readonly keyServer?: string;
  /** First root of `publisher`; fetched if left out. */
  readonly firstRoot?: Uint8Array;
}

/** Step D6 of docs/spec/keys.md for one site. The descriptor may have expired. @throws PublicationError, ReadingError, KeyError `descriptor-malformed` */
export async function fetchPublishedDescriptor(upstream: Upstream, named: PublishedSite): Promise<FetchedDescriptor> {
  const { site, publisher, content, keyServer, firstRoot } = named;
  const source = new HostedSource({
    hosts: () => content,
    fetch: (origin, file) => fetchFile(upstream, { origin, ...file }),
    own: (file) => (file === METADATA_PATH + FIRST_ROOT_FILE ? firstRoot : undefined),
    keyServer: keyServer === undefined ? undefined : (file) => fetchFromKeyServer(upstream, keyServer, file),
    times: upstream.limits,
  });
  const publication = new SitePublication({ rootId: publisher, source, store: memoryStore() });
  const bytes = await source
    .check(async () => {
      await publication.refresh(nowInSeconds());
      return publication.descriptor();
    })
    .catch((error: unknown) => {
      if (!(error instanceof PublicationError) || error.code !== 'metadata-missing') throw error;
      const message = `${site} has no publication yet that shows whose it is: ${reasonOf(error)}`;
      throw new PublicationError('metadata-missing', message, { cause: error });
    });
  return { bytes, descriptor: await verifyDescriptor(bytes, 0) };
}

function memoryStore(): MetadataStore {
  const files = new Map<string, Uint8Array>();
  return { read: async (name) => files.get(name), write: async (name, bytes) => void files.set(name, bytes) };
}
