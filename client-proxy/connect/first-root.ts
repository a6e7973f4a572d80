/** Fetches the publisher's first root when a device is connected: what its id, in descriptor and host proof, is the hash of. */
import type { VerifiedDescriptor } from '../../core/keys/descriptor.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { verifyEd25519 } from '../../core/publication/keys.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { FIRST_ROOT_FILE, METADATA_PATH } from '../../core/publication/names.ts';
import { verifyFirstRoot } from '../../core/publication/verify-roles.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { LIMITS } from '../limits.ts';
import type { Upstream } from '../network/upstream.ts';
import { fetchFile, fetchFromKeyServer } from '../site/fetch-file.ts';

/** Asks the key server, then the content hosts. @throws PublicationError `root-unexpected`, `metadata-missing` */
export async function fetchFirstRoot(upstream: Upstream, descriptor: VerifiedDescriptor): Promise<Uint8Array> {
  const { keyServer, publisher, sites } = descriptor;
  const file = {
    path: METADATA_PATH + FIRST_ROOT_FILE,
    maximumLength: PUBLICATION_LIMITS.rootLength,
    milliseconds: LIMITS.exchangeTimeout,
    newest: false,
  };
  let failure: unknown;
  for (const ask of [
    () => fetchFromKeyServer(upstream, keyServer, file),
    ...sites.flatMap(({ content }) => content).map((origin) => () => fetchFile(upstream, { ...file, origin })),
  ]) {
    const bytes = await ask().catch((error: unknown) => {
      failure ??= error;
      return undefined;
    });
    if (bytes && (await rootIdOf(bytes)) === publisher) {
      await verifyFirstRoot(bytes, { verify: verifyEd25519, strict: true });
      return bytes;
    }
    if (bytes) failure = new PublicationError('root-unexpected', 'the first root is not the one in the descriptor');
  }
  throw notFound(failure);
}

function notFound(cause: unknown): PublicationError {
  if (cause instanceof PublicationError) return cause;
  return new PublicationError('metadata-missing', `key server and content hosts have no ${FIRST_ROOT_FILE}`, { cause });
}
