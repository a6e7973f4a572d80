/** Opens the publication in `out`. */
import { PublicationError, type PublicationErrorCode } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { PublishError } from '../errors.ts';
import { type OpenedPublication, type OpenOptions, openPublication } from './open.ts';
import { placeInDirectory } from './places.ts';
import { fileOfRole } from './roles.ts';

/** What may have happened where there is none. */
export const DISK_IS_GONE =
  'where this site was published before, and its disk is gone, bring what is served into "out" before that: docs/publishing.md, "When the disk is gone"';

/** What is said where something is missing begins so. */
const HOSTS = 'the content hosts have';

/** @throws PublishError `publication-missing`; PublicationError for all that is wrong with it but matters of time */
export async function openOutput(out: string, options: OpenOptions): Promise<OpenedPublication> {
  const place = placeInDirectory(out);
  const path = fileOfRole('root', 1);
  if (await place.read(path, PUBLICATION_LIMITS.rootLength)) {
    return openPublication(place, options).catch((error: unknown) => {
      throw error instanceof PublicationError && DAMAGED.includes(error.code) ? damaged(out, error) : error;
    });
  }
  throw new PublishError('publication-missing', `there is no publication in ${out}: it has no ${path.slice(1)}`);
}

const DAMAGED: readonly PublicationErrorCode[] = [
  'metadata-missing',
  'metadata-mismatch',
  'metadata-malformed',
  'metadata-signature',
];

/** The reader that all programs share speaks of hosts, or names no place. */
function damaged(out: string, error: PublicationError): PublicationError {
  const isMissing = error.message.startsWith(HOSTS);
  const message = isMissing ? `${out} has${error.message.slice(HOSTS.length)}` : `${out} is damaged: ${error.message}`;
  return new PublicationError(error.code, `${message}; "wispr protect" makes it anew`, { cause: error });
}
