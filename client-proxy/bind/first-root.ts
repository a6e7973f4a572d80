/** Fetches the publisher's first root when a device is connected: what its id, in descriptor and host proof, is the hash of. */

import type { VerifiedDescriptor } from '../../core/keys/descriptor.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { verifyFirstRoot } from '../../core/publication/verify-roles.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import type { Upstream } from '../content/upstream.ts';
import { LIMITS } from '../limits.ts';
import { FIRST_ROOT_FILE, fetchFromKeyServer, ReaderSiteSource } from '../publication/site-source.ts';

/**
 * Asks the key server, then the content hosts.
 *
 * @throws PublicationError `root-unexpected`, `metadata-missing`, or of the root itself
 */
export async function fetchFirstRoot(upstream: Upstream, descriptor: VerifiedDescriptor): Promise<Uint8Array> {
  const { keyServer, publisher, sites } = descriptor;
  const maximum = PUBLICATION_LIMITS.rootLength;
  const source = new ReaderSiteSource(upstream, { keyServer, content: sites.flatMap(({ content }) => content) });
  const places = [
    () => fetchFromKeyServer(upstream.keyServers, keyServer, METADATA_PATH + FIRST_ROOT_FILE, maximum),
    () => source.within(LIMITS.exchangeTimeout, () => source.metadata(FIRST_ROOT_FILE, maximum)),
  ];
  let failure: unknown;
  for (const ask of places) {
    const bytes = await ask().catch((error: unknown) => {
      failure ??= error;
      return undefined;
    });
    if (bytes === undefined) continue;
    if ((await rootIdOf(bytes)) === publisher) {
      verifyFirstRoot(bytes, { verify: verifyEd25519, strict: true });
      return bytes;
    }
    failure = new PublicationError('root-unexpected', 'the first root is another one than the descriptor names');
  }
  throw notFound(failure);
}

function notFound(cause: unknown): PublicationError {
  if (cause instanceof PublicationError) return cause;
  return new PublicationError('metadata-missing', `neither key server nor content hosts have ${FIRST_ROOT_FILE}`, {
    cause,
    hint: 'the publisher has to publish the site first; try again later',
  });
}
