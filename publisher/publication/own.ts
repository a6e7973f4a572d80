/** Opens the publication in `out`. */
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { PublishError } from '../errors.ts';
import { type OpenedPublication, type OpenOptions, openPublication } from './open.ts';
import { placeInDirectory } from './places.ts';
import { fileOfRole } from './roles.ts';

/** What may have happened where there is none. */
export const DISK_IS_GONE =
  'where this site was published before, and its disk is gone, bring what is served into "out" before that: docs/publishing.md, "When the disk is gone"';

/** @throws PublishError `publication-missing`; PublicationError for all that is wrong with it but matters of time */
export async function openOutput(out: string, options: OpenOptions): Promise<OpenedPublication> {
  const place = placeInDirectory(out);
  const path = fileOfRole('root', 1);
  if (await place.read(path, PUBLICATION_LIMITS.rootLength)) return openPublication(place, options);
  throw new PublishError('publication-missing', `there is no publication in ${out}: it has no ${path.slice(1)}`, {
    hint: `run "wispr protect" first; ${DISK_IS_GONE}`,
  });
}
