/** The chain of roots of a publication. */

import type { TrustedState } from '../../core/publication/client.ts';
import { PublicationError } from '../../core/publication/errors.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import type { RootMetadata } from '../../core/publication/metadata.ts';
import { verifyFirstRoot, verifyNextRoot } from '../../core/publication/verify-roles.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { READER_OPTIONS } from '../keys/roots.ts';
import type { PublicationPlace } from './open.ts';
import { fileOfRole } from './roles.ts';

/**
 * Every root up to the one in force, each verified by the one before; the newest first.
 *
 * @throws PublicationError
 */
export async function rootsOf({
  state,
  place,
}: {
  readonly state: Pick<TrustedState, 'root'>;
  readonly place: PublicationPlace;
}): Promise<RootMetadata[]> {
  const roots = await rootsAt(place);
  if (roots.length >= state.root.version) return roots;
  throw new PublicationError('metadata-missing', `root ${roots.length + 1} is missing, or follows from no other`);
}

/**
 * The roots at a place, as far as each is signed by the one before, the newest first.
 *
 * @param rootId - whose they have to be. Default: any publisher's
 */
export async function rootsAt(place: PublicationPlace, rootId?: string): Promise<RootMetadata[]> {
  const roots: RootMetadata[] = [];
  while (roots.length < PUBLICATION_LIMITS.rootRotations) {
    const bytes = await place.read(fileOfRole('root', roots.length + 1), PUBLICATION_LIMITS.rootLength);
    if (bytes === undefined) break;
    const [before] = roots;
    if (before === undefined && rootId !== undefined && (await rootIdOf(bytes)) !== rootId) break;
    const verify = () =>
      before ? verifyNextRoot(bytes, before, READER_OPTIONS) : verifyFirstRoot(bytes, READER_OPTIONS);
    const root = ifGood(verify);
    if (root === undefined) break;
    roots.unshift(root);
  }
  return roots;
}

/**
 * Verifies under the first of the roots that has the keys: those of an old publication may have been replaced since.
 *
 * @returns `undefined` where none has
 */
export async function underAny<Role>(
  roots: readonly RootMetadata[],
  verify: (root: RootMetadata) => Role | Promise<Role>,
): Promise<Role | undefined> {
  for (const root of roots) {
    try {
      return await verify(root);
    } catch (error) {
      if (!(error instanceof PublicationError)) throw error;
    }
  }
  return undefined;
}

/** @returns `undefined` for what is not good */
export function ifGood<Role>(verify: () => Role): Role | undefined {
  try {
    return verify();
  } catch (error) {
    if (error instanceof PublicationError) return undefined;
    throw error;
  }
}
